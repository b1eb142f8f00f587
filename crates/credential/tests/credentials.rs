//! Credentials from issuing to revoking, with real files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use askbus_credential::{CredentialError, Grant, Issuer, Role, Verifier};
use askbus_domain::{PersonId, ProfileId, TenantId};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

fn grant(role: Role, life: Duration) -> Grant {
    Grant {
        subject: PersonId::new("ann").unwrap(),
        role,
        tenant: TenantId::new("acme").unwrap(),
        profiles: vec![
            ProfileId::new("default").unwrap(),
            ProfileId::new("ops").unwrap(),
        ],
        groups: vec!["room:1".into()],
        life,
    }
}

const HOUR: Duration = Duration::from_hours(1);

#[test]
fn a_credential_says_who_what_and_for_whom() {
    let dir = tempfile::tempdir().unwrap();
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let (token, issued) = issuer.issue(&grant(Role::Agent, HOUR)).unwrap();
    let credential = verifier.verify(&token).unwrap();
    assert_eq!(credential.id, issued.id);
    assert_eq!(credential.role, Role::Agent);
    assert!(credential.may_ask() && !credential.may_answer());
    assert_eq!(credential.profile(None).unwrap().as_str(), "default");
    assert_eq!(credential.profile(Some("ops")).unwrap().as_str(), "ops");
    assert!(matches!(
        credential.profile(Some("root")),
        Err(CredentialError::ProfileNotAllowed)
    ));
    assert_eq!(issuer.list().unwrap(), [issued]);
}

#[test]
fn the_signature_of_a_good_token_is_checked_once_and_of_a_bad_one_each_time() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let foreign = Issuer::open_or_create(other.path()).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let (token, _) = issuer.issue(&grant(Role::Agent, HOUR)).unwrap();
    let (second, _) = issuer.issue(&grant(Role::Person, HOUR)).unwrap();
    let (forged, _) = foreign.issue(&grant(Role::Agent, HOUR)).unwrap();
    let elsewhere = verifier.clone();
    for _ in 0..3 {
        assert!(verifier.verify(&token).is_ok());
        // Whoever shares the verifier shares what it knows.
        assert!(elsewhere.verify(&token).is_ok());
    }
    assert_eq!(verifier.signatures_checked(), 1);
    assert!(verifier.verify(&second).is_ok());
    assert_eq!(verifier.signatures_checked(), 2);
    for bad in 1..=3 {
        assert!(verifier.verify(&forged).is_err());
        assert_eq!(verifier.signatures_checked(), 2 + bad);
    }
}

#[test]
fn forged_foreign_expired_and_mangled_tokens_are_refused() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let foreign = Issuer::open_or_create(other.path()).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let (token, _) = issuer.issue(&grant(Role::Person, HOUR)).unwrap();
    let (forged, _) = foreign.issue(&grant(Role::Person, HOUR)).unwrap();
    let (expired, _) = issuer.issue(&grant(Role::Person, Duration::ZERO)).unwrap();
    assert!(verifier.verify(&token).is_ok());
    assert!(matches!(
        verifier.verify(&forged),
        Err(CredentialError::Invalid)
    ));
    // Another signature under the right claims, no signature, nothing, and far too much.
    let body = token.rsplit_once('.').unwrap().0;
    let signature = forged.rsplit_once('.').unwrap().1;
    for bad in [
        format!("{body}.{signature}"),
        format!("{body}."),
        String::new(),
        "x".repeat(1 << 20),
    ] {
        assert!(matches!(
            verifier.verify(&bad),
            Err(CredentialError::Invalid)
        ));
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    while !matches!(verifier.verify(&expired), Err(CredentialError::Expired)) {
        assert!(
            Instant::now() < deadline,
            "an expired credential was accepted"
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_revoked_credential_is_refused_by_a_running_service() {
    let dir = tempfile::tempdir().unwrap();
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let (token, issued) = issuer.issue(&grant(Role::Host, HOUR)).unwrap();
    assert!(verifier.verify(&token).is_ok());
    issuer.revoke(&issued.id).unwrap();
    assert!(issuer.list().unwrap()[0].revoked);
    let deadline = Instant::now() + Duration::from_secs(5);
    while !matches!(verifier.verify(&token), Err(CredentialError::Revoked)) {
        assert!(Instant::now() < deadline, "the deny list was not followed");
        std::thread::yield_now();
    }
}

#[test]
fn a_child_says_the_same_lives_no_longer_and_is_revoked_with_every_one_it_came_from() {
    let dir = tempfile::tempdir().unwrap();
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let minute = Duration::from_mins(1);
    let (token, issued) = issuer.issue(&grant(Role::Person, minute)).unwrap();
    let parent = verifier.verify(&token).unwrap();
    let (child, _) = issuer.sign_child(&parent, HOUR).unwrap();
    let child = verifier.verify(&child).unwrap();
    assert_eq!(child.expires_at, parent.expires_at);
    assert_eq!(
        (
            &child.subject,
            child.role,
            &child.tenant,
            &child.profiles,
            &child.groups
        ),
        (
            &parent.subject,
            parent.role,
            &parent.tenant,
            &parent.profiles,
            &parent.groups
        )
    );
    let (grandchild, _) = issuer.sign_child(&child, HOUR).unwrap();
    let short = issuer.sign_child(&parent, Duration::from_secs(1)).unwrap();
    assert!(short.1.expires_at < parent.expires_at, "it may be shorter");
    assert!(verifier.verify(&grandchild).is_ok());
    issuer.revoke(&issued.id).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !matches!(verifier.verify(&grandchild), Err(CredentialError::Revoked)) {
        assert!(Instant::now() < deadline, "it outlived its origin");
        std::thread::yield_now();
    }
    let mut over = parent;
    over.expires_at = 1;
    assert!(matches!(
        issuer.sign_child(&over, HOUR),
        Err(CredentialError::Expired)
    ));
}

#[test]
fn who_signs_out_in_one_browser_stays_signed_in_in_another() {
    let dir = tempfile::tempdir().unwrap();
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let own = issuer.sign_browser(&grant(Role::Person, HOUR)).unwrap();
    let own = verifier.verify(&own.0).unwrap();
    let (issued, _) = issuer.issue(&grant(Role::Person, HOUR)).unwrap();
    let issued = verifier.verify(&issued).unwrap();
    assert_eq!((own.browser, issued.browser), (true, false));
    let beside = issuer.sign_child(&own, HOUR).unwrap().0;
    let beneath = issuer.sign_child(&issued, HOUR).unwrap().0;
    assert!(verifier.verify(&beneath).unwrap().browser);
    assert_eq!(verifier.verify(&beneath).unwrap().parents, [issued.id]);
    issuer.revoke(&own.id).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while verifier.still_holds(&own).is_ok() {
        assert!(Instant::now() < deadline, "the deny list was not followed");
        std::thread::yield_now();
    }
    let beside = verifier.verify(&beside).unwrap();
    assert_eq!((beside.browser, beside.parents.len()), (true, 0));
}

#[test]
fn keys_are_private_and_never_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (token, _) = Issuer::open_or_create(dir.path())
        .unwrap()
        .issue(&grant(Role::Agent, HOUR))
        .unwrap();
    Issuer::open_or_create(dir.path()).unwrap();
    assert!(Verifier::open(dir.path()).unwrap().verify(&token).is_ok());
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
