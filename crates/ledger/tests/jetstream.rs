//! The bus on JetStream against the suite, and what only a server can do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, unused_imports, unused_macros)]
mod conformance;
mod support;

use askbus_domain::PersonId;
use askbus_ledger::jetstream::{self, JetStreamHandle, JetStreamOptions};
use askbus_ledger::{AppendError, Bus, LedgerError, append};
use askbus_wire::codec::Decoded;
use async_nats::Client;
use conformance::samples::{answer, begun, clarification, draft, held, requested, session, tenant};
use conformance::{next, reached, run_on, seqs, submit, tail_until, within, write};
use futures::StreamExt;
use std::time::Duration;
use support::NatsServer;

fn options(url: String) -> JetStreamOptions {
    JetStreamOptions {
        ack_wait: Duration::from_secs(1),
        log_max_bytes: 64 << 20,
        inbox_max_bytes: 16 << 20,
        drafts_max_bytes: 4 << 20,
        ..JetStreamOptions::new(url, "session-binding@test")
    }
}

struct Fixture {
    left: Bus,
    right: Bus,
    client: Client,
    handles: [JetStreamHandle; 2],
    server: NatsServer,
}

impl Fixture {
    async fn close(self) {
        for handle in self.handles {
            handle.close().await;
        }
        drop(self.server);
    }
}

async fn up(handle: &JetStreamHandle) {
    within("a connection", handle.connected().wait_for(|up| *up))
        .await
        .unwrap();
}

async fn open() -> Fixture {
    let server = NatsServer::start().await;
    let options = options(server.url());
    let (left, client, one) = jetstream::connect(options.clone()).await.unwrap();
    within("the streams", jetstream::ensure_streams(&client, &options))
        .await
        .unwrap();
    let (right, _, two) = jetstream::connect(options).await.unwrap();
    up(&one).await;
    up(&two).await;
    Fixture {
        left,
        right,
        client,
        handles: [one, two],
        server,
    }
}

run_on!(open);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tails_and_takers_survive_a_killed_server() {
    let mut fixture = open().await;
    let bus = fixture.left.clone();
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let mut tail = bus.ledger.tail(1).await.unwrap();
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let mut heartbeats = bus.alive.watch().await.unwrap();
    let (mut last, mut seen) = (0, 0);
    for round in 0..3 {
        for _ in 0..50 {
            last = write(&bus, &held(&t, &s), last).await.unwrap();
        }
        let submission = answer(&t, &s, id, "ana", &format!("a{round}"));
        submit(&bus, &submission).await;
        // Half of it is read before the server dies, half after.
        for _ in 0..25 {
            seen += 1;
            assert_eq!(next(&mut tail).await.seq, seen);
        }
        let mut up = fixture.handles[0].connected();
        fixture.server.kill().await;
        within("the loss is noticed", up.wait_for(|up| !*up))
            .await
            .unwrap();
        let refused = append(bus.ledger.as_ref(), &held(&t, &s), last, None).await;
        assert!(refused.is_err(), "{refused:?}");
        assert!(bus.ledger.last_seq().await.is_err());
        fixture.server.revive().await;
        within("the connection", up.wait_for(|up| *up))
            .await
            .unwrap();
        last = write(&bus, &held(&t, &s), last).await.unwrap();
        while seen < last {
            seen += 1;
            assert_eq!(
                next(&mut tail).await.seq,
                seen,
                "nothing left out, nothing twice"
            );
        }
        loop {
            let delivery = next(&mut taker).await;
            delivery.acker.ack().await.unwrap();
            if String::from_utf8_lossy(&delivery.payload).contains(&format!("a{round}")) {
                break;
            }
        }
    }
    let heartbeat = askbus_wire::messages::Heartbeat {
        service: "gateway".into(),
        instance: "g1".into(),
        ..askbus_wire::messages::Heartbeat::default()
    };
    reached!(bus.alive.publish(&heartbeat));
    assert_eq!(next(&mut heartbeats).await, heartbeat);
    fixture.close().await;
}

/// A reply that was on its way is lost with the connection; nobody waits for it as for a slow one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_ends_with_the_connection_it_was_made_on() {
    let mut fixture = open().await;
    let bus = fixture.left.clone();
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let first = begun(&t, &s);
    write(&bus, &first, 0).await.unwrap();
    fixture.server.freeze().await;
    let commit = held(&t, &s);
    let (submission, draft) = (answer(&t, &s, id, "ana", "a1"), draft("unsent"));
    let ana = PersonId::new("ana").unwrap();
    let asked = async {
        tokio::join!(
            bus.ledger.last_seq(),
            bus.ledger.read_session(&t, &s, 1),
            bus.ledger.append_once(&commit, 1, None),
            bus.inbox.submit(submission),
            bus.drafts.put(&t, &s, id, &ana, &draft),
        )
    };
    let killed = async {
        // All of it is asked: the first poll of a join polls every one.
        tokio::task::yield_now().await;
        fixture.server.kill().await;
    };
    let (answers, ()) = within("all to fail", async { tokio::join!(asked, killed) }).await;
    let lost = |error: &dyn std::fmt::Display| {
        let error = error.to_string();
        assert!(error.contains("lost meanwhile"), "{error}");
    };
    lost(&answers.0.unwrap_err());
    lost(&answers.1.unwrap_err());
    let in_doubt = answers.2.unwrap_err();
    assert!(matches!(in_doubt, AppendError::Uncertain(_)), "{in_doubt}");
    lost(&in_doubt);
    let unknown = answers.3.unwrap_err();
    assert!(matches!(unknown, LedgerError::InDoubt(_)), "{unknown}");
    lost(&unknown);
    lost(&answers.4.unwrap_err());
    fixture.close().await;
}

/// What could not be judged for a passing reason comes again when its taker says, not when it is
/// given up for lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taker_may_have_a_message_again_sooner() {
    let server = NatsServer::start().await;
    let options = JetStreamOptions {
        // Longer than any test waits.
        ack_wait: Duration::from_mins(10),
        ..options(server.url())
    };
    let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
    within("the streams", jetstream::ensure_streams(&client, &options))
        .await
        .unwrap();
    let (t, s) = (tenant("acme"), session("s"));
    let mut taker = bus.inbox.take(&t).await.unwrap();
    submit(&bus, &answer(&t, &s, clarification(), "ana", "a1")).await;
    let first = next(&mut taker).await;
    let pause = Duration::from_millis(10);
    first.acker.retry(pause).await.unwrap();
    let again = next(&mut taker).await;
    assert_eq!((first.deliveries, again.deliveries), (1, 2));
    assert_eq!(again.payload, first.payload);
    again.acker.ack().await.unwrap();
    handle.close().await;
}

/// However long a taker that lives needs for a message, nobody else gets it meanwhile; once it is
/// gone, somebody else does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_comes_again_when_its_taker_is_gone_and_no_sooner() {
    let server = NatsServer::start().await;
    let ack_wait = Duration::from_millis(300);
    let options = JetStreamOptions {
        ack_wait,
        ..options(server.url())
    };
    let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
    within("the streams", jetstream::ensure_streams(&client, &options))
        .await
        .unwrap();
    let (t, s) = (tenant("acme"), session("s"));
    let mut taker = bus.inbox.take(&t).await.unwrap();
    submit(&bus, &answer(&t, &s, clarification(), "ana", "a1")).await;
    let first = next(&mut taker).await;
    let meanwhile = tokio::time::timeout(ack_wait * 5, taker.recv()).await;
    assert!(meanwhile.is_err(), "it came again while it was held");
    drop(first);
    let again = next(&mut taker).await;
    assert_eq!(again.deliveries, 2);
    again.acker.ack().await.unwrap();
    handle.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_consumer_is_made_anew() {
    let fixture = open().await;
    let bus = &fixture.left;
    let (t, s) = (tenant("acme"), session("s"));
    let mut tail = bus.ledger.tail(1).await.unwrap();
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let mut last = write(bus, &begun(&t, &s), 0).await.unwrap();
    assert_eq!(next(&mut tail).await.seq, last);
    submit(bus, &answer(&t, &s, clarification(), "ana", "a1")).await;
    next(&mut taker).await.acker.ack().await.unwrap();
    let context = async_nats::jetstream::new(fixture.client.clone());
    for stream in ["ASKBUS_LOG", "ASKBUS_INBOX"] {
        let stream = context.get_stream(stream).await.unwrap();
        let names: Vec<_> = stream.consumer_names().map(Result::unwrap).collect().await;
        assert!(!names.is_empty());
        for name in names {
            stream.delete_consumer(&name).await.unwrap();
        }
    }
    last = write(bus, &held(&t, &s), last).await.unwrap();
    assert_eq!(next(&mut tail).await.seq, last);
    submit(bus, &answer(&t, &s, clarification(), "ana", "a2")).await;
    next(&mut taker).await.acker.ack().await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_was_stored_is_republished() {
    let fixture = open().await;
    let bus = &fixture.left;
    let (t, s) = (tenant("acme"), session("a.b"));
    let mut deck = fixture.client.subscribe("clarify.*.*.*").await.unwrap();
    fixture.client.flush().await.unwrap();
    let first = begun(&t, &s);
    let one = write(bus, &first, 0).await.unwrap();
    for _ in 0..20 {
        // Refused: the expectation is stale.
        assert!(
            bus.ledger
                .append_once(&held(&t, &s), 0, None)
                .await
                .is_err()
        );
    }
    let last = requested(&t, &s, clarification());
    let two = write(bus, &last, one).await.unwrap();
    // An answer on its way in has five tokens and is not on this deck.
    submit(bus, &answer(&t, &s, clarification(), "ana", "a1")).await;
    let end = held(&t, &s);
    let three = write(bus, &end, two).await.unwrap();
    let wanted = [
        ("begun", one, first),
        ("requested", two, last),
        ("held", three, end),
    ];
    for (event, seq, commit) in wanted {
        let message = within("a republished message", deck.next()).await.unwrap();
        assert_eq!(
            message.subject.as_str(),
            format!("clarify.{event}.acme.a%2Eb")
        );
        let headers = message.headers.unwrap();
        assert_eq!(
            headers.get("Nats-Sequence").unwrap().as_str(),
            seq.to_string()
        );
        assert_eq!(headers.get("Askbus-Event").unwrap().as_str(), event);
        let found: askbus_domain::Commit = serde_json::from_slice(&message.payload).unwrap();
        assert_eq!(found, commit);
    }
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_in_the_log_is_told_and_passed() {
    let fixture = open().await;
    let bus = &fixture.left;
    let (t, s) = (tenant("acme"), session("s"));
    let context = async_nats::jetstream::new(fixture.client.clone());
    for (subject, payload) in [
        ("askbus.log.begun.acme.s", "not json"),
        ("askbus.log.begun.acme.%FF", "a session that is not UTF-8"),
        (
            "askbus.log.plan.acme.s",
            r#"{"schema":1,"event":"of the future"}"#,
        ),
    ] {
        context
            .publish(subject, payload.into())
            .await
            .unwrap()
            .await
            .unwrap();
    }
    assert_eq!(write(bus, &held(&t, &s), 3).await, Some(4));
    let seen = tail_until(bus, 1, 4).await;
    assert_eq!(
        seqs(&seen),
        [1, 3, 4],
        "what belongs to no session is left out"
    );
    assert!(matches!(seen[0].decoded, Decoded::Unreadable { .. }));
    assert!(matches!(seen[1].decoded, Decoded::Unreadable { .. }));
    assert_eq!(reached!(bus.ledger.read_session(&t, &s, 0)).len(), 3);
    // The same in the inbox: it is judged by whoever takes it, or thrown away.
    context
        .publish("clarify.respond.acme.%FF.x", "?".into())
        .await
        .unwrap()
        .await
        .unwrap();
    context
        .publish("clarify.respond.acme.s.x", "?".into())
        .await
        .unwrap()
        .await
        .unwrap();
    let mut taker = bus.inbox.take(&t).await.unwrap();
    let delivery = next(&mut taker).await;
    assert_eq!(
        (delivery.clarify_token.as_str(), &delivery.payload[..]),
        ("x", b"?".as_slice())
    );
    delivery.acker.term().await.unwrap();
    fixture.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_a_promise_is_refused_with_the_difference() {
    let server = NatsServer::start().await;
    let options = options(server.url());
    let (_, client, handle) = jetstream::connect(options.clone()).await.unwrap();
    up(&handle).await;
    jetstream::ensure_streams(&client, &options).await.unwrap();
    jetstream::ensure_streams(&client, &options)
        .await
        .expect("what it made is what it wants");
    let roomier = JetStreamOptions {
        log_max_bytes: 32 << 20,
        ..options.clone()
    };
    jetstream::ensure_streams(&client, &roomier)
        .await
        .expect("sizes are the operator's");
    let context = async_nats::jetstream::new(client.clone());
    let mut config = context
        .get_stream("ASKBUS_LOG")
        .await
        .unwrap()
        .cached_info()
        .config
        .clone();
    assert!(!config.allow_direct);
    config.allow_direct = true;
    config.republish = None;
    context.update_stream(&config).await.unwrap();
    let refused = jetstream::ensure_streams(&client, &options).await;
    let Err(LedgerError::Misconfigured(why)) = refused else {
        panic!("{refused:?}")
    };
    assert!(why.contains("ASKBUS_LOG"), "{why}");
    assert!(why.contains("allow_direct is true, must be false"), "{why}");
    assert!(why.contains("republish"), "{why}");
    let greedy = JetStreamOptions {
        log_max_bytes: 1 << 60,
        ..options
    };
    context.delete_stream("ASKBUS_LOG").await.unwrap();
    let refused = jetstream::ensure_streams(&client, &greedy).await;
    assert!(
        matches!(refused, Err(LedgerError::Misconfigured(_))),
        "{refused:?}"
    );
    handle.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_log_refuses_questions_before_resolutions() {
    let server = NatsServer::start().await;
    let options = JetStreamOptions {
        log_max_bytes: 64 << 10,
        ..options(server.url())
    };
    let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
    up(&handle).await;
    jetstream::ensure_streams(&client, &options).await.unwrap();
    let (t, s) = (tenant("acme"), session("s"));
    let mut last = write(&bus, &begun(&t, &s), 0).await.unwrap();
    let full = within("the log is nearly full", async {
        loop {
            match append(
                bus.ledger.as_ref(),
                &requested(&t, &s, clarification()),
                last,
                None,
            )
            .await
            {
                Ok(seq) => last = seq,
                Err(error) => break error,
            }
        }
    })
    .await;
    assert!(full.to_string().contains("full"), "{full:?}");
    last = write(&bus, &held(&t, &s), last)
        .await
        .expect("this still fits");
    let full = within("the log is full", async {
        loop {
            match append(bus.ledger.as_ref(), &held(&t, &s), last, None).await {
                Ok(seq) => last = seq,
                Err(error) => break error,
            }
        }
    })
    .await;
    assert!(full.to_string().contains("full"), "{full:?}");
    handle.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connecting_waits_for_no_server() {
    let port = support::free_port();
    let options = options(format!("nats://127.0.0.1:{port}"));
    let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
    assert!(!*handle.connected().borrow());
    let refused = bus.ledger.last_seq().await;
    assert!(
        matches!(refused, Err(LedgerError::Unavailable(_))),
        "{refused:?}"
    );
    let (t, s) = (tenant("acme"), session("s"));
    let refused = bus
        .inbox
        .submit(answer(&t, &s, clarification(), "ana", "a1"))
        .await;
    assert!(matches!(refused, Err(LedgerError::Unavailable(_))));
    let mut tail = bus.ledger.tail(1).await.unwrap();
    let _server = NatsServer::start_at(port).await;
    within("the streams", jetstream::ensure_streams(&client, &options))
        .await
        .unwrap();
    up(&handle).await;
    assert_eq!(write(&bus, &begun(&t, &s), 0).await, Some(1));
    assert_eq!(next(&mut tail).await.seq, 1);
    handle.close().await;

    let wrong = jetstream::connect(JetStreamOptions::new("nats://no port:x", "a@b")).await;
    assert!(matches!(wrong, Err(LedgerError::Misconfigured(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_this_machine_is_the_clock_of_the_log() {
    let fixture = open().await;
    let bus = &fixture.left;
    let (t, s) = (tenant("acme"), session("s"));
    assert!(!bus.ledger.clock_is_own());
    let last = write(bus, &begun(&t, &s), 0).await.unwrap();
    tail_until(bus, 1, last).await;
    assert!(
        bus.ledger.clock_offset_ms().abs() < 1000,
        "one machine, one clock"
    );
    // What an idle process learns the log's clock from.
    let info = fixture
        .client
        .request("$JS.API.STREAM.INFO.ASKBUS_LOG", "".into());
    let info: serde_json::Value = serde_json::from_slice(&info.await.unwrap().payload).unwrap();
    let format = &time::format_description::well_known::Rfc3339;
    let told = time::OffsetDateTime::parse(info["ts"].as_str().unwrap(), format).unwrap();
    let difference = time::OffsetDateTime::now_utc() - told;
    assert!(
        difference.abs() < time::Duration::seconds(1),
        "{difference}"
    );
    fixture.close().await;
}
