//! `askbus answer --pass-on`: what a person wrote too late is sent on to the agent, by their own act.

use crate::exit::{Failure, LATE, TRY_AGAIN, USAGE};
use crate::output;
use crate::panel::{Panel, refuse};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Sends the person's newest late answer on that has not gone on yet; where all have, says so again.
pub(crate) async fn run(
    panel: &Panel,
    clarification: &Value,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let me = panel.get("/api/me").await?;
    let own = own(clarification, text(&me, "person"));
    let waits = |late: &&&Value| late.get("may_pass_on") == Some(&Value::Bool(true));
    let Some(late) = own.iter().rev().find(waits).or_else(|| own.last()) else {
        let message = "nothing you wrote came too late for this question; nothing was sent on";
        return Err(Failure::new(USAGE, message));
    };
    let id = text(clarification, "clarify_id");
    let path = format!("/api/clarifications/{id}/pass-on");
    let body = json!({"answer_id": late.get("answer_id"), "surface": "terminal"});
    let reply = panel.post(&path, &body).await?;
    let stays = reply.status == StatusCode::CONFLICT && text(&reply.body, "verdict") == "late";
    if !stays {
        refuse(&reply)?;
    }
    let verdict = text(&reply.body, "verdict");
    let goes_on = reply.body.get("goes_on");
    if as_json {
        let of_it = |name: &str| clarification.get(name);
        let line = json!({
            "clarify_id": id,
            "status": "settled",
            "verdict": verdict,
            "reason": of_it("reason"),
            "decided_by": of_it("decided_by"),
            "actor": of_it("actor"),
            "answers": of_it("answers"),
            "dismissed_questions": of_it("dismissed_questions"),
            "goes_on": goes_on,
            "answer_id": late.get("answer_id"),
        });
        output::line(line)?;
    } else if stays {
        output::line(text(&reply.body, "error"))?;
    } else if let Some(place) = goes_on.and_then(Value::as_str).and_then(where_to) {
        output::line(format_args!("Sent on: it {place}."))?;
    } else {
        output::line("Kept; it is sent on as soon as the service can.")?;
    }
    Ok(match verdict {
        _ if stays => ExitCode::from(LATE),
        "sent" => ExitCode::from(TRY_AGAIN),
        _ => ExitCode::SUCCESS,
    })
}

/// The late answers that this person wrote, the newest last.
fn own<'a>(clarification: &'a Value, me: &str) -> Vec<&'a Value> {
    let all = clarification.get("late_answers").and_then(Value::as_array);
    let mine = |late: &&Value| late.get("actor").is_some_and(|a| text(a, "person") == me);
    all.into_iter().flatten().filter(mine).collect()
}

/// Whether what an object tells of reaches the agent by itself.
pub(crate) fn is_on_its_way(object: &Value) -> bool {
    where_to(text(object, "goes_on")).is_some()
}

/// Where a late answer reaches the agent, as the end of a sentence; none when it does not.
pub(crate) fn where_to(goes_on: &str) -> Option<&'static str> {
    match goes_on {
        "next_result" => Some("reaches the agent with its next result"),
        "next_turn" => Some("reaches the agent when its next turn begins"),
        _ => None,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}
