//! Questions in a chat that knows nothing but text: how they are put, one at a time and numbered, and
//! what a reply means (N4).
//!
//! A reply goes to the question that waits before anything else. What could mean two things is
//! refused with the list of what it could mean; what is not a choice is the person's own words, as
//! they stand, and never an option that merely resembles them.

mod answering;
mod beside;
mod choice;
mod command;
mod folding;
mod length;
mod naming;
mod others;
mod pointer;
mod put;
mod reply;
mod showing;
mod tag;
mod telling;
mod words;

pub use choice::{Unclear, named_option, read_choice};
pub use length::{Buttons, ChannelLimits, Length, Unit, split};
pub use others::named_of_others;
pub use put::{Button, Put};
pub use reply::{
    Act, Chat, EndedHere, Mentions, Reply, Understood, WaitingHere, done, meant_waiting, understand,
};
pub use showing::{further_lines_marked, on_one_line, visible};
pub use tag::Tag;
pub use telling::{Listed, Telling, bounds_text};
