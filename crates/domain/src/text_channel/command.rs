//! What a person can say in a chat beside answering. A command begins with a slash, so that no answer
//! is mistaken for one: `skip` is an answer, `/skip` is not.

use super::folding::folded;

/// What a person wants instead of answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// Leave the question to the agent.
    Skip,
    /// Decline the whole clarification.
    Dismiss,
    /// Stop the countdown.
    Hold,
    /// Ask for more information.
    AskBack,
    /// Own words, whatever they look like.
    Text,
    /// Decline this one question and go to the next.
    Next,
    /// Go back to the question before.
    Back,
    /// See what waits.
    List,
    /// See what can be said.
    Help,
}

const WORDS: [(Command, &[&str]); 9] = [
    (Command::Skip, &["skip", "跳过"]),
    (Command::Dismiss, &["dismiss", "decline", "不回答", "拒答"]),
    (Command::Hold, &["hold", "wait", "稍等", "等一下"]),
    (Command::AskBack, &["ask", "ask-back", "反问", "追问"]),
    (Command::Text, &["text", "文字", "原文"]),
    (Command::Next, &["next", "下一题"]),
    (Command::Back, &["back", "上一题"]),
    (Command::List, &["list", "列表"]),
    (Command::Help, &["help", "帮助"]),
];

/// The command that `text` begins with, and the words behind it. Anything else behind a slash, such
/// as a path, is none.
pub(super) fn command(text: &str) -> Option<(Command, &str)> {
    let text = text.trim();
    let after = text.strip_prefix(['/', '／'])?;
    let end = after.find(|c: char| c.is_whitespace() || matches!(c, ':' | '：'));
    let (word, rest) = after.split_at_checked(end.unwrap_or(after.len()))?;
    let word = folded(word);
    let (command, _) = WORDS
        .into_iter()
        .find(|(_, words)| words.contains(&word.as_str()))?;
    let rest = rest.trim_start();
    let rest = rest.strip_prefix([':', '：']).unwrap_or(rest);
    Some((command, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_slash_makes_a_command() {
        for (text, expected) in [
            ("/skip", Some((Command::Skip, ""))),
            (" ／SKIP ", Some((Command::Skip, ""))),
            ("/跳过", Some((Command::Skip, ""))),
            (
                "/ask: which cluster?",
                Some((Command::AskBack, "which cluster?")),
            ),
            ("/反问：哪个集群？", Some((Command::AskBack, "哪个集群？"))),
            ("/text 3", Some((Command::Text, "3"))),
            ("/text\n3\n4", Some((Command::Text, "3\n4"))),
            ("skip", None),
            ("/srv/app", None),
            ("/skipping", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(command(text), expected, "{text}");
        }
    }
}
