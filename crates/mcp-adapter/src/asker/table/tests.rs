use super::*;

fn settled(id: &str) -> proto::Clarification {
    proto::Clarification {
        clarify_id: id.to_owned(),
        ..Default::default()
    }
}

fn enter(table: &Table, id: &str, placing: &Placing<'_>) -> Place {
    enter_as(table, id, placing, false)
}

fn enter_again(table: &Table, id: &str, placing: &Placing<'_>) -> Place {
    enter_as(table, id, placing, true)
}

fn enter_as(table: &Table, id: &str, placing: &Placing<'_>, reattached: bool) -> Place {
    let asked = proto::AskResponse {
        reattached,
        clarify_id: id.to_owned(),
        session_id: format!("session of {id}"),
        ..Default::default()
    };
    table.enter(&asked, &Trace::begin(), placing, &crate::asker::silent())
}

#[test]
fn twins_wait_for_one_question_and_only_the_last_one_withdraws_it() {
    let table = Table::default();
    table.listening(&[]);
    let placing = table.placing();
    let mut first = enter(&table, "a", &placing);
    let second = enter_again(&table, "a", &placing);
    assert!(!table.leave("a", second.key()));
    let mut third = enter_again(&table, "a", &placing);
    table.settled(settled("a"));
    for place in [&mut first, &mut third] {
        assert!(matches!(place.fate.try_recv(), Ok(Fate::Settled(c)) if c.clarify_id == "a"));
    }
    let first = enter(&table, "b", &placing);
    assert!(table.leave("b", first.key()) && !table.is_open("b"));
    // The reply to a twin's `Ask` names a question that was withdrawn meanwhile: it is asked for.
    assert!(
        ![&first, &second, &third]
            .iter()
            .any(|place| place.contested)
    );
    assert!(enter_again(&table, "b", &placing).contested);
    assert!(table.listening(&[]));
}

#[test]
fn a_hold_is_told_once_to_each_who_waits() {
    let table = Table::default();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = |name: &'static str| -> Notices {
        let told = Arc::clone(&told);
        Arc::new(move |notice| lock(&told).push((name, notice)))
    };
    let asked = proto::AskResponse {
        clarify_id: "a".to_owned(),
        ..Default::default()
    };
    let placing = table.placing();
    let _first = table.enter(&asked, &Trace::begin(), &placing, &hears("first"));
    table.held("a", "ann");
    table.held("a", "ben");
    table.held("b", "ann");
    let _second = table.enter(&asked, &Trace::begin(), &placing, &hears("second"));
    let held = || Notice::Held {
        person: "ann".to_owned(),
    };
    assert_eq!(*lock(&told), [("first", held()), ("second", held())]);
}

#[test]
fn an_outcome_that_overtakes_the_reply_to_its_ask_is_kept() {
    let table = Table::default();
    assert!(!table.listening(&[]));
    let placing = table.placing();
    table.settled(settled("a"));
    let mut fate = enter(&table, "a", &placing);
    assert!(matches!(fate.fate.try_recv(), Ok(Fate::Settled(c)) if c.clarify_id == "a"));
    table.settled(settled("b"));
    drop(placing);
    // Nobody was placing any more: what came for others is not hoarded.
    assert!(lock(&table.state).early.is_empty());
}

#[test]
fn a_reply_that_says_how_the_question_ended_leaves_nothing_to_wait_for() {
    let table = Table::default();
    let placing = table.placing();
    let asked = proto::AskResponse {
        clarify_id: "a".to_owned(),
        settled: Some(settled("a")),
        ..Default::default()
    };
    let mut place = table.enter(&asked, &Trace::begin(), &placing, &crate::asker::silent());
    assert!(matches!(place.fate.try_recv(), Ok(Fate::Settled(c)) if c.clarify_id == "a"));
    assert!(!table.is_open("a") && !table.listening(&[]));
    drop(placing);
    // Somebody who listens is told of it as well, before or after the reply.
    for told in [true, false] {
        let placing = table.placing();
        if told {
            table.settled(settled("a"));
        }
        let mut place = table.enter(&asked, &Trace::begin(), &placing, &crate::asker::silent());
        table.settled(settled("a"));
        assert!(place.fate.try_recv().is_ok());
        drop(placing);
        assert!(lock(&table.state).early.is_empty());
    }
}

#[test]
fn a_question_placed_across_an_outage_is_asked_for() {
    let table = Table::default();
    table.listening(&[]);
    let placing = table.placing();
    table.deaf();
    let _fate = enter(&table, "a", &placing);
    // Those who listen again did not know the id yet.
    assert!(table.listening(&[]));
    assert!(!table.listening(&table.open_ids()));
    let within = table.placing();
    let _fate = enter(&table, "b", &within);
    let known = ["a".to_owned()];
    assert!(!table.listening(&known), "b was covered from the start");
}

#[test]
fn a_question_placed_across_a_gap_is_asked_for_though_nobody_was_away() {
    let table = Table::default();
    table.listening(&[]);
    let (epoch, placing) = (table.epoch(), table.placing());
    table.missed();
    let _fate = enter(&table, "a", &placing);
    assert!(table.is_open_in("session of a") && !table.is_open_in("session of b"));
    let uncovered = |table: &Table| lock(&table.state).open.values().any(|o| !o.covered);
    assert!(uncovered(&table));
    table.cover("a");
    assert!(!uncovered(&table));
    assert_eq!(table.epoch(), epoch);
}
