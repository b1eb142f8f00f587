//! What is sent next, when, and what is given up.

use super::*;

fn text(id: &str) -> Text {
    Text {
        client_id: id.into(),
        to: "ann".into(),
        context: "C1".into(),
        text: "✅".into(),
        about: None,
        since: Timestamp::from_unix_millis(1),
        settled: None,
    }
}

fn outbox(replies: &[&[&str]]) -> Outbox {
    let mut outbox = Outbox::new(Retries::default());
    for reply in replies {
        outbox.put(reply.iter().map(|id| text(id)));
    }
    outbox
}

fn next(outbox: &Outbox, now: Instant) -> Option<&str> {
    outbox.next(now).map(|text| text.client_id.as_str())
}

#[test]
fn in_order_and_again_until_it_is_given_up() {
    let (mut outbox, now) = (outbox(&[&["1.0", "1.1"]]), Instant::now());
    let most = Retries::default().attempts;
    let later = now + Duration::from_hours(1);
    let mut waited = Duration::ZERO;
    for _ in 1..most {
        assert_eq!(outbox.failed("1.0", now), Failed::Again);
        assert_eq!(
            (next(&outbox, now), next(&outbox, later)),
            (None, Some("1.0"))
        );
        let pause = outbox.due().unwrap() - now;
        assert!(
            pause >= waited && pause <= Retries::default().most,
            "{pause:?}"
        );
        waited = pause;
    }
    assert_eq!(waited, Retries::default().most);
    outbox.renew("ben", "C2");
    assert_eq!(next(&outbox, now), None, "it is not to ben");
    outbox.renew("ann", "C2");
    let newer = |id| Text {
        context: "C2".into(),
        ..text(id)
    };
    assert_eq!(outbox.next(now), Some(&newer("1.0")), "the context is new");
    for _ in 1..most {
        assert_eq!(outbox.failed("1.0", now), Failed::Again);
    }
    let given_up = Failed::GivenUp(newer("1.0"), most);
    assert_eq!(outbox.failed("1.0", now), given_up);
    assert_eq!(outbox.next(now), Some(&newer("1.1")));
    assert_eq!(outbox.sent("1.1"), Some(newer("1.1")));
    assert!(outbox.is_empty() && outbox.due().is_none() && next(&outbox, later).is_none());
}

#[test]
fn one_that_is_refused_keeps_no_other_one_back() {
    let (mut outbox, now) = (outbox(&[&["1.0", "1.1"], &["2.0"]]), Instant::now());
    let retries = Retries::default();
    for _ in 0..3 {
        outbox.failed("1.0", now);
        // Another one is tried a moment later, and its success says that it was this one alone.
        let due = outbox.due().unwrap();
        assert!(due <= now + MOST_BETWEEN, "{:?}", due - now);
        assert_eq!(next(&outbox, due), Some("2.0"));
        outbox.sent("2.0").unwrap();
        outbox.put([text("2.0")]);
    }
    outbox.sent("2.0").unwrap();
    assert_eq!(outbox.due(), Some(now + retries.pause(3)));
    assert_eq!(next(&outbox, now + retries.pause(3)), Some("1.0"));
    outbox.sent("1.0").unwrap();
    assert_eq!(
        next(&outbox, now),
        Some("1.1"),
        "what follows it waits no longer"
    );
}

#[test]
fn a_place_that_refuses_everything_is_not_asked_without_a_pause() {
    let ids: Vec<String> = (0..MOST).map(|n| n.to_string()).collect();
    let mut outbox = outbox(&[]);
    for id in &ids {
        outbox.put([text(id)]);
    }
    assert!(!outbox.has_room());
    let (begin, mut attempts) = (Instant::now(), 0);
    let mut now = begin;
    while outbox.len() == MOST {
        now = now.max(outbox.due().unwrap());
        let id = next(&outbox, now).unwrap().to_owned();
        outbox.failed(&id, now);
        attempts += 1;
    }
    let took = now - begin;
    assert!(
        took <= Duration::from_mins(7),
        "the oldest one makes room: {took:?}"
    );
    assert!(
        took >= MOST_BETWEEN * (attempts - 8),
        "{attempts} in {took:?}"
    );
}
