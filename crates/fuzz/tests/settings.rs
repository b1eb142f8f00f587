//! What operators write and what callers show for themselves.

#![allow(clippy::unwrap_used, clippy::panic)]

use askbus_credential::{Grant, Issuer, Role, Verifier};
use askbus_domain::{PersonId, ProfileId, TenantId};
use askbus_fuzz::{Material, fuzz_bytes};
use askbus_wire::client::Target;
use askbus_wire::targets::Targets;
use askbus_wire::tenants::Tenants;
use std::time::Duration;

#[test]
fn fuzz_addresses_of_services() {
    let seeds = [
        "http://127.0.0.1:7000",
        "h:1,h:2",
        "/run/askbus.sock",
        "acme=h:1;b,c=h:2,h:3;h:4",
        "a=/run/a=b.sock;http://h:1",
        // Was shown as the path of a socket.
        "http://a/b,c",
        // Was read as another address once it had been shown.
        "http://a/b\t/",
    ];
    fuzz_bytes!(
        Material::of(&seeds, &["http://", "://", ";", ",", "="]),
        |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            if let Ok(target) = text.parse::<Target>() {
                assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
            }
            // A table is read or refused.
            let _ = text.parse::<Targets>();
        }
    );
}

#[test]
fn fuzz_tenants() {
    let seeds = ["all", "a,b", "all,!acme,!b", "!a", " a , 群 "];
    fuzz_bytes!(
        Material::of(&seeds, &["all", "!", ","]),
        |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            if let Ok(tenants) = Tenants::parse(&text) {
                let stranger = TenantId::new("nobody-has-this-name").unwrap();
                let all = matches!(tenants, Tenants::AllBut(_));
                assert_eq!(tenants.serves(&stranger), all);
            }
        }
    );
}

#[test]
fn fuzz_credentials() {
    let dir = tempfile::tempdir().unwrap();
    let issuer = Issuer::open_or_create(dir.path()).unwrap();
    let grant = Grant {
        subject: PersonId::new("ann").unwrap(),
        role: Role::Person,
        tenant: TenantId::new("acme").unwrap(),
        profiles: vec![ProfileId::new("default").unwrap()],
        groups: vec!["ops".to_owned()],
        life: Duration::from_hours(24),
    };
    let (token, _) = issuer.issue(&grant).unwrap();
    let verifier = Verifier::open(dir.path()).unwrap();
    let known = verifier.verify(&token).unwrap();
    let none = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.";
    fuzz_bytes!(
        Material::of(&[&token, none], &[".", "eyJ", "=", "none"]),
        |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            // Whatever is taken says what the issuer signed.
            if let Ok(credential) = verifier.verify(&text) {
                assert_eq!(
                    (&credential.subject, &credential.tenant, credential.role),
                    (&known.subject, &known.tenant, known.role)
                );
                assert_eq!(credential.profiles, known.profiles);
            }
        }
    );
}
