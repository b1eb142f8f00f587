//! Which asking process a call belongs to. Over standard input there is one; over HTTP there is one for
//! each conversation a client tells of, and one for each call that tells of none.

use crate::asker::{Asker, AskerInfo, AskerOptions, Outcomes, Token, Waiting};
use askbus_domain::TenantId;
use askbus_wire::client::Target;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;

/// How long a question is kept for a client that was told to come back for it.
pub(super) const RESUME_LEASE: Duration = Duration::from_mins(10);
/// How long a conversation may be silent before its turn is ended.
const IDLE: Duration = Duration::from_mins(15);

/// What all asking processes of a server have in common.
pub(super) struct Template {
    pub(super) target: Target,
    pub(super) token: Token,
    /// Connections that they share; none: one of its own for each.
    pub(super) channels: Vec<Channel>,
    pub(super) profile: Option<String>,
    pub(super) info: AskerInfo,
    pub(super) patience: Duration,
}

/// Whose credential a call came with.
#[derive(Debug, Clone)]
pub(crate) struct Bearer {
    /// Its tenant.
    pub(crate) tenant: TenantId,
    /// Whom it names.
    pub(crate) subject: String,
    /// The token itself.
    pub(crate) token: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    owner: String,
    asker_id: String,
}

struct Entry {
    asker: Arc<Asker>,
    /// Calls that are open.
    live: usize,
    /// Whether a client may come back under its name.
    named: bool,
    /// Counts uses.
    uses: u64,
}

/// All of a server.
pub(super) struct Callers {
    own: Option<Arc<Asker>>,
    template: Template,
    /// How long a question outlives the connection of its call.
    lease: Duration,
    entries: Mutex<HashMap<Key, Entry>>,
    /// Whose turn it is among the shared connections.
    turn: AtomicUsize,
    tasks: TaskTracker,
    closing: CancellationToken,
}

/// One call's asking process; when dropped, the call is over.
pub(super) struct Caller {
    callers: Arc<Callers>,
    asker: Arc<Asker>,
    key: Option<Key>,
}

impl Caller {
    pub(super) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Keeps a question whose call was handed back.
    pub(super) fn hand_back(&self, waiting: Waiting) {
        self.asker.park(waiting, RESUME_LEASE);
    }

    /// Keeps a question whose call lost its connection, as long as a lost process's. With nobody else
    /// there, the process counts as lost.
    pub(super) async fn lose(&self, waiting: Waiting) {
        let alone = match &self.key {
            Some(key) => {
                let entries = self.callers.lock();
                entries.get(key).is_some_and(|entry| entry.live == 1) && !self.asker.parks()
            }
            None => false,
        };
        self.asker.park(waiting, self.callers.lease);
        if alone {
            self.asker.hush().await;
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.callers.over(key);
        }
    }
}

impl Callers {
    /// With one asking process, whose client speaks over lines.
    pub(super) fn one(own: Arc<Asker>, template: Template) -> Arc<Self> {
        Arc::new(Self::new(Some(own), template, RESUME_LEASE))
    }

    /// With as many as calls and conversations come.
    pub(super) fn many(template: Template, lease: Duration) -> Arc<Self> {
        Arc::new(Self::new(None, template, lease))
    }

    fn new(own: Option<Arc<Asker>>, template: Template, lease: Duration) -> Self {
        Self {
            own,
            template,
            lease,
            entries: Mutex::default(),
            turn: AtomicUsize::default(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The asking process of a call. `marker` is what the client calls its conversation.
    pub(super) fn of_call(
        self: &Arc<Self>,
        bearer: Option<&Bearer>,
        marker: Option<&str>,
    ) -> Caller {
        if let Some(own) = &self.own {
            return self.caller(Arc::clone(own), None);
        }
        let asker_id = match marker {
            Some(marker) => named(bearer, marker),
            None => format!("http-{}", uuid::Uuid::new_v4().simple()),
        };
        self.entry(bearer, asker_id, marker.is_some())
    }

    /// The asking process that holds this question, if it is one of this server's.
    pub(super) fn holding(
        self: &Arc<Self>,
        bearer: Option<&Bearer>,
        clarify_id: &str,
    ) -> Option<Caller> {
        if let Some(own) = &self.own
            && own.has_parked(clarify_id)
        {
            return Some(self.caller(Arc::clone(own), None));
        }
        let owner = owner(bearer);
        let key = {
            let entries = self.lock();
            let holds = |(key, entry): &(&Key, &Entry)| {
                key.owner == owner && entry.asker.has_parked(clarify_id)
            };
            entries.iter().find(holds).map(|(key, _)| key.clone())
        };
        key.map(|key| self.entry(bearer, key.asker_id, true))
    }

    /// One that takes up the name of an asking process elsewhere, and keeps what that one asked.
    pub(super) fn adopt(self: &Arc<Self>, bearer: Option<&Bearer>, asker_id: String) -> Caller {
        self.entry(bearer, asker_id, true)
    }

    fn entry(
        self: &Arc<Self>,
        bearer: Option<&Bearer>,
        asker_id: String,
        is_named: bool,
    ) -> Caller {
        let key = Key {
            owner: owner(bearer),
            asker_id: asker_id.clone(),
        };
        let mut entries = self.lock();
        let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
            asker: Arc::new(Asker::new(self.options(bearer, asker_id))),
            live: 0,
            named: is_named,
            uses: 0,
        });
        entry.live += 1;
        entry.uses += 1;
        let asker = Arc::clone(&entry.asker);
        drop(entries);
        self.caller(asker, Some(key))
    }

    fn caller(self: &Arc<Self>, asker: Arc<Asker>, key: Option<Key>) -> Caller {
        Caller {
            callers: Arc::clone(self),
            asker,
            key,
        }
    }

    fn options(&self, bearer: Option<&Bearer>, asker_id: String) -> AskerOptions {
        let template = &self.template;
        let token = match bearer {
            Some(bearer) => Token::Value(bearer.token.clone()),
            None => template.token.clone(),
        };
        AskerOptions {
            target: template.target.clone(),
            token,
            profile: template.profile.clone(),
            session: None,
            context: None,
            info: template.info.clone(),
            patience: template.patience,
            outcomes: Outcomes::Attached,
            asker_id: Some(asker_id),
            channel: self.channel(),
        }
    }

    /// The next of the shared connections.
    fn channel(&self) -> Option<Channel> {
        let channels = &self.template.channels;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        channels.get(turn.checked_rem(channels.len())?).cloned()
    }

    /// A call of this asking process is over; after the last one, it goes.
    fn over(self: &Arc<Self>, key: Key) {
        let (uses, at_once) = {
            let mut entries = self.lock();
            let Some(entry) = entries.get_mut(&key) else {
                return;
            };
            entry.live = entry.live.saturating_sub(1);
            if entry.live > 0 {
                return;
            }
            (entry.uses, !entry.named && !entry.asker.parks())
        };
        if self.closing.is_cancelled() {
            return;
        }
        let callers = Arc::clone(self);
        self.tasks.spawn(async move {
            if !at_once {
                tokio::select! {
                    () = callers.closing.cancelled() => return,
                    () = tokio::time::sleep(IDLE) => {}
                }
            }
            let unused = {
                let mut entries = callers.lock();
                let idle = |entry: &Entry| entry.live == 0 && entry.uses == uses;
                let unused = entries.get(&key).is_some_and(idle);
                unused.then(|| entries.remove(&key)).flatten()
            };
            if let Some(entry) = unused {
                entry.asker.close().await;
            }
        });
    }

    /// Lets go of all of them. What they asked is neither settled nor withdrawn.
    pub(super) async fn leave(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.lock().clear();
    }
}

fn owner(bearer: Option<&Bearer>) -> String {
    bearer.map_or_else(String::new, |b| format!("{}\n{}", b.tenant, b.subject))
}

/// The same for the same conversation, on every replica.
fn named(bearer: Option<&Bearer>, marker: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(owner(bearer));
    hash.update([0]);
    hash.update(marker);
    let mut name = "http-".to_owned();
    for byte in hash.finalize().iter().take(16) {
        // A string takes everything.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
