//! Commands of people who answer.

use crate::said::Said;
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
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
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
    #[arg(long, group = "instead", conflicts_with_all = ["question", "choose", "text"])]
    pub pass_on: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub json: bool,
}
