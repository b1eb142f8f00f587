//! Commands of people who answer.

use super::moment::parse_moment;
use super::words;
use crate::said::Said;
use askbus_domain::Timestamp;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct InboxArgs {
    /// Go on showing what comes
    #[arg(long)]
    pub watch: bool,
    /// JSON Lines, one object per clarification
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Of one session only
    #[arg(long, value_name = "S")]
    pub session: Option<String>,
    /// Only what ended so; may be given several times
    #[arg(long, value_name = "WORD", value_parser = words::reason())]
    pub reason: Vec<String>,
    /// Only what ended then or later: 2h (ago), 2027-01-15, or 2027-01-15T08:00:00Z
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment)]
    pub since: Option<Timestamp>,
    /// Only what ended before then
    #[arg(long, value_name = "MOMENT", value_parser = parse_moment)]
    pub until: Option<Timestamp>,
    /// Only where the asker's client, host, folder or branch has this in it
    #[arg(long, value_name = "TEXT")]
    pub asker: Option<String>,
    /// Only what this person decided, or wrote too late to
    #[arg(long, value_name = "NAME")]
    pub person: Option<String>,
    /// Only where this stands in the questions, the answers or what came too late
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// How many at most, the latest
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub limit: usize,
    /// As many as there are
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,
    /// JSON Lines, one object per clarification
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The clarification's id, or as many of its first characters as make it unique among those
    /// that wait
    pub id: String,
    #[command(flatten)]
    pub said: Said,
    /// Leave it to the agent; recommendations become assumptions
    #[arg(long, group = "instead")]
    pub skip: bool,
    /// Stop the countdown
    #[arg(long, group = "instead")]
    pub hold: bool,
    /// Say what you need to know first
    #[arg(long, value_name = "TEXT", group = "instead")]
    pub ask_back: Option<String>,
    /// Send your late answer to it on to the agent
    #[arg(long, group = "instead", conflicts_with_all = ["question", "choose", "text", "note"])]
    pub pass_on: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A count of what is to be shown: none is no question.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1, or --all".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(error.to_string()),
    }
}
