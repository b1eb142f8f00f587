//! Where commits, answers, drafts, positions and heartbeats live: traits, and two implementations of each that
//! pass one conformance suite, on JetStream and on one embedded file. No rule about a question
//! enters here; a ledger moves bytes and keeps promises about order.

mod append;
mod bus;
mod drafts;
pub mod embedded;
#[cfg(feature = "hostile")]
pub mod hostile;
pub mod jetstream;
mod message_id;
mod positions;
mod reachable;
mod traits;

pub use append::append;
pub use bus::Bus;
pub use reachable::until_reachable;
pub use traits::{
    Ack, Alive, AppendError, Delivery, Drafts, Inbox, Ledger, LedgerError, LeftOut, Position,
    Positions, ReplySink, Stored, StoredDraft, Submission, Submitted,
};
