//! Other people's and agents' text as it may be shown among lines of ours: whole, able to move and to
//! imitate nothing.

/// Marks a further line of a text, so that no text can imitate a line of ours.
pub(super) const MARK: &str = "┆ ";

/// Text whose lines may stand for themselves. Control characters and those that change the direction
/// of what follows stand as a replacement character.
pub fn visible(text: &str) -> String {
    let harmless = |c: char| if may_pass(c) { c } else { '\u{fffd}' };
    text.replace("\r\n", "\n").chars().map(harmless).collect()
}

/// Text that belongs on one line.
pub fn on_one_line(text: &str) -> String {
    visible(text).replace('\n', " ⏎ ")
}

/// Text of several lines, each further one marked.
pub fn further_lines_marked(text: &str) -> String {
    visible(text).replace('\n', &format!("\n{MARK}"))
}

fn may_pass(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Line and paragraph separators break lines in some places.
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    (c == '\n' || c == '\t' || !c.is_control()) && !turns && !breaks
}
