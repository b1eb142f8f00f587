//! What is told, how often, and what makes room for what.

use super::*;
use uuid::Uuid;

fn id(n: u128) -> ClarifyId {
    ClarifyId::from_uuid(Uuid::from_u128(n))
}

fn open(backlog: &Backlog) -> Vec<(u64, What, u32)> {
    let each = backlog.open.iter();
    each.map(|m| (m.seq, m.what, m.attempts)).collect()
}

const NOW: Timestamp = Timestamp::from_unix_millis(5);

fn in_doubt() -> Failed {
    Failed::in_doubt("it answered 500")
}

fn refusal() -> Failed {
    Failed::unheard("it answered 404")
}

fn take(backlog: &mut Backlog, seq: u64, said: &[Said]) {
    assert!(backlog.take(seq, said), "{seq}");
}

#[test]
fn each_question_is_told_once() {
    let mut backlog = Backlog::default();
    take(&mut backlog, 4, &[Said::Asked(id(1))]);
    take(&mut backlog, 4, &[Said::Asked(id(1))]);
    assert_eq!(open(&backlog), [(4, What::Asked, 0)]);
    assert!(backlog.begins(id(1), What::Asked));
    backlog.done(id(1), What::Asked);
    // As after a restart, when everything that waits is looked at again.
    take(&mut backlog, 4, &[Said::Asked(id(1))]);
    assert_eq!(open(&backlog), []);
    take(&mut backlog, 9, &[Said::Ended(id(1), 4)]);
    take(&mut backlog, 9, &[Said::Ended(id(1), 4)]);
    assert_eq!(open(&backlog), [(9, What::Ended, 0)]);
    backlog.done(id(1), What::Ended);
    take(&mut backlog, 9, &[Said::Ended(id(1), 4)]);
    assert_eq!(open(&backlog), []);
}

#[test]
fn what_ends_untold_needs_no_telling() {
    let mut backlog = Backlog::default();
    take(&mut backlog, 4, &[Said::Asked(id(1))]);
    take(&mut backlog, 5, &[Said::Ended(id(1), 4)]);
    assert_eq!(open(&backlog), []);
    // Asked and ended before anybody looked.
    take(&mut backlog, 7, &[Said::Ended(id(2), 6)]);
    assert_eq!(open(&backlog), []);
    // The same, in two looks.
    backlog.untold(id(4));
    backlog.reached(10);
    take(&mut backlog, 11, &[Said::Ended(id(4), 10)]);
    assert_eq!(open(&backlog), []);
    // Over when the first attempt began.
    take(&mut backlog, 12, &[Said::Asked(id(5))]);
    backlog.begins(id(5), What::Asked);
    backlog.needless(id(5), What::Asked);
    // The same by whoever goes on after a crash.
    let mut another = read(&backlog);
    for backlog in [&mut backlog, &mut another] {
        take(backlog, 13, &[Said::Ended(id(5), 12)]);
        assert_eq!(open(backlog), []);
    }
}

/// What whoever goes on reads of it.
fn read(backlog: &Backlog) -> Backlog {
    let written = serde_json::to_vec(backlog).unwrap();
    serde_json::from_slice(&written).unwrap()
}

#[test]
fn of_many_that_were_over_untold_the_last_ones_are_written_down() {
    let mut backlog = Backlog::default();
    let all = 2 * u128::try_from(MOST_UNTOLD).unwrap();
    for n in 1..=all {
        backlog.untold(id(n));
    }
    let read = read(&backlog);
    assert_eq!(read.untold.len(), MOST_UNTOLD);
    assert!(read.is_untold(id(all)) && !read.is_untold(id(1)));
    assert!(backlog.is_untold(id(1)), "this one still knows");
}

#[test]
fn an_attempt_that_failed_may_have_been_heard() {
    for over_meanwhile in [false, true] {
        let mut backlog = Backlog::default();
        take(&mut backlog, 8, &[Said::Asked(id(3))]);
        backlog.begins(id(3), What::Asked);
        assert!(!backlog.failed(id(3), What::Asked, &in_doubt(), NOW));
        if over_meanwhile {
            backlog.begins(id(3), What::Asked);
            backlog.needless(id(3), What::Asked);
        }
        take(&mut backlog, 9, &[Said::Ended(id(3), 8)]);
        assert_eq!(open(&backlog), [(9, What::Ended, 0)], "{over_meanwhile}");
    }
}

#[test]
fn of_what_was_refused_nobody_hears_the_end() {
    // Each attempt, whether it was refused, and whether somebody may have heard of the question.
    for (attempts, heard) in [
        (&[true][..], false),
        (&[true, true, true], false),
        (&[false], true),
        (&[true, false], true),
        (&[false, true], true),
        (&[true, false, true, true], true),
    ] {
        // The end comes after the last attempt, or while it runs, or by whoever reads what was written.
        for (while_it_runs, read_again) in [(false, false), (true, false), (false, true)] {
            let mut backlog = Backlog::default();
            take(&mut backlog, 8, &[Said::Asked(id(3))]);
            let mut may_be_heard = false;
            for (n, refused) in attempts.iter().enumerate() {
                let first = backlog.begins(id(3), What::Asked);
                assert_eq!(
                    first, !may_be_heard,
                    "it is written down before it may be heard"
                );
                may_be_heard |= !refused;
                if while_it_runs && n + 1 == attempts.len() {
                    take(&mut backlog, 9, &[Said::Ended(id(3), 8)]);
                    assert_eq!(open(&backlog), [(9, What::Ended, 0)]);
                }
                let failed = if *refused { refusal() } else { in_doubt() };
                backlog.failed(id(3), What::Asked, &failed, NOW);
            }
            if read_again {
                backlog = read(&backlog);
            }
            if !while_it_runs {
                take(&mut backlog, 9, &[Said::Ended(id(3), 8)]);
            }
            let told = open(&backlog) == [(9, What::Ended, 0)];
            assert_eq!(told, heard, "{attempts:?} {while_it_runs} {read_again}");
            assert_eq!(backlog.open.len(), usize::from(heard));
        }
    }
    // A crash while the second attempt ran: nobody knows.
    let mut backlog = Backlog::default();
    take(&mut backlog, 8, &[Said::Asked(id(3))]);
    backlog.begins(id(3), What::Asked);
    backlog.failed(id(3), What::Asked, &refusal(), NOW);
    backlog.begins(id(3), What::Asked);
    let mut another = read(&backlog);
    take(&mut another, 9, &[Said::Ended(id(3), 8)]);
    assert_eq!(open(&another), [(9, What::Ended, 0)]);
    // Over before the attempt that runs got to it.
    take(&mut backlog, 9, &[Said::Ended(id(3), 8)]);
    backlog.needless(id(3), What::Asked);
    assert_eq!(open(&backlog), []);
}

#[test]
fn what_made_room_and_was_refused_needs_no_end() {
    let many = u64::try_from(MOST + 2).unwrap();
    let mut backlog = Backlog::default();
    for n in 1..=many {
        let id = id(u128::from(n));
        take(&mut backlog, n, &[Said::Asked(id)]);
        backlog.begins(id, What::Asked);
        backlog.failed(id, What::Asked, &refusal(), NOW);
    }
    assert!(is_put_off(&backlog, 1) && is_put_off(&backlog, 2));
    take(&mut backlog, many + 1, &[Said::Ended(id(1), 1)]);
    backlog.done(id(9), What::Asked);
    for n in 100..=200 {
        backlog.done(id(n), What::Asked);
    }
    assert_eq!(backlog.come_again(None), Some((id(2), 1)));
    take(&mut backlog, many + 2, &[Said::Ended(id(2), 2)]);
    assert!(backlog.open.iter().all(|m| m.what == What::Asked));
}

fn is_put_off(backlog: &Backlog, n: u128) -> bool {
    backlog.put_off.iter().any(|put_off| put_off.id == id(n))
}

#[test]
fn a_commit_is_taken_whole_or_not_at_all() {
    let mut backlog = Backlog::default();
    let many = u64::try_from(MOST).unwrap() - 1;
    for n in 1..=many {
        take(&mut backlog, n, &[Said::Asked(id(u128::from(n)))]);
    }
    let both = [Said::Asked(id(1_001)), Said::Asked(id(1_002))];
    assert!(!backlog.take(1_000, &both));
    assert_eq!((backlog.position, backlog.open.len()), (many, MOST - 1));
    take(&mut backlog, 1_001, &[Said::Asked(id(2_000))]);
    assert!(!backlog.has_room() && !backlog.take(1_002, &[Said::Asked(id(2_001))]));
    // What takes no room is taken when there is none.
    backlog.untold(id(3_000));
    assert!(backlog.take(1_002, &[Said::Ended(id(3_000), 0)]));
    // And so is what makes some.
    take(&mut backlog, 1_003, &[Said::Ended(id(1), 1)]);
    assert_eq!(backlog.open.len(), MOST - 1);
    assert!(!backlog.take(1_004, &both));
    backlog.done(id(2), What::Asked);
    take(&mut backlog, 1_004, &both);
    assert_eq!(backlog.open.len(), MOST);
}

#[test]
fn more_than_there_is_room_for_at_once_is_told_all_the_same() {
    let mut backlog = Backlog::default();
    backlog.reached(5);
    let all: Vec<Said> = (1..=5 * MOST)
        .map(|n| Said::Ended(id(n.try_into().unwrap()), 5))
        .collect();
    take(&mut backlog, 6, &all);
    for n in 1..=5 * MOST {
        let id = id(n.try_into().unwrap());
        backlog.begins(id, What::Ended);
        backlog.failed(id, What::Ended, &Failed::in_doubt("❓".repeat(500)), NOW);
    }
    assert_eq!(backlog.open.len(), 5 * MOST);
    let written = serde_json::to_vec(&backlog).unwrap();
    assert!(written.len() < askbus_domain::MAX_COMMIT_BYTES);
}

#[test]
fn only_an_end_is_given_up() {
    let mut backlog = Backlog::default();
    take(&mut backlog, 1, &[Said::Asked(id(1))]);
    for _ in 0..2 * MAX_ATTEMPTS {
        backlog.begins(id(1), What::Asked);
        let problem = Failed::in_doubt("it could not be reached".repeat(20));
        assert!(!backlog.failed(id(1), What::Asked, &problem, NOW));
    }
    assert_eq!(backlog.attempts(id(1), What::Asked), 2 * MAX_ATTEMPTS);
    take(&mut backlog, 2, &[Said::Ended(id(1), 1)]);
    let mut last = false;
    for _ in 0..MAX_ATTEMPTS {
        assert!(!last);
        backlog.begins(id(1), What::Ended);
        last = backlog.failed(id(1), What::Ended, &in_doubt(), NOW);
    }
    assert!(last && backlog.open.is_empty());
}

#[test]
fn a_full_backlog_fits_one_message_of_the_bus() {
    let mut backlog = Backlog::default();
    let base = u64::MAX - 10_000;
    for n in 0..u64::try_from(MOST + MOST_PUT_OFF).unwrap() {
        let id = id(u128::MAX - u128::from(n));
        take(&mut backlog, base + n, &[Said::Asked(id)]);
        backlog.begins(id, What::Asked);
        backlog.failed(id, What::Asked, &Failed::unheard("x".repeat(500)), NOW);
        if let Some(message) = backlog.find_mut(id, What::Asked) {
            message.attempts = u32::MAX;
        }
    }
    assert!(!backlog.has_room());
    for n in 0..MOST_UNTOLD {
        backlog.untold(id(u128::MAX / 2 + u128::try_from(n).unwrap()));
    }
    let written = serde_json::to_vec(&backlog).unwrap();
    // Beside a cursor and a context, each as long as it may be.
    let written = [written, vec![b' '; 24 * 1024]].concat();
    assert!(
        written.len() < askbus_domain::MAX_COMMIT_BYTES,
        "{}",
        written.len()
    );
    let read: Backlog = serde_json::from_slice(&written).unwrap();
    assert_eq!(read, backlog);
}

/// A backlog with `count` messages, all of them refused once, but for the first of them twice.
fn refused(count: u64) -> Backlog {
    let mut backlog = Backlog::default();
    for n in 1..=count {
        let id = id(u128::from(n));
        take(&mut backlog, n, &[Said::Asked(id)]);
        for _ in 0..=u32::from(n == 1) {
            backlog.begins(id, What::Asked);
            backlog.failed(id, What::Asked, &in_doubt(), NOW);
        }
    }
    backlog
}

#[test]
fn what_is_refused_keeps_no_new_one_from_its_first_attempt() {
    let all = u64::try_from(MOST + MOST_PUT_OFF).unwrap();
    let mut backlog = refused(all);
    assert_eq!(
        (backlog.open.len(), backlog.put_off.len()),
        (MOST, MOST_PUT_OFF)
    );
    assert_eq!(backlog.undelivered(), MOST + MOST_PUT_OFF);
    let first = &backlog.put_off[0];
    assert_eq!(
        (first.id, first.attempts),
        (id(1), 2),
        "the one refused most"
    );
    // There is an end to it.
    assert!(!backlog.has_room());
    assert!(!backlog.take(all + 1, &[Said::Asked(id(9_999))]));
    // Those that were not tried yet are not put off.
    let mut fresh = Backlog::default();
    for n in 1..=u64::try_from(MOST).unwrap() {
        take(&mut fresh, n, &[Said::Asked(id(u128::from(n)))]);
    }
    assert!(!fresh.has_room());
}

#[test]
fn what_made_room_comes_again_in_turn() {
    let many = u64::try_from(MOST + 2).unwrap();
    let mut backlog = refused(many);
    assert_eq!(backlog.undelivered(), MOST + 2);
    let waiting = |backlog: &Backlog| -> Vec<ClarifyId> {
        backlog.put_off.iter().map(|put_off| put_off.id).collect()
    };
    let before = waiting(&backlog);
    assert_eq!(before, [id(1), id(2)]);
    assert_eq!(backlog.come_again(None), None, "there is no place");
    // Another one is refused: they take turns.
    assert_eq!(backlog.come_again(Some(id(7))), Some((id(1), 2)));
    assert_eq!(waiting(&backlog), [id(2), id(7)]);
    assert!(backlog.holds(id(1), What::Asked) && !backlog.holds(id(7), What::Asked));
    // Places become free.
    for n in 100..=200 {
        backlog.done(id(n), What::Asked);
    }
    assert_eq!(backlog.come_again(None), Some((id(2), 1)));
    assert_eq!(backlog.come_again(None), Some((id(7), 1)));
    assert_eq!(backlog.come_again(None), None);
}

#[test]
fn what_made_room_may_have_been_heard() {
    let many = u64::try_from(MOST + 1).unwrap();
    let mut backlog = refused(many);
    assert!(is_put_off(&backlog, 1));
    take(&mut backlog, many + 1, &[Said::Ended(id(1), 1)]);
    assert!(!is_put_off(&backlog, 1) && backlog.holds(id(1), What::Ended));
    // Told after all, by an attempt that was on its way.
    let mut backlog = refused(many);
    backlog.done(id(1), What::Asked);
    assert_eq!(backlog.undelivered(), MOST);
}
