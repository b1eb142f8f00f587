//! Unsent answers: the last value of each tab, guarded by its revision where its writer wants that.

use super::samples::{clarification, draft, session, tenant};
use super::{reached, within};
use askbus_domain::{ClarifyId, MAX_COMMIT_BYTES, PersonId};
use askbus_ledger::{Bus, LedgerError};

pub async fn drafts(bus: &Bus) {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let (ana, ben) = (
        PersonId::new("ana@x.y").unwrap(),
        PersonId::new("ben").unwrap(),
    );
    assert!(reached!(bus.drafts.list(&t, &s, id)).is_empty());
    for text in ["P", "Po", "Postgres"] {
        reached!(bus.drafts.put(&t, &s, id, &ana, &draft(text)));
    }
    reached!(bus.drafts.put(&t, &s, id, &ben, &draft("SQLite")));
    reached!(
        bus.drafts
            .put(&t, &s, clarification(), &ben, &draft("elsewhere"))
    );
    reached!(
        bus.drafts
            .put(&tenant("globex"), &s, id, &ben, &draft("foreign"))
    );
    let mut other_tab = draft("Or neither");
    other_tab.tab = "tab.2".into();
    reached!(bus.drafts.put(&t, &s, id, &ben, &other_tab));
    let mut found = reached!(bus.drafts.list(&t, &s, id));
    found.sort_by(|a, b| (&a.person, &a.draft.tab).cmp(&(&b.person, &b.draft.tab)));
    let found: Vec<_> = found.into_iter().map(|d| (d.person, d.draft)).collect();
    let expected = [
        (ana, draft("Postgres")),
        (ben.clone(), draft("SQLite")),
        (ben, other_tab),
    ];
    assert_eq!(found, expected);
}

/// Saves a draft unless somebody else did; a lost acknowledgement is looked up.
async fn save(bus: &Bus, id: ClarifyId, text: &str, expected: u64) -> Option<u64> {
    let (t, s, ana) = (
        tenant("acme"),
        session("s"),
        PersonId::new("ana@x.y").unwrap(),
    );
    within("a guarded draft", async {
        loop {
            let wanted = draft(text);
            match bus.drafts.put_if(&t, &s, id, &ana, &wanted, expected).await {
                Ok(saved) => break saved,
                Err(LedgerError::InDoubt(_)) => {
                    let now = last_saved(bus, id).await;
                    match now {
                        Some((revision, ref saved)) if saved == text => break Some(revision),
                        Some((revision, _)) if revision != expected => break None,
                        _ => {}
                    }
                }
                Err(LedgerError::Unavailable(_)) => {}
                Err(other) => panic!("{other}"),
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// The revision and the text of the one draft of a clarification.
async fn last_saved(bus: &Bus, id: ClarifyId) -> Option<(u64, String)> {
    let found = reached!(bus.drafts.list(&tenant("acme"), &session("s"), id));
    assert!(found.len() < 2, "{found:?}");
    let found = found.into_iter().next()?;
    Some((found.revision, found.draft.text.unwrap()))
}

pub async fn guarded_drafts(bus: &Bus) {
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let ana = PersonId::new("ana@x.y").unwrap();
    let first = save(bus, id, "one", 0).await.expect("the first one");
    assert_eq!(last_saved(bus, id).await, Some((first, "one".to_owned())));
    assert_eq!(save(bus, id, "rival", 0).await, None);
    let second = save(bus, id, "two", first).await.expect("the next one");
    assert!(second > first);
    assert_eq!(save(bus, id, "late", first).await, None);
    assert_eq!(last_saved(bus, id).await, Some((second, "two".to_owned())));
    // One that is saved whatever was there counts as another one too.
    reached!(bus.drafts.put(&t, &s, id, &ana, &draft("three")));
    let (third, text) = last_saved(bus, id).await.unwrap();
    assert!(third > second && text == "three");
    assert_eq!(save(bus, id, "late", second).await, None);
    // Each clarification has its own.
    let another = clarification();
    save(bus, another, "elsewhere", 0).await.expect("the first");
    // Of many who know the same revision one writes.
    let rivals = ["a", "b", "c", "d", "e", "f"];
    let rivals = rivals.map(|text| async move { save(bus, id, text, third).await.map(|_| text) });
    let won: Vec<&str> = futures::future::join_all(rivals)
        .await
        .into_iter()
        .flatten()
        .collect();
    let (_, text) = last_saved(bus, id).await.unwrap();
    assert_eq!(won, [text]);
    let large = draft(&"x".repeat(MAX_COMMIT_BYTES + 1));
    let refused = bus.drafts.put_if(&t, &s, id, &ana, &large, 0).await;
    assert!(matches!(refused, Err(LedgerError::TooLarge(_))));
}
