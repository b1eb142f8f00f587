//! `askbus answer`: a person answers from the terminal.

use crate::agent_guard;
use crate::cli::AnswerArgs;
use crate::config::Config;
use crate::exit::{Failure, LATE, TRY_AGAIN, UNAVAILABLE, USAGE};
use crate::inbox::{MOST, clarifications};
use crate::output;
use crate::panel::{Panel, Reply, refuse};
use crate::pass_on;
use crate::said::Group;
use crate::terminal;
use askbus_domain::Question;
use askbus_domain::text_channel::{named_option, on_one_line};
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Sends one answer and says what became of it.
pub(crate) async fn run(config: &Config, args: &AnswerArgs) -> Result<ExitCode, Failure> {
    agent_guard::refuse_agents()?;
    check(args)?;
    let panel = Panel::open(config)?;
    let clarification = find(&panel, &args.id).await?;
    if args.pass_on {
        return pass_on::run(&panel, &clarification, args.json).await;
    }
    let id = text(&clarification, "clarify_id");
    if args.hold {
        let path = format!("/api/clarifications/{id}/hold");
        let reply = panel.post(&path, &json!({"surface": "terminal"})).await?;
        return report(&reply, &clarification, args.json);
    }
    let body = body(&clarification, args)?;
    let reply = panel
        .post(&format!("/api/clarifications/{id}/answer"), &body)
        .await?;
    report(&reply, &clarification, args.json)
}

/// Refuses what says nothing, or not of which question.
fn check(args: &AnswerArgs) -> Result<(), Failure> {
    let usage = |message: &str| Err(Failure::new(USAGE, message));
    let groups = &args.said.groups;
    let blank = |text: &String| askbus_domain::is_blank(text);
    let says = |g: &Group| g.dismiss || !g.choose.is_empty() || !g.texts.iter().all(blank);
    let instead = args.skip || args.hold || args.pass_on || args.ask_back.is_some();
    if !(instead || groups.iter().any(says)) {
        return usage(
            "nothing to send: give --choose, --text, --ask-back, --skip, --dismiss, --hold or \
             --pass-on (see `askbus answer --help`)",
        );
    }
    if args.said.astray {
        return usage(
            "with several --question, say each before what it is about; nothing was sent",
        );
    }
    if groups.iter().any(|g| g.texts.len() > 1) {
        return usage("one --text for each question; nothing was sent");
    }
    if groups.iter().any(|g| g.notes.len() > 1) {
        return usage("one --note for each question; nothing was sent");
    }
    let note_alone = |g: &Group| !g.notes.is_empty() && g.choose.is_empty() && g.texts.is_empty();
    if !instead && groups.iter().any(note_alone) {
        return usage("a --note goes with --choose or --text; nothing was sent");
    }
    let both = |g: &Group| g.question.is_some() && g.dismiss && g.answers();
    if groups.iter().any(both) {
        return usage("a question is answered or dismissed, not both; nothing was sent");
    }
    Ok(())
}

/// The clarification with this id, or the one that waits whose id begins so.
async fn find(panel: &Panel, id: &str) -> Result<Value, Failure> {
    if uuid::Uuid::try_parse(id).is_ok() {
        let body = panel.get(&format!("/api/clarifications/{id}")).await?;
        return Ok(body.get("clarification").cloned().unwrap_or(body));
    }
    let body = panel
        .get(&format!("/api/clarifications?status=pending&limit={MOST}"))
        .await?;
    let found: Vec<&Value> = clarifications(&body)
        .iter()
        .filter(|c| !id.is_empty() && text(c, "clarify_id").starts_with(id))
        .collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] if clarifications(&body).len() >= MOST => Err(Failure::new(
            USAGE,
            format!("more wait than can be searched for {id:?}; write the whole id"),
        )),
        [] => Err(nothing_waits(panel, id).await),
        several => Err(Failure::new(
            USAGE,
            format!(
                "{} waiting clarifications begin with {id:?}; write more of it",
                several.len()
            ),
        )),
    }
}

/// Says that nothing waits under this id, and what is known of one that did.
async fn nothing_waits(panel: &Panel, id: &str) -> Failure {
    let over = panel
        .get("/api/clarifications?status=settled&limit=100")
        .await
        .unwrap_or_default();
    let mut found = clarifications(&over)
        .iter()
        .filter(|c| !id.is_empty() && text(c, "clarify_id").starts_with(id));
    let message = match (found.next(), found.next()) {
        (Some(one), None) => format!(
            "nothing waits whose id begins with {id:?}; nothing was sent. This one is over:\n\n\
             {}To say something to it all the same, give its whole id",
            terminal::clarification(one)
        ),
        _ => format!(
            "nothing waits whose id begins with {id:?}; nothing was sent. `askbus inbox` shows \
             what waits, `askbus history` what is over, which takes the whole id"
        ),
    };
    Failure::new(USAGE, message)
}

fn body(clarification: &Value, args: &AnswerArgs) -> Result<Value, Failure> {
    let action = match (&args.ask_back, args.said.declines_all(), args.skip) {
        (Some(_), ..) => "ask_back",
        (_, true, _) => "dismiss",
        (_, _, true) => "skip",
        _ => "answer",
    };
    let mut answers = Vec::new();
    for group in &args.said.groups {
        answers.extend(entry(clarification, group)?);
    }
    let declined = answers.iter().filter(|a| a.get("dismissed").is_some());
    let count = questions(clarification).len();
    if action == "answer" && declined.count() == answers.len() && answers.len() < count {
        let message = format!(
            "nothing else is answered, so this would end all {count} questions; nothing was sent; \
             answer others in the same call (--question 1 --choose … --question 2 --dismiss), or \
             give --dismiss alone to decline them all"
        );
        return Err(Failure::new(USAGE, message));
    }
    Ok(json!({
        "answer_id": uuid::Uuid::new_v4().to_string(),
        "surface": "terminal",
        "action": action,
        "answers": answers,
        "text": args.ask_back,
    }))
}

/// What is said of one question; none when nothing is.
fn entry(clarification: &Value, group: &Group) -> Result<Option<Value>, Failure> {
    let question = question(clarification, group.question.as_deref())?;
    let id = text(question, "id");
    if group.dismiss && group.question.is_some() {
        return Ok(Some(json!({"question_id": id, "dismissed": true})));
    }
    if !group.answers() {
        return Ok(None);
    }
    let chosen = group
        .choose
        .iter()
        .map(|choice| option_id(question, choice));
    let option_ids = chosen.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(json!({
        "question_id": id, "option_ids": option_ids,
        "text": group.texts.first(), "note": group.notes.first(),
    })))
}

fn questions(clarification: &Value) -> &[Value] {
    let list = clarification.get("questions").and_then(Value::as_array);
    list.map_or(&[][..], Vec::as_slice)
}

fn question<'a>(clarification: &'a Value, which: Option<&str>) -> Result<&'a Value, Failure> {
    let list = questions(clarification);
    let found = match which {
        None => list.first(),
        Some(word) => list.iter().find(|q| text(q, "id") == word).or_else(|| {
            let n: usize = word.parse().ok()?;
            list.get(n.checked_sub(1)?)
        }),
    };
    let which = which.unwrap_or("1");
    found.ok_or_else(|| {
        Failure::new(
            USAGE,
            format!("there is no question {which}; there are {}", list.len()),
        )
    })
}

/// An exact label first, then a number counted from 1.
fn option_id(question: &Value, choice: &str) -> Result<String, Failure> {
    let question: Question = serde_json::from_value(question.clone())
        .map_err(|e| Failure::new(UNAVAILABLE, format!("the question cannot be read: {e}")))?;
    let found = named_option(&question, choice).map(|o| o.id.to_string());
    found.map_err(|_| {
        let options = question.options.iter().enumerate();
        let labels: Vec<String> = options
            .map(|(i, o)| format!("{}. {}", i + 1, on_one_line(&o.label)))
            .collect();
        Failure::new(
            USAGE,
            format!(
                "there is no option {choice:?}; nothing was sent. Options: {}",
                labels.join(", ")
            ),
        )
    })
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn held_until(cap: &str) -> String {
    format!(
        "Held: the countdown is stopped, and it is open until {}.",
        terminal::moment(cap)
    )
}

fn report(reply: &Reply, clarification: &Value, as_json: bool) -> Result<ExitCode, Failure> {
    let id = text(clarification, "clarify_id");
    let verdict = text(&reply.body, "verdict");
    let late = reply.status == StatusCode::CONFLICT && matches!(verdict, "conflict" | "late");
    if !late && reply.status != StatusCode::ACCEPTED {
        refuse(reply)?;
    }
    // Where the verdict names the end of a clarification, its own reason stands beside the code.
    let outcome = reply.body.get("outcome").unwrap_or(&reply.body);
    if as_json {
        let settled = !matches!(verdict, "sent" | "held");
        let line = json!({
            "clarify_id": id,
            "status": if settled { "settled" } else { "pending" },
            "verdict": verdict,
            "reason": outcome.get("reason"),
            "decided_by": outcome.get("decided_by"),
            "actor": outcome.get("actor"),
            "answers": outcome.get("answers").filter(|a| a.is_array()).cloned().unwrap_or(json!([])),
            "dismissed_questions": outcome.get("dismissed_questions"),
            "goes_on": reply.body.get("goes_on"),
        });
        output::line(line)?;
    } else if late {
        output::line(text(&reply.body, "error"))?;
        // Where nobody is there to hear it, trying again now changes nothing.
        if !pass_on::is_on_its_way(&reply.body) && text(&reply.body, "goes_on") != "nowhere" {
            let how = "Send it on to the agent all the same: askbus answer";
            output::line(format_args!("{how} {id} --pass-on"))?;
        }
    } else {
        let words = match verdict {
            "sent" => "Sent; it is kept and will be judged as soon as the service can.",
            // A hold reaches no further than this: some callers cannot wait for longer.
            "held" => &held_until(text(clarification, "cap")),
            _ => "Taken:",
        };
        output::line(words)?;
        if !matches!(verdict, "sent" | "held") {
            output::text(terminal::taken(clarification, outcome))?;
        }
        let open = outcome.get("unanswered").and_then(Value::as_array);
        if text(outcome, "reason") == "response"
            && let Some(open) = open.filter(|ids| !ids.is_empty())
        {
            let ids: Vec<&str> = open.iter().filter_map(Value::as_str).collect();
            output::line(format_args!("Left without an answer: {}", ids.join(", ")))?;
        }
    }
    Ok(match verdict {
        _ if late => ExitCode::from(LATE),
        "sent" => ExitCode::from(TRY_AGAIN),
        _ => ExitCode::SUCCESS,
    })
}
