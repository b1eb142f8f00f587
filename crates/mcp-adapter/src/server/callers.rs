//! Which asking process a call belongs to. Over standard input there is one; over HTTP there is one for
//! each conversation a client tells of, and one for each call that tells of none.

use crate::asker::{Asker, AskerInfo, AskerOptions, Outcomes, Token, Unclaimed, Waiting};
use crate::metrics::Figures;
use askbus_domain::TenantId;
use askbus_wire::client::Target;
use askbus_wire::error::{ErrorCode, WireError};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;

/// How long a question is kept for a client that was told to come back for it.
pub(super) const RESUME_LEASE: Duration = Duration::from_mins(10);
/// How long a conversation may be silent before its process counts as gone: whatever it parked has
/// been kept for its time by then.
const IDLE: Duration = Duration::from_secs(10 * 60 + 5);
/// Calls of one caller that may be open at a time.
const MAX_OPEN: usize = 2_000;

/// What all asking processes of a server have in common.
pub(super) struct Template {
    pub(super) target: Target,
    pub(super) token: Token,
    /// Connections that they share; none: one of its own for each.
    pub(super) channels: Vec<Channel>,
    pub(super) profile: Option<String>,
    pub(super) info: AskerInfo,
    pub(super) patience: Duration,
    /// Where they are counted together; none: each by itself.
    pub(super) figures: Option<Arc<Figures>>,
}

/// Whose credential a call came with.
#[derive(Clone)]
pub(crate) struct Bearer {
    /// Its tenant.
    pub(crate) tenant: TenantId,
    /// Who it is and what it may: everything by which two callers differ.
    pub(crate) holder: String,
    /// The token itself.
    pub(crate) token: String,
}

impl Bearer {
    /// Whose calls belong together.
    pub(crate) fn owner(&self) -> String {
        format!("{}\n{}", self.tenant, self.holder)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    owner: String,
    asker_id: String,
}

struct Entry {
    asker: Arc<Asker>,
    /// The token it speaks with.
    token: String,
    /// Calls that are open.
    live: usize,
    /// Whether a client may come back under its name.
    named: bool,
    /// Whether all it knows of is what a process elsewhere asked, which may still wait.
    adopted: bool,
    used: Instant,
    /// Whether somebody looks after its end.
    watched: bool,
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
    adopted: bool,
}

impl Caller {
    pub(super) fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Calls of this process that are open, this one included.
    fn open_calls(&self) -> usize {
        let open = |key| self.callers.lock().get(key).map_or(0, |entry| entry.live);
        self.key.as_ref().map_or(0, open)
    }

    /// Keeps a question whose call was handed back. Over HTTP somebody may then wait for it elsewhere,
    /// under this process's name.
    pub(super) fn hand_back(&self, waiting: Waiting) {
        let unclaimed = match &self.key {
            Some(_) => Unclaimed::LetGo,
            None => Unclaimed::Withdraw,
        };
        self.asker.park(waiting, RESUME_LEASE, unclaimed);
    }

    /// Keeps a question whose call lost its connection, as long as a lost process's. With nobody else
    /// there, the process counts as lost.
    pub(super) async fn lose(&self, waiting: Waiting) {
        let alone = self.open_calls() == 1 && !self.asker.parks();
        let unclaimed = if alone {
            Unclaimed::LetGo
        } else {
            Unclaimed::Withdraw
        };
        self.asker.park(waiting, self.callers.lease, unclaimed);
        if alone {
            self.hush().await;
        }
    }

    /// Ends the wait of a call that its client cancelled, and with it the question; but not what another
    /// process asked, which that one may still wait for. Gone, it loses its lease.
    pub(super) async fn give_up(&self, waiting: Waiting) {
        if !self.adopted {
            // Dropped, it is withdrawn.
            return;
        }
        waiting.let_go();
        if self.open_calls() == 1 && !self.asker.parks() {
            self.hush().await;
        }
    }

    /// Counts as gone, until somebody asks or waits here again.
    async fn hush(&self) {
        self.asker.hush().await;
        if self.open_calls() > 1 {
            self.asker.wake();
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
    ///
    /// # Errors
    /// [`ErrorCode::TooManyPending`] when this caller has too many calls open.
    pub(super) fn of_call(
        self: &Arc<Self>,
        bearer: Option<&Bearer>,
        marker: Option<&str>,
    ) -> Result<Caller, WireError> {
        if let Some(own) = &self.own {
            return Ok(self.caller(Arc::clone(own), None, false));
        }
        let owner = owner(bearer);
        let open = {
            let entries = self.lock();
            let own = entries.iter().filter(|(key, _)| key.owner == owner);
            own.map(|(_, entry)| entry.live).sum::<usize>()
        };
        if open >= MAX_OPEN {
            let text = format!("{MAX_OPEN} calls of this credential are open; wait for one to end");
            return Err(WireError::new(ErrorCode::TooManyPending, text));
        }
        let asker_id = match marker {
            Some(marker) => named(&owner, marker),
            None => format!("http-{}", uuid::Uuid::new_v4().simple()),
        };
        Ok(self.entry(bearer, asker_id, marker.is_some(), false))
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
            return Some(self.caller(Arc::clone(own), None, false));
        }
        let owner = owner(bearer);
        let key = {
            let entries = self.lock();
            let holds = |(key, entry): &(&Key, &Entry)| {
                key.owner == owner && entry.asker.has_parked(clarify_id)
            };
            entries.iter().find(holds).map(|(key, _)| key.clone())
        };
        key.map(|key| self.entry(bearer, key.asker_id, true, true))
    }

    /// One that takes up the name of an asking process elsewhere, and keeps what that one asked.
    pub(super) fn adopt(self: &Arc<Self>, bearer: Option<&Bearer>, asker_id: String) -> Caller {
        self.entry(bearer, asker_id, true, true)
    }

    fn entry(
        self: &Arc<Self>,
        bearer: Option<&Bearer>,
        asker_id: String,
        is_named: bool,
        is_adopted: bool,
    ) -> Caller {
        let key = Key {
            owner: owner(bearer),
            asker_id: asker_id.clone(),
        };
        let token = bearer.map_or("", |bearer| &bearer.token);
        let mut entries = self.lock();
        let entry = entries.entry(key.clone()).or_insert_with(|| Entry {
            asker: Arc::new(Asker::new(self.options(bearer, asker_id))),
            token: token.to_owned(),
            live: 0,
            named: is_named,
            adopted: is_adopted,
            used: Instant::now(),
            watched: false,
        });
        if entry.token != token {
            // The caller's credential was renewed.
            token.clone_into(&mut entry.token);
            entry.asker.renew(Token::Value(token.to_owned()));
        }
        entry.live += 1;
        entry.used = Instant::now();
        // One that asks under this name itself is no stranger to what was asked under it.
        entry.adopted &= is_adopted;
        let (asker, adopted) = (Arc::clone(&entry.asker), entry.adopted);
        drop(entries);
        self.caller(asker, Some(key), adopted)
    }

    fn caller(self: &Arc<Self>, asker: Arc<Asker>, key: Option<Key>, adopted: bool) -> Caller {
        Caller {
            callers: Arc::clone(self),
            asker,
            key,
            adopted,
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
            outcomes: match &template.figures {
                Some(figures) => Outcomes::Counted(Arc::clone(figures)),
                None => Outcomes::Attached,
            },
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

    /// A call of this asking process is over. One that nobody can come back to ends with its turn;
    /// another one is let go once it was silent for long, and its turn with the lease: somebody may go on
    /// under its name elsewhere.
    fn over(self: &Arc<Self>, key: Key) {
        let ended = {
            let mut entries = self.lock();
            let Some(entry) = entries.get_mut(&key) else {
                return;
            };
            entry.live = entry.live.saturating_sub(1);
            entry.used = Instant::now();
            if entry.live > 0 || self.closing.is_cancelled() {
                return;
            }
            if entry.named || entry.asker.parks() {
                if std::mem::replace(&mut entry.watched, true) {
                    return;
                }
                None
            } else {
                entries.remove(&key)
            }
        };
        let callers = Arc::clone(self);
        self.tasks.spawn(async move {
            match ended {
                Some(entry) => entry.asker.close().await,
                None => callers.until_idle(&key).await,
            }
        });
    }

    async fn until_idle(&self, key: &Key) {
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep(IDLE) => {}
            }
            let mut entries = self.lock();
            let Some(entry) = entries.get(key) else {
                return;
            };
            if entry.live == 0 && entry.used.elapsed() >= IDLE {
                entries.remove(key);
                return;
            }
        }
    }

    /// Lets go of all of them. What they asked is neither settled nor withdrawn.
    pub(super) async fn leave(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let left: Vec<Entry> = self.lock().drain().map(|(_, entry)| entry).collect();
        for entry in left {
            entry.asker.hush().await;
        }
    }
}

fn owner(bearer: Option<&Bearer>) -> String {
    bearer.map_or_else(String::new, Bearer::owner)
}

/// The same for the same conversation, on every replica.
fn named(owner: &str, marker: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(owner);
    hash.update([0]);
    hash.update(marker);
    let mut name = "http-".to_owned();
    for byte in hash.finalize().iter().take(16) {
        // A string takes everything.
        let _ = write!(name, "{byte:02x}");
    }
    name
}
