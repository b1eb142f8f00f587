//! What the view says, in each language.

mod en;
mod zh;

use askbus_domain::{GoesOn, Language, Reason};

/// Keys that matter now, each with what it does. Where there is no room for all, the last but one goes
/// first.
pub(super) type Hint = &'static [&'static str];

/// All its words. A sentence with something in it is a function of that.
pub(super) struct Words {
    pub waiting: fn(usize) -> String,
    pub connecting: &'static str,
    pub online: &'static str,
    pub offline: &'static str,
    pub offline_banner: &'static str,
    /// What else can be done where the service is one of this machine.
    pub offline_here: &'static str,
    pub back_online: &'static str,
    pub nothing_waits: &'static str,
    pub nothing_waits_more: &'static str,
    pub an_agent: &'static str,
    pub session: &'static str,
    pub sub_agent: fn(&str) -> String,
    pub for_person: fn(&str) -> String,
    pub for_group: fn(&str) -> String,
    pub not_yours: &'static str,
    pub not_yours_short: &'static str,
    pub asked: fn(Option<&str>) -> String,
    pub left: fn(&str) -> String,
    pub expired: &'static str,
    pub open_for: fn(&str) -> String,
    pub held: fn(&str, &str) -> String,
    pub held_short: &'static str,
    pub disconnected: &'static str,
    pub progress: fn(usize, usize) -> String,
    pub plan: fn(usize, usize) -> String,
    pub recommended: &'static str,
    pub own_words: &'static str,
    pub own_words_also: &'static str,
    pub note: &'static str,
    /// A note where it stands beside an answer.
    pub noted: fn(&str) -> String,
    /// What the agent went on with where nobody chose.
    pub assumed: fn(&str) -> String,
    /// What stands before a field that is open.
    pub field: fn(&str) -> String,
    pub decline: &'static str,
    pub declined: &'static str,
    pub ask_back_label: &'static str,
    pub stays_open: &'static str,
    pub too_long: &'static str,
    pub out_of_bounds: &'static str,
    pub nothing_filled_in: &'static str,
    pub nothing_asked: &'static str,
    pub nothing_recommended: &'static str,
    pub not_now: &'static str,
    pub paste_nowhere: &'static str,
    pub writing: fn(&str) -> String,
    pub other_draft: &'static str,
    pub draft_short: &'static str,
    pub submit: &'static str,
    pub submit_recommended: &'static str,
    pub submit_all_recommended: &'static str,
    pub ask_back: &'static str,
    pub ask_back_send: &'static str,
    pub skip: &'static str,
    pub dismiss: &'static str,
    pub dismiss_all: &'static str,
    pub hold: &'static str,
    pub take_back: &'static str,
    pub pass_on: &'static str,
    pub use_other: &'static str,
    pub close: &'static str,
    pub sending: &'static str,
    pub queued: &'static str,
    pub sent: &'static str,
    pub refused: fn(&str) -> String,
    pub late: &'static str,
    pub late_unknown: &'static str,
    pub late_other: fn(&str) -> String,
    pub kept: &'static str,
    pub gone: &'static str,
    pub your_answer: &'static str,
    pub goes_on: fn(Option<GoesOn>) -> &'static str,
    pub passing: &'static str,
    pub not_passed_on: fn(&str) -> String,
    pub you: &'static str,
    pub someone: &'static str,
    /// Where somebody answered, after the words of who did.
    pub surface: fn(&str) -> String,
    pub ended: fn(Option<Reason>, &str) -> String,
    pub editor_failed: fn(&str) -> String,
    pub editor_kept: fn(&str, &str) -> String,
    pub too_small: &'static str,
    pub days: fn(u64, u64) -> String,
    pub about: fn(u64) -> String,
    pub tag_late: &'static str,
    pub tag_over: &'static str,
    pub tag_sending: &'static str,
    pub tag_sent: &'static str,
    pub choose: fn(Option<u8>, Option<u8>) -> String,
    pub keys_list: Hint,
    pub keys_card: Hint,
    pub keys_field: Hint,
    pub keys_button: Hint,
    pub keys_over: Hint,
    pub keys_help: Hint,
    pub keys_help_whole: Hint,
    pub help_title: &'static str,
    pub help: &'static [(&'static str, &'static str)],
    pub not_sent: &'static str,
}

/// The words of a language.
pub(super) fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &en::EN,
        Language::Zh => &zh::ZH,
    }
}
