//! The inbox line by line: each question as it comes, each hold, each end and each answer that comes
//! too late, as it happens, across reconnects.

use super::connection::{Connection, News};
use super::{clarifications, print_one, text};
use crate::exit::Failure;
use crate::output::{self, Reader};
use crate::panel::Panel;
use crate::signals;
use serde_json::Value;
use std::collections::HashSet;

/// Follows until a signal, or until nobody reads; `shown` is what was printed already.
pub(super) async fn follow(panel: &Panel, json: bool, shown: &Value) -> Result<(), Failure> {
    let shutdown = signals::shutdown()?;
    let known = clarifications(shown)
        .iter()
        .map(|c| text(c, "clarify_id").to_owned());
    let mut known: HashSet<String> = known.collect();
    let mut connection = Connection::open(panel);
    let mut lost = false;
    let result = loop {
        let news = tokio::select! {
            () = shutdown.cancelled() => break Ok(()),
            news = connection.next() => news,
        };
        match news {
            Some(News::Object(object)) => {
                if std::mem::take(&mut lost) {
                    output::remark("askbus: connected again");
                }
                match tell(panel, &object, json, &mut known).await {
                    Ok(Reader::There) => {}
                    Ok(Reader::Gone) => break Ok(()),
                    Err(failure) => break Err(failure),
                }
            }
            // Each further try would say the same.
            Some(News::Lost) if lost => {}
            Some(News::Lost) => {
                lost = true;
                let next = if panel.is_here() {
                    "; if the service was stopped, start it: askbus up"
                } else {
                    ""
                };
                output::remark(format_args!(
                    "askbus: the connection is lost; trying again{next}"
                ));
            }
            Some(News::Refused(failure)) => break Err(failure),
            None => break Ok(()),
        }
    };
    connection.close().await;
    result
}

/// Shows what an object is about, in the same form as the list.
async fn tell(
    panel: &Panel,
    object: &Value,
    json: bool,
    known: &mut HashSet<String>,
) -> Result<Reader, Failure> {
    let id = text(object, "clarify_id");
    let wanted = match text(object, "event") {
        "clarify.requested" => known.insert(id.to_owned()),
        "clarify.resolved" => object.get("resolved") == Some(&Value::Bool(true)),
        "clarify.held" | "clarify.late" => true,
        _ => false,
    };
    if !wanted {
        return Ok(Reader::There);
    }
    match panel.get(&format!("/api/clarifications/{id}")).await {
        Ok(body) => print_one(body.get("clarification").unwrap_or(&body), json),
        Err(failure) => {
            failure.report();
            Ok(Reader::There)
        }
    }
}
