//! Tabs in which a person types and sends nothing: what they typed is saved by itself, is there again
//! wherever they look, and is nobody else's to read.

use crate::panel::{self, Socket};
use crate::random::Random;
use crate::world::{Shown, Typing, World};
use askbus_domain::{ClarifyId, SessionId, TenantId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::time::Instant;

/// How often the same text is changed at most.
const EDITS: u64 = 4;

/// What begins everything that somebody types.
pub(crate) fn words_of(tenant: &TenantId, person: &str) -> String {
    format!("unsent words of {person} in {tenant}")
}

struct Tab {
    world: Arc<World>,
    person: &'static str,
    name: String,
    random: Random,
    /// What is to be typed, and when.
    plans: Vec<(Instant, ClarifyId)>,
    /// What stands in the tab.
    texts: BTreeMap<ClarifyId, Text>,
}

struct Text {
    session: SessionId,
    words: String,
    edits: u64,
}

/// One tab until the run is over.
pub(crate) async fn live(world: Arc<World>, person: &'static str, nth: u64, random: Random) {
    let Some(token) = world.keys.person(person) else {
        return world.broken(format!("{person} has no credential"));
    };
    let mut tab = Tab {
        world: Arc::clone(&world),
        person,
        name: format!("tab-{nth}"),
        random,
        plans: Vec::new(),
        texts: BTreeMap::new(),
    };
    while !world.over.is_cancelled() {
        if let Some(socket) = Socket::open(&world, token, None, &mut tab.random).await {
            tab.look(socket).await;
        }
        let pause = tab.random.millis(10, 1_500);
        let _ = tokio::time::timeout(pause, world.over.cancelled()).await;
    }
}

impl Tab {
    /// Types while the connection stands.
    async fn look(&mut self, mut socket: Socket) {
        let (world, connection) = (Arc::clone(&self.world), self.world.connection());
        // What was typed on the last connection may not have been saved.
        let again: Vec<ClarifyId> = self.texts.keys().copied().collect();
        for id in again {
            self.plan(id, 500);
        }
        loop {
            let due = self.plans.iter().map(|(at, _)| *at).min();
            tokio::select! {
                biased;
                () = world.over.cancelled() => return,
                object = socket.next() => match object {
                    Some(object) => self.hear(connection, object),
                    None => return,
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    if !self.act(&mut socket).await {
                        return;
                    }
                }
            }
        }
    }

    fn plan(&mut self, id: ClarifyId, within: u64) {
        let pause = self.random.millis(0, within);
        self.plans.push((Instant::now() + pause, id));
    }

    fn hear(&mut self, connection: u64, object: Value) {
        let event = object.get("event").and_then(Value::as_str).unwrap_or("");
        let refused = object.get("resolved") == Some(&Value::Bool(false));
        match (event, panel::question(&object)) {
            ("clarify.requested", Some(id)) if !self.texts.contains_key(&id) => {
                let session = object.get("session_id").and_then(Value::as_str);
                if let Some(session) = session.and_then(|s| SessionId::new(s).ok())
                    && self.random.percent(50)
                {
                    let text = Text {
                        session,
                        words: String::new(),
                        edits: self.random.between(1, EDITS),
                    };
                    self.texts.insert(id, text);
                    self.plan(id, 6_000);
                }
            }
            // This gateway could not look the question up just now.
            (_, Some(id)) if refused => self.plan(id, 2_000),
            ("error", _) => {
                let error = object.to_string();
                self.world
                    .broken(format!("{} was told {error}", self.person));
            }
            _ => {}
        }
        let at = self.world.clock.now();
        self.world.records().shown.push(Shown {
            person: self.person,
            connection,
            at,
            object,
        });
    }

    /// Types what is due; false when the connection is over.
    async fn act(&mut self, socket: &mut Socket) -> bool {
        let now = Instant::now();
        while let Some(place) = self.plans.iter().position(|(at, _)| *at <= now) {
            let (_, id) = self.plans.swap_remove(place);
            self.type_on(id);
            let Some(text) = self.texts.get(&id).filter(|text| !text.words.is_empty()) else {
                continue;
            };
            let draft = json!({"event": "clarify.draft", "clarify_id": id, "tab": self.name,
                "text": text.words});
            let more = text.edits > 0;
            if !socket.send(&draft).await {
                return false;
            }
            if more {
                self.plan(id, 3_000);
            }
        }
        true
    }

    /// Types a little more, as long as anybody asks.
    fn type_on(&mut self, id: ClarifyId) {
        let over = self.world.asked.is_cancelled();
        let Some(text) = self.texts.get_mut(&id) else {
            return;
        };
        text.edits = if over { 0 } else { text.edits };
        if text.edits == 0 {
            return;
        }
        text.edits -= 1;
        let words = words_of(&self.world.tenant, self.person);
        text.words = format!("{words}, {} to {id}, {} to go", self.name, text.edits);
        let typing = Typing {
            person: self.person,
            tab: self.name.clone(),
            clarify_id: id,
        };
        let typed = (text.session.clone(), text.words.clone());
        self.world.records().typed.insert(typing, typed);
    }
}
