//! The permissions of `deploy/nats` on a real server: each service can do its work and nothing else,
//! and is told at once what it may not do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[allow(dead_code, unused_imports, unused_macros)]
mod conformance;
#[allow(dead_code)]
mod support;

use askbus_ledger::jetstream::{self, JetStreamHandle, JetStreamOptions};
use askbus_ledger::{AppendError, Bus, LedgerError, append};
use askbus_wire::messages::{Heartbeat, InboxReply};
use async_nats::service::ServiceExt as _;
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, RequestErrorKind};
use conformance::samples::{answer, begun, clarification, draft, held, requested, session, tenant};
use conformance::{drain, next, reached, tail_until, within, write};
use futures::StreamExt as _;
use std::path::Path;
use std::time::Duration;
use support::NatsServer;
use tokio::sync::mpsc;

const USERS: [&str; 4] = ["session-binding", "gateway", "mcp-adapter", "observer"];

/// The files of `deploy/nats` with pass phrases, in a folder of their own.
fn configuration() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nats");
    for name in ["nats.conf", "permissions.conf"] {
        let text = std::fs::read_to_string(deploy.join(name)).unwrap();
        // Port and store are the test's own; its monitoring port is nobody's business.
        let text = text
            .replace("http: \"127.0.0.1:8222\"", "")
            .replace("store_dir: /data", "");
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let lines = USERS.map(|user| {
        let name = user.to_uppercase().replace('-', "_");
        format!("PASS_{name}: \"{user}-pass\"\n")
    });
    std::fs::create_dir(dir.path().join("users")).unwrap();
    std::fs::write(dir.path().join("users/users.conf"), lines.concat()).unwrap();
    dir
}

async fn server() -> NatsServer {
    NatsServer::configured(configuration(), "nats.conf").await
}

struct Service {
    bus: Bus,
    client: Client,
    handle: JetStreamHandle,
    options: JetStreamOptions,
}

/// A service as the program connects it.
async fn service(server: &NatsServer, user: &str) -> Service {
    let options = JetStreamOptions {
        user: Some(user.to_owned()),
        password: Some(format!("{user}-pass")),
        log_max_bytes: 64 << 20,
        inbox_max_bytes: 16 << 20,
        drafts_max_bytes: 4 << 20,
        ..JetStreamOptions::new(server.url(), format!("{user}@test"))
    };
    let (bus, client, handle) = jetstream::connect(options.clone()).await.unwrap();
    let mut connected = handle.connected();
    within("a connection", connected.wait_for(|up| *up))
        .await
        .unwrap();
    Service {
        bus,
        client,
        handle,
        options,
    }
}

async fn session_binding(server: &NatsServer) -> Service {
    let service = service(server, "session-binding").await;
    within(
        "the streams",
        jetstream::ensure_streams(&service.client, &service.options),
    )
    .await
    .unwrap();
    service
}

/// A connection that hears what the server refuses.
async fn raw(server: &NatsServer, user: &str) -> (Client, mpsc::Receiver<String>) {
    let (told, refusals) = mpsc::channel(64);
    let client = ConnectOptions::with_user_and_password(user.to_owned(), format!("{user}-pass"))
        .custom_inbox_prefix(format!("_INBOX.{user}"))
        .event_callback(move |event| {
            if let Event::ServerError(error) = event {
                told.try_send(error.to_string()).unwrap();
            }
            std::future::ready(())
        })
        .connect(server.url())
        .await
        .unwrap();
    (client, refusals)
}

#[tokio::test(flavor = "multi_thread")]
async fn services_can_do_their_work() {
    let server = server().await;
    let binding = session_binding(&server).await;
    let gateway = service(&server, "gateway").await;
    let (adapter, mut adapter_refused) = raw(&server, "mcp-adapter").await;
    let (observer, mut observer_refused) = raw(&server, "observer").await;
    let (t, s, id) = (tenant("acme"), session("s"), clarification());

    let mut seen_by_adapter = adapter.subscribe("clarify.*.*.*").await.unwrap();
    let mut seen_by_observer = observer.subscribe("clarify.>").await.unwrap();
    let mut heard = reached!(gateway.bus.alive.watch());
    adapter.flush().await.unwrap();
    observer.flush().await.unwrap();

    // The log: written by one, read by both.
    let first = write(&binding.bus, &begun(&t, &s), 0).await.unwrap();
    let asked = write(&binding.bus, &requested(&t, &s, id), first)
        .await
        .unwrap();
    assert_eq!(tail_until(&gateway.bus, 1, asked).await.len(), 2);
    let mut last = asked;
    for _ in 0..12 {
        last = write(&binding.bus, &held(&t, &s), last).await.unwrap();
    }
    for reader in [&binding.bus, &gateway.bus] {
        assert_eq!(reached!(reader.ledger.last_seq()), last);
        assert_eq!(reached!(reader.ledger.read_session(&t, &s, 0)).len(), 14);
        assert!(reached!(reader.ledger.find_requested(&t, id)).is_some());
    }
    let seen = within("the event", seen_by_adapter.next()).await.unwrap();
    assert_eq!(seen.subject.as_str(), "clarify.begun.acme.s");

    // The inbox: submitted by one, taken by the other, and the verdict comes back.
    let submission = answer(&t, &s, id, "ana", "a1");
    let submitted = reached!(gateway.bus.inbox.submit(submission.clone()));
    assert!(reached!(binding.bus.inbox.oldest(&t, &s, id)).is_some());
    let mut taker = reached!(binding.bus.inbox.take(&t));
    let delivery = next(&mut taker).await;
    delivery.reply.send(&InboxReply::Held).await;
    delivery.acker.ack().await.unwrap();
    assert_eq!(
        within("the verdict", submitted.reply).await.unwrap(),
        InboxReply::Held
    );
    drain(&binding.bus, &mut taker, &submission).await;

    // Drafts and heartbeats.
    let person = askbus_domain::PersonId::new("ana").unwrap();
    reached!(gateway.bus.drafts.put(&t, &s, id, &person, &draft("P")));
    assert_eq!(reached!(gateway.bus.drafts.list(&t, &s, id)).len(), 1);
    let placed = reached!(gateway.bus.positions.put(&t, "channel", 0, b"one"));
    let position = reached!(gateway.bus.positions.get(&t, "channel")).unwrap();
    assert_eq!(Some(position.revision), placed);
    for (who, instance) in [(&binding, "session-binding"), (&gateway, "gateway")] {
        let heartbeat = Heartbeat {
            service: instance.to_owned(),
            instance: "one".to_owned(),
            ..Heartbeat::default()
        };
        reached!(who.bus.alive.publish(&heartbeat));
        assert_eq!(next(&mut heard).await.service, instance);
    }
    adapter
        .publish("askbus.alive.mcp-adapter.one", "{}".into())
        .await
        .unwrap();

    // The observer sees answers too, and what runs.
    let sent = within("the answer", async {
        loop {
            let message = seen_by_observer.next().await.unwrap();
            if message.subject.starts_with("clarify.respond.") {
                return message;
            }
        }
    });
    sent.await;
    let _running = gateway
        .client
        .service_builder()
        .start("askbus-gateway", "1.0.0")
        .await
        .unwrap();
    gateway.client.flush().await.unwrap();
    // The server may read the question before the other connection's subscription.
    let info = within("who runs", async {
        loop {
            match observer.request("$SRV.PING", "".into()).await {
                Ok(message) => return message,
                Err(error) => assert_eq!(error.kind(), RequestErrorKind::NoResponders),
            }
        }
    });
    assert!(String::from_utf8_lossy(&info.await.payload).contains("askbus-gateway"));
    let stream = observer.request("$JS.API.STREAM.INFO.ASKBUS_LOG", "".into());
    assert!(
        String::from_utf8_lossy(&within("the log", stream).await.unwrap().payload)
            .contains("ASKBUS_LOG")
    );

    adapter.flush().await.unwrap();
    observer.flush().await.unwrap();
    assert_eq!(adapter_refused.try_recv().ok(), None);
    assert_eq!(observer_refused.try_recv().ok(), None);
    gateway.handle.close().await;
    binding.handle.close().await;
}

#[track_caller]
fn names_what_to_mend(error: &LedgerError, user: &str, subject: &str) {
    let text = error.to_string();
    assert!(matches!(error, LedgerError::Misconfigured(_)), "{text}");
    for part in [
        &format!("user {user} may not publish to {subject}"),
        "deploy/nats/permissions.conf",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// Half the time after which an unanswered call would have given up by itself.
const AT_ONCE: Duration = Duration::from_millis(2_500);

async fn at_once<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(AT_ONCE, call)
        .await
        .expect("refused at once, not after a time-out")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_session_binding_writes_the_log() {
    let server = server().await;
    let binding = session_binding(&server).await;
    let (t, s) = (tenant("acme"), session("s"));
    for user in ["gateway", "mcp-adapter", "observer"] {
        let other = service(&server, user).await;
        let refused = at_once(other.bus.ledger.append_once(&begun(&t, &s), 0, None)).await;
        let Err(AppendError::Ledger(error)) = refused else {
            panic!("{user}: {refused:?}")
        };
        names_what_to_mend(&error, user, "askbus.log.begun.acme.s");
        let commit = begun(&t, &s);
        let certain = append(other.bus.ledger.as_ref(), &commit, 0, None);
        assert!(within("certainty", certain).await.is_err());
        other.handle.close().await;
    }
    assert_eq!(reached!(binding.bus.ledger.last_seq()), 0);
    binding.handle.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_gateway_submits_and_drafts() {
    let server = server().await;
    let binding = session_binding(&server).await;
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let person = askbus_domain::PersonId::new("ana").unwrap();
    for user in ["session-binding", "mcp-adapter", "observer"] {
        let other = service(&server, user).await;
        let submitted = at_once(other.bus.inbox.submit(answer(&t, &s, id, "ana", "a1"))).await;
        names_what_to_mend(
            &submitted.unwrap_err(),
            user,
            &format!("clarify.respond.acme.s.{id}"),
        );
        let put = at_once(other.bus.drafts.put(&t, &s, id, &person, &draft("P"))).await;
        names_what_to_mend(
            &put.unwrap_err(),
            user,
            &format!("askbus.draft.acme.s.{id}.ana.tab"),
        );
        other.handle.close().await;
    }
    assert!(reached!(binding.bus.inbox.oldest(&t, &s, id)).is_none());
    binding.handle.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_reads_what_is_not_for_them() {
    let server = server().await;
    let binding = session_binding(&server).await;
    let (t, s, id) = (tenant("acme"), session("s"), clarification());
    let gateway = service(&server, "gateway").await;
    let adapter = service(&server, "mcp-adapter").await;
    let refused = at_once(gateway.bus.inbox.oldest(&t, &s, id))
        .await
        .unwrap_err();
    names_what_to_mend(&refused, "gateway", "$JS.API.STREAM.MSG.GET.ASKBUS_INBOX");
    let refused = at_once(adapter.bus.drafts.list(&t, &s, id))
        .await
        .unwrap_err();
    names_what_to_mend(
        &refused,
        "mcp-adapter",
        "$JS.API.STREAM.MSG.GET.ASKBUS_DRAFTS",
    );
    let refused = at_once(adapter.bus.ledger.read_session(&t, &s, 0))
        .await
        .unwrap_err();
    names_what_to_mend(&refused, "mcp-adapter", "$JS.API.STREAM.MSG.GET.ASKBUS_LOG");
    for service in [gateway, adapter, binding] {
        service.handle.close().await;
    }
}

/// What each user must not be able to publish to.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "session-binding",
        &[
            "clarify.resolved.t.s",
            "clarify.respond.t.s.i",
            "askbus.draft.t.s.i.p.x",
            "askbus.position.t.n",
            "askbus.alive.gateway.x",
            "_INBOX.observer.x",
            "$JS.API.STREAM.DELETE.ASKBUS_LOG",
            "$JS.API.STREAM.PURGE.ASKBUS_LOG",
            "$JS.API.STREAM.UPDATE.ASKBUS_LOG",
            "$JS.API.STREAM.MSG.DELETE.ASKBUS_LOG",
            "$JS.API.STREAM.MSG.GET.ASKBUS_DRAFTS",
            "$JS.API.STREAM.MSG.GET.ASKBUS_POSITIONS",
            "$JS.API.STREAM.CREATE.OTHER",
            "$JS.API.CONSUMER.CREATE.ASKBUS_INBOX.all.clarify.>",
        ],
    ),
    (
        "gateway",
        &[
            "clarify.resolved.t.s",
            "askbus.alive.session-binding.x",
            "_INBOX.session-binding.x",
            "$JS.API.STREAM.CREATE.ASKBUS_LOG",
            "$JS.API.STREAM.DELETE.ASKBUS_LOG",
            "$JS.API.STREAM.MSG.DELETE.ASKBUS_LOG",
            "$JS.API.CONSUMER.CREATE.ASKBUS_INBOX",
            "$JS.API.CONSUMER.CREATE.ASKBUS_DRAFTS",
            "$JS.API.CONSUMER.CREATE.ASKBUS_POSITIONS",
            "$JS.API.CONSUMER.MSG.NEXT.ASKBUS_INBOX.inbox-t",
            "$JS.ACK.ASKBUS_INBOX.inbox-t.1.1.1.1.0",
        ],
    ),
    (
        "mcp-adapter",
        &[
            "clarify.requested.t.s",
            "askbus.position.t.n",
            "askbus.alive.gateway.x",
            "$JS.API.STREAM.INFO.ASKBUS_LOG",
            "$JS.API.CONSUMER.CREATE.ASKBUS_LOG",
            "$SRV.PING",
        ],
    ),
    (
        "observer",
        &[
            "askbus.alive.gateway.x",
            "$JS.API.STREAM.MSG.GET.ASKBUS_LOG",
            "$JS.API.CONSUMER.CREATE.ASKBUS_LOG",
            "$JS.API.STREAM.DELETE.ASKBUS_LOG",
        ],
    ),
];

/// What each user must not be able to hear.
const UNHEARD: &[(&str, &[&str])] = &[
    (
        "session-binding",
        &["clarify.>", "_INBOX.>", "_INBOX.gateway.>", "askbus.log.>"],
    ),
    (
        "gateway",
        &[
            "clarify.>",
            "clarify.respond.>",
            "_INBOX.>",
            "askbus.log.>",
            "askbus.draft.>",
        ],
    ),
    (
        "mcp-adapter",
        &[
            "clarify.>",
            "clarify.respond.>",
            "askbus.draft.>",
            "_INBOX.gateway.>",
            "askbus.log.>",
        ],
    ),
    (
        "observer",
        &[
            "askbus.draft.>",
            "askbus.log.>",
            "_INBOX.>",
            "askbus.alive.>",
            ">",
        ],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn everything_else_is_refused() {
    let server = server().await;
    session_binding(&server).await.handle.close().await;
    for (user, subjects) in FORBIDDEN {
        let (client, mut refusals) = raw(&server, user).await;
        for subject in *subjects {
            client.publish(*subject, "{}".into()).await.unwrap();
            let told = next(&mut refusals).await;
            assert!(
                told.ends_with(&format!(
                    "Permissions Violation for Publish to \"{subject}\""
                )),
                "{user}: {told}"
            );
        }
    }
    for (user, subjects) in UNHEARD {
        let (client, mut refusals) = raw(&server, user).await;
        for subject in *subjects {
            let _unheard = client.subscribe(*subject).await.unwrap();
            let told = next(&mut refusals).await;
            assert!(
                told.contains(&format!(
                    "Permissions Violation for Subscription to \"{subject}\""
                )),
                "{user}: {told}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_comes_in_without_a_pass_phrase() {
    let server = server().await;
    let wrong = ConnectOptions::with_user_and_password("gateway".into(), "guess".into());
    for attempt in [wrong, ConnectOptions::new()] {
        let refused = attempt.connect(server.url()).await.map(drop).unwrap_err();
        assert_eq!(
            refused.kind(),
            ConnectErrorKind::AuthorizationViolation,
            "{refused}"
        );
    }
}
