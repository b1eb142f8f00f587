//! The far ends of chat channels: a place that takes signed webhooks, and a WeChat that is none.

mod hook;
mod ilink;

pub use hook::{Hook, HookAnswer, HookMessage};
pub use ilink::FakeILink;
