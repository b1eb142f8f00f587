//! Several questions answered one after the other in a chat: what its author was told is kept is not
//! overwritten by what is said in the same moment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod world;

use askbus_credential::Role;
use askbus_domain::{ClarifyId, Dialect, PersonId, SessionId, TenantId};
use askbus_gateway::ChannelOptions;
use askbus_ledger::{Drafts, LedgerError, StoredDraft};
use askbus_testkit::Hook;
use askbus_wire::messages::{Draft, InboxBody, InboxMessage};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Barrier;
use world::{BOUND, Setup, World, chats, now};

/// Drafts of which the next readers, so many as are to meet, go on together: each has read before one
/// of them writes.
struct Meeting {
    inner: Arc<dyn Drafts>,
    to_meet: Arc<AtomicUsize>,
    guarded: Arc<Mutex<Guarded>>,
    meeting: Barrier,
}

/// What becomes of a guarded draft.
#[derive(Debug, Clone, Copy, Default)]
enum Guarded {
    #[default]
    Saved,
    /// Somebody else always saves first.
    Overtaken,
    /// It is saved, and nobody says so.
    Unsaid,
}

#[async_trait]
impl Drafts for Meeting {
    async fn put(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
    ) -> Result<(), LedgerError> {
        self.inner.put(tenant, session, id, person, draft).await
    }

    async fn put_if(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
        person: &PersonId,
        draft: &Draft,
        expected: u64,
    ) -> Result<Option<u64>, LedgerError> {
        let now = *self.guarded.lock().unwrap();
        let put = self
            .inner
            .put_if(tenant, session, id, person, draft, expected);
        match now {
            Guarded::Saved => put.await,
            Guarded::Overtaken => Ok(None),
            Guarded::Unsaid => {
                put.await?;
                Err(LedgerError::InDoubt("nobody says so".to_owned()))
            }
        }
    }

    async fn list(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        id: ClarifyId,
    ) -> Result<Vec<StoredDraft>, LedgerError> {
        let listed = self.inner.list(tenant, session, id).await;
        let order = Ordering::SeqCst;
        let left = |n: usize| n.checked_sub(1);
        if self.to_meet.fetch_update(order, order, left).is_ok() {
            self.meeting.wait().await;
        }
        listed
    }
}

/// A gateway whose webhook is that of ann, and of ben.
struct Chat {
    world: World,
    hook: Hook,
    to_meet: Arc<AtomicUsize>,
    guarded: Arc<Mutex<Guarded>>,
    session: &'static str,
    id: ClarifyId,
}

impl Chat {
    /// Three questions wait in it.
    async fn start() -> Self {
        Self::with(true).await
    }

    /// The same, and whether what is sent is judged.
    async fn with(judge: bool) -> Self {
        let hook = Hook::start().await.unwrap();
        let (to_meet, guarded) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<_>>::default());
        let (meet, guard) = (Arc::clone(&to_meet), Arc::clone(&guarded));
        let setup = Setup {
            judge,
            channels: vec![channel(&hook)],
            drafts: Some(Box::new(|inner| {
                Arc::new(Meeting {
                    inner,
                    to_meet: meet,
                    guarded: guard,
                    meeting: Barrier::new(2),
                })
            })),
            ..Setup::default()
        };
        let world = World::with(setup).await;
        let session = "s";
        world.begin("local", session, "default").await;
        let questions = json!({"questions": [
            {"question": "Where?", "options": ["staging", "prod"]},
            {"question": "When?", "options": ["now", "later"]},
            {"question": "Name?"}]});
        let asked = world.ask_at(("local", session), Dialect::Ask, questions, now());
        let id = asked.await;
        hook.told("question.asked", "Where?").await.unwrap();
        Self {
            world,
            hook,
            to_meet,
            guarded,
            session,
            id,
        }
    }

    async fn say(&self, from: &str, text: &str) -> Value {
        let body = json!({"text": text, "from": from});
        let id = format!("m-{}", uuid::Uuid::new_v4());
        let gateway = self.world.url("");
        let said = self.hook.reply(&gateway, "team", &id, &body);
        let (status, said) = said.await.unwrap();
        assert_eq!(status, 200, "{said}");
        said
    }

    /// The same by two in the same moment.
    async fn say_both(&self, one: (&str, &str), other: (&str, &str)) -> [Value; 2] {
        self.to_meet.store(2, Ordering::SeqCst);
        let (one, other) = tokio::join!(self.say(one.0, one.1), self.say(other.0, other.1));
        [one, other]
    }

    fn guarded(&self, guarded: Guarded) {
        *self.guarded.lock().unwrap() = guarded;
    }

    /// What the clarification came to: the options and words of its answers.
    async fn outcome(&self) -> Vec<String> {
        let (state, _) = self.world.session("local", self.session).await;
        let clarification = state.clarification(self.id).unwrap();
        let outcome = clarification.outcome.as_ref().expect("it is over");
        let answers = serde_json::to_value(&outcome.answers).unwrap();
        let said = |a: &Value| {
            let own = a["text"].as_str();
            let chosen = a["options"][0]["label"].as_str();
            own.or(chosen).unwrap_or_default().to_owned()
        };
        answers.as_array().unwrap().iter().map(said).collect()
    }
}

fn channel(hook: &Hook) -> ChannelOptions {
    let people = ["ann", "ben"].map(|name| chats::person(Some(name), name));
    chats::webhook(hook, people.into())
}

fn verdict(said: &Value) -> &str {
    said["verdict"].as_str().unwrap_or_default()
}

// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn two_messages_of_one_moment_both_count() {
    let chat = Chat::start().await;
    let said = chat.say("ann", "1").await;
    assert_eq!(verdict(&said), "kept", "{said}");
    // The first question is answered anew, and the second one for the first time.
    let named = format!("#{}.1 2", tag(&said));
    let both = chat.say_both(("ann", &named), ("ann", "2")).await;
    assert_eq!(both.each_ref().map(verdict), ["kept", "kept"], "{both:?}");
    let said = chat.say("ann", "release-7").await;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(chat.outcome().await, ["prod", "later", "release-7"]);
    chat.world.end().await;
}

/// A second hold would be the same as the first: a bus that stores it once has nobody judge it.
// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn the_countdown_is_stopped_by_the_first_step_alone() {
    let chat = Chat::start().await;
    let ann = chat.world.person("ann");
    let mut socket = chat.world.socket("/ws", &ann).await;
    let said = chat.say("ann", "1").await;
    assert_eq!(verdict(&said), "kept", "{said}");
    socket.until(|o| o["event"] == "clarify.held").await;
    let said = chat.say("ann", "1").await;
    assert_eq!(verdict(&said), "kept", "{said}");
    let operator = chat
        .world
        .token(Role::Operator, "ops", "local", &["default"]);
    let figures = chat.world.http.get(chat.world.url("/metrics"));
    let figures = figures.bearer_auth(operator).send().await.unwrap();
    let figures = figures.text().await.unwrap();
    let held = "askbus_gateway_sent_total{tenant=\"local\",verdict=\"held\"} 1";
    assert!(figures.lines().any(|l| l == held), "{figures}");
    chat.world.end().await;
}

// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn two_people_of_one_moment_answer_each_for_themselves() {
    let chat = Chat::start().await;
    for (ann, ben) in [("1", "2"), ("2", "1")] {
        let both = chat.say_both(("ann", ann), ("ben", ben)).await;
        assert_eq!(both.each_ref().map(verdict), ["kept", "kept"], "{both:?}");
    }
    let said = chat.say("ben", "release-8").await;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(chat.outcome().await, ["prod", "now", "release-8"]);
    chat.world.end().await;
}

/// Whoever is told that a step is kept finds it in what is sent, and whoever's is not in it is told so.
// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_while_the_last_answer_is_sent_is_part_of_it() {
    for _ in 0..4 {
        let chat = Chat::start().await;
        let said = chat.say("ann", "1").await;
        chat.say("ann", "1").await;
        let anew = format!("#{}.1 2", tag(&said));
        let [last, anew] = chat.say_both(("ann", "release-7"), ("ann", &anew)).await;
        assert_eq!(verdict(&last), "settled", "{last}");
        let first = match verdict(&anew) {
            "kept" => "prod",
            "conflict" => "staging",
            other => panic!("{other}: {anew}"),
        };
        assert_eq!(chat.outcome().await, [first, "now", "release-7"]);
        chat.world.end().await;
    }
}

// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_added_to_what_is_sent_and_not_judged_yet() {
    let chat = Chat::with(false).await;
    let said = chat.say("ann", "1").await;
    chat.say("ann", "1").await;
    let anew = format!("#{}.1 2", tag(&said));
    let (last, anew) = tokio::join!(chat.say("ann", "release-7"), async {
        until_sent(&chat).await;
        chat.say("ann", &anew).await
    });
    assert_eq!(verdict(&last), "sent", "{last}");
    assert_eq!(verdict(&anew), "not_sent", "{anew}");
    assert!(
        anew["messages"].to_string().contains("send it again"),
        "{anew}"
    );
    chat.world.end().await;
}

/// Waits until the inbox holds an answer to the clarification.
async fn until_sent(chat: &Chat) {
    let (tenant, session) = (
        TenantId::new("local").unwrap(),
        SessionId::new(chat.session).unwrap(),
    );
    let mut taken = chat.world.bus.inbox.take(&tenant).await.unwrap();
    let sent = async {
        loop {
            let delivery = taken.recv().await.unwrap();
            let message: InboxMessage = serde_json::from_slice(&delivery.payload).unwrap();
            if delivery.session == session && matches!(message.body, InboxBody::Respond(_)) {
                return;
            }
        }
    };
    tokio::time::timeout(BOUND, sent).await.unwrap();
}

/// A gateway died between saying that it sends an answer and sending it: its person goes on after a
/// while.
// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn what_was_to_be_sent_and_never_was_is_open_again() {
    let chat = Chat::start().await;
    chat.say("ann", "1").await;
    let (tenant, session) = (
        TenantId::new("local").unwrap(),
        SessionId::new(chat.session).unwrap(),
    );
    let drafts = &chat.world.bus.drafts;
    let kept = drafts.list(&tenant, &session, chat.id).await.unwrap();
    let [kept] = <[StoredDraft; 1]>::try_from(kept).unwrap();
    let sending = Draft {
        sent_by: Some("a message that nobody sends any more".into()),
        ..kept.draft
    };
    let put = drafts.put(&tenant, &session, chat.id, &kept.person, &sending);
    put.await.unwrap();
    let (mut refused, mut said) = (0, chat.say("ann", "2").await);
    let going_on = async {
        while verdict(&said) == "not_sent" {
            refused += 1;
            said = chat.say("ann", "2").await;
        }
    };
    tokio::time::timeout(BOUND, going_on).await.unwrap();
    assert_eq!(verdict(&said), "kept", "{said}");
    assert!(refused > 0, "nothing is added to what may be on its way");
    let said = chat.say("ann", "release-7").await;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(chat.outcome().await, ["staging", "later", "release-7"]);
    chat.world.end().await;
}

// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn who_is_overtaken_again_and_again_is_told_that_it_was_not_taken() {
    let chat = Chat::start().await;
    chat.guarded(Guarded::Overtaken);
    let said = chat.say("ann", "2").await;
    assert_eq!(verdict(&said), "not_sent", "{said}");
    let told = said["messages"].to_string();
    assert!(told.contains("was not taken; send it again"), "{told}");
    chat.guarded(Guarded::Saved);
    let said = chat.say("ann", "1").await;
    assert_eq!(verdict(&said), "kept", "{said}");
    let told = said["messages"].to_string();
    assert!(
        told.contains("Noted, 1 of 3") && told.contains("When?"),
        "{told}"
    );
    chat.world.end().await;
}

/// Nobody says that it is kept: it is looked up, and counts once.
// contract: A2 N4
#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_without_a_word_is_found() {
    let chat = Chat::start().await;
    chat.guarded(Guarded::Unsaid);
    let said = chat.say("ann", "2").await;
    assert_eq!(verdict(&said), "kept", "{said}");
    let told = said["messages"].to_string();
    assert!(
        told.contains("Noted, 1 of 3") && told.contains("When?"),
        "{told}"
    );
    chat.guarded(Guarded::Saved);
    chat.say("ann", "1").await;
    let said = chat.say("ann", "release-7").await;
    assert_eq!(verdict(&said), "settled", "{said}");
    assert_eq!(chat.outcome().await, ["prod", "now", "release-7"]);
    chat.world.end().await;
}

/// The name under which a question was put.
fn tag(said: &Value) -> String {
    let messages = said["messages"].as_array().unwrap();
    let mut text = messages.iter().filter_map(Value::as_str);
    let found = text.find_map(|t| t.split_once('#')).unwrap().1;
    let end = found.find(|c: char| !c.is_ascii_alphanumeric());
    found[..end.unwrap_or(found.len())].to_owned()
}
