//! An answer to a session that nobody touched while many others were written.

use super::asking::Asker;
use super::place::Access;
use super::samples::{Samples, Spread};
use anyhow::Result;
use serde::Serialize;

/// From submitting until the asker has heard, one question at a time.
#[derive(Debug, Clone, Serialize)]
pub struct ColdSessions {
    /// The session's last message lies this many messages back in the log.
    pub messages_between: usize,
    /// The first answer since then.
    pub cold: Spread,
    /// A question asked and answered in the same session right afterwards.
    pub warm: Spread,
}

/// Sessions in each of which one question waits.
pub(crate) struct Waiting {
    asker: Asker,
    ids: Vec<String>,
}

impl Waiting {
    /// Asks one question in each of so many sessions.
    pub(crate) async fn ask(access: &Access, sessions: usize) -> Result<Self> {
        let asker = access.asker(access.tenant, "cold", sessions).await?;
        let mut ids = Vec::with_capacity(sessions);
        for session in 0..sessions {
            ids.push(asker.ask(session).await?);
        }
        Ok(Self { asker, ids })
    }

    /// Answers them, after `messages_between` others were written.
    pub(crate) async fn answer(
        self,
        access: &Access,
        messages_between: usize,
    ) -> Result<ColdSessions> {
        let (mut cold, mut warm) = (Samples::default(), Samples::default());
        for (session, id) in self.ids.iter().enumerate() {
            // A connection for this session alone: nobody looks at it until now.
            let name = format!("cold-{session}");
            let opened = access
                .live_person(access.tenant, "ann", Some(&name))
                .await?;
            let mut person = opened.0;
            let begun = person.answer(id, &name).await?;
            cold.add(self.asker.outcome(id).await?.at.duration_since(begun));
            let id = self.asker.ask(session).await?;
            let shown = person.question_with(&id).await?;
            let begun = person.answer(&id, &shown.session_id).await?;
            warm.add(self.asker.outcome(&id).await?.at.duration_since(begun));
        }
        Ok(ColdSessions {
            messages_between,
            cold: cold.spread(),
            warm: warm.spread(),
        })
    }
}
