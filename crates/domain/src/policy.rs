//! What happens when nobody answers or nobody is there, and within which bounds (A4–A7).
//!
//! Layers lie over each other: tenant, dialect, profile, turn, call. The narrower wins, except that
//! no layer widens the bounds of one above it.

use crate::{
    AskInput, Dialect, Language, MAX_TIMEOUT, MIN_TIMEOUT, Millis, ProfileId, TenantId,
    TimeoutChoice,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What becomes of a question whose time is up (A5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTimeout {
    /// It ends without an answer.
    #[default]
    Return,
    /// It ends without an answer; recommendations stand as assumptions.
    Adopt,
    /// It becomes the turn's reply.
    Defer,
}

/// What becomes of a question when nobody is present who may answer it (A6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenAbsent {
    /// It waits: a person who is away is not a person who is missing.
    #[default]
    Wait,
    /// It becomes the turn's reply.
    Deferred,
    /// Recommendations are adopted and the agent goes on.
    Unattended,
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),* }) => {
        impl $name {
            /// Every choice.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// The word on the wire.
            pub const fn as_str(self) -> &'static str { match self { $($name::$variant => $word),* } }
            /// Reads the word on the wire.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|w| w.as_str() == text)
            }
        }
    };
}

words!(OnTimeout { Return = "return", Adopt = "adopt", Defer = "defer" });
words!(WhenAbsent { Wait = "wait", Deferred = "deferred", Unattended = "unattended" });

/// Whether somebody who may answer is there (D9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Not looked at, or not known yet: nobody is called absent.
    #[default]
    Unknown,
    /// Somebody is there.
    Present,
    /// Nobody is there.
    Absent,
}

/// A timeout somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// No deadline.
    Never,
    /// This long.
    After(Millis),
}

/// One layer of the policy; what it leaves out is as in the layer above.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PolicyLayer {
    /// The timeout of a call that names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Wish>,
    /// The shortest timeout a call gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_timeout: Option<Millis>,
    /// The longest timeout a call gets; with one, nothing waits without a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_timeout: Option<Millis>,
    /// How long a countdown stays hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Millis>,
    /// What becomes of a question whose time is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<OnTimeout>,
    /// What becomes of a question when nobody is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_absent: Option<WhenAbsent>,
    /// How many clarifications of one session may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_pending: Option<u32>,
    /// How many in a row may stay unanswered before asking is off for the turn; 0 is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered_limit: Option<u32>,
    /// The language of texts for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

impl PolicyLayer {
    /// Whether it leaves everything as above.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This layer with `narrower` over it.
    #[must_use]
    pub fn under(&self, narrower: &PolicyLayer) -> PolicyLayer {
        PolicyLayer {
            timeout: narrower.timeout.or(self.timeout),
            min_timeout: tighter(self.min_timeout, narrower.min_timeout, Ord::max),
            max_timeout: tighter(self.max_timeout, narrower.max_timeout, Ord::min),
            grace: narrower.grace.or(self.grace),
            on_timeout: narrower.on_timeout.or(self.on_timeout),
            when_absent: narrower.when_absent.or(self.when_absent),
            max_pending: tighter(self.max_pending, narrower.max_pending, Ord::min),
            unanswered_limit: narrower.unanswered_limit.or(self.unanswered_limit),
            language: narrower.language.or(self.language),
        }
    }
}

/// Why a layer cannot be meant: under it nothing could be asked, or no timeout would be right (A5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MeaninglessPolicy {
    /// Nothing may wait.
    #[error("max_pending: at least 1")]
    NothingMayWait,
    /// Every timeout is over at once.
    #[error("max_timeout: more than 0; leave it out for no limit")]
    NoTime,
    /// No timeout is within the bounds.
    #[error("min_timeout: larger than max_timeout")]
    CrossedBounds,
}

impl PolicyLayer {
    /// The layer, where it can be meant.
    ///
    /// # Errors
    ///
    /// The first thing that makes it meaningless.
    pub fn checked(self) -> Result<Self, MeaninglessPolicy> {
        match (self.min_timeout, self.max_timeout) {
            _ if self.max_pending == Some(0) => Err(MeaninglessPolicy::NothingMayWait),
            (_, Some(Millis(0))) => Err(MeaninglessPolicy::NoTime),
            (Some(min), Some(max)) if min > max => Err(MeaninglessPolicy::CrossedBounds),
            _ => Ok(self),
        }
    }
}

/// The tighter of two bounds, where both are set.
fn tighter<T>(above: Option<T>, below: Option<T>, tighter: impl Fn(T, T) -> T) -> Option<T> {
    match (above, below) {
        (Some(above), Some(below)) => Some(tighter(above, below)),
        (above, below) => below.or(above),
    }
}

/// What is set for one tenant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantPolicy {
    /// For all of it.
    pub layer: PolicyLayer,
    /// For one dialect.
    pub dialects: BTreeMap<Dialect, PolicyLayer>,
    /// For one profile.
    pub profiles: BTreeMap<ProfileId, PolicyLayer>,
}

/// What the operator set, for all tenants and for each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyTable {
    /// For every tenant that sets nothing else.
    pub all: PolicyLayer,
    /// For one tenant.
    pub tenants: BTreeMap<TenantId, TenantPolicy>,
}

impl PolicyTable {
    /// The layer under which a profile of a tenant asks in a dialect.
    pub fn of(&self, tenant: &TenantId, profile: &ProfileId, dialect: Dialect) -> PolicyLayer {
        let mut layer = self.all.clone();
        let Some(own) = self.tenants.get(tenant) else {
            return layer;
        };
        // The operator sets a tenant's bounds themselves, so here they may be wider.
        let bounds = &own.layer;
        layer = PolicyLayer {
            min_timeout: bounds.min_timeout.or(layer.min_timeout),
            max_timeout: bounds.max_timeout.or(layer.max_timeout),
            max_pending: bounds.max_pending.or(layer.max_pending),
            ..layer.under(bounds)
        };
        let narrower = [own.dialects.get(&dialect), own.profiles.get(profile)];
        for narrow in narrower.into_iter().flatten() {
            layer = layer.under(narrow);
        }
        layer
    }
}

/// The policy of one clarification, as it stands in the log with it: a later change of the
/// configuration never changes what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Terms {
    /// What becomes of it when its time is up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_timeout: OnTimeout,
    /// What becomes of it when nobody is present.
    #[serde(default, skip_serializing_if = "is_default")]
    pub when_absent: WhenAbsent,
    /// The language of its texts for people.
    #[serde(default, skip_serializing_if = "is_default")]
    pub language: Language,
}

impl Terms {
    /// Whether everything is as the contract has it by default.
    pub fn is_default(&self) -> bool {
        is_default(self)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Which bound changed a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The shortest one allowed.
    Minimum,
    /// The longest one allowed.
    Maximum,
    /// The longest one of the dialect (E13).
    Dialect,
    /// The caller cannot wait longer.
    CallLimit,
    /// The turn ends.
    TurnEnd,
}

words!(Bound {
    Minimum = "minimum",
    Maximum = "maximum",
    Dialect = "dialect",
    CallLimit = "call_limit",
    TurnEnd = "turn_end"
});

/// A timeout that is not the one asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjusted {
    /// What was asked for; none is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Millis>,
    /// What was given; none is never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Millis>,
    /// What changed it.
    pub by: Bound,
}

/// The timeout a clarification is to have, and the bounds it is held within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockWish {
    /// The timeout; none is never.
    pub timeout: Option<Millis>,
    /// Whether the caller or its host asked for it, rather than a default.
    pub chosen: bool,
    /// The shortest one allowed.
    pub min: Option<Millis>,
    /// The longest one allowed.
    pub max: Option<Millis>,
    /// The longest one of the dialect.
    pub dialect_max: Option<Millis>,
    /// How long the countdown stays hidden.
    pub grace: Millis,
}

impl ClockWish {
    /// The timeout within every bound that does not depend on the moment, and the bound that changed
    /// it last.
    pub(crate) fn bounded(&self) -> (Option<Millis>, Option<Bound>) {
        let min = self.min.map_or(MIN_TIMEOUT, |min| min.max(MIN_TIMEOUT));
        let max = self.max.map_or(MAX_TIMEOUT, |max| max.min(MAX_TIMEOUT));
        let (mut timeout, mut by) = (self.timeout, None);
        if timeout.is_some_and(|wait| wait < min) {
            (timeout, by) = (Some(min), Some(Bound::Minimum));
        }
        // Never is longer than any longest timeout; without one set, it stays never.
        let over = |timeout: Option<Millis>, max, never| timeout.map_or(never, |wait| wait > max);
        if over(timeout, max, self.max.is_some()) {
            (timeout, by) = (Some(max), Some(Bound::Maximum));
        }
        if let Some(max) = self.dialect_max
            && over(timeout, max, true)
        {
            (timeout, by) = (Some(max), Some(Bound::Dialect));
        }
        (timeout, by)
    }
}

impl Default for ClockWish {
    /// No deadline, and no bounds but those of the product.
    fn default() -> Self {
        Self {
            timeout: None,
            chosen: false,
            min: None,
            max: None,
            dialect_max: None,
            grace: DEFAULT_GRACE,
        }
    }
}

/// The policy in force for one call, with nothing left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// What is recorded with the question.
    pub terms: Terms,
    /// How many clarifications of the session may wait.
    pub max_pending: usize,
    /// How many in a row may stay unanswered; 0 is any number.
    pub unanswered_limit: u32,
    /// The clock.
    pub clock: ClockWish,
}

/// How long a countdown stays hidden unless somebody says otherwise (A4).
const DEFAULT_GRACE: Millis = Millis(60_000);
/// How many in a row may stay unanswered unless somebody says otherwise (A7).
const UNANSWERED_LIMIT: u32 = 2;

impl Policy {
    /// What is in force for a call in a turn under the tenant's and profile's layer.
    pub fn in_force(
        dialect: Dialect,
        table: &PolicyLayer,
        turn: &PolicyLayer,
        call: &AskInput,
    ) -> Self {
        let layer = table.under(turn);
        let asked = match call.timeout {
            TimeoutChoice::Default => turn.timeout,
            TimeoutChoice::Never => Some(Wish::Never),
            TimeoutChoice::After(wait) => Some(Wish::After(wait)),
        };
        let timeout = match asked.or(table.timeout) {
            None => dialect.default_timeout(),
            Some(Wish::Never) => None,
            Some(Wish::After(wait)) => Some(wait),
        };
        let max_pending = match dialect {
            // E6: one question at a time, whatever the policy says.
            Dialect::Studio => 1,
            Dialect::Ask | Dialect::Interaction => layer
                .max_pending
                .and_then(|n| usize::try_from(n.max(1)).ok())
                .unwrap_or(dialect.pending_limit()),
        };
        Self {
            terms: Terms {
                on_timeout: call.on_timeout.or(layer.on_timeout).unwrap_or_default(),
                when_absent: call.when_absent.or(layer.when_absent).unwrap_or_default(),
                language: call.language.or(layer.language).unwrap_or_default(),
            },
            max_pending,
            unanswered_limit: layer.unanswered_limit.unwrap_or(UNANSWERED_LIMIT),
            clock: ClockWish {
                timeout,
                chosen: asked.is_some(),
                min: layer.min_timeout,
                max: layer.max_timeout,
                dialect_max: dialect.max_timeout(),
                grace: call.grace.or(layer.grace).unwrap_or(DEFAULT_GRACE),
            },
        }
    }
}
