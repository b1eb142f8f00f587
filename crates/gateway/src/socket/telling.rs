//! What a socket says: the replay, and news as they come.

use super::{Socket, Speech, Step, interaction, studio};
use crate::askers::Asker;
use crate::feed::{News, Snapshot, Written};
use crate::projection::{Card, Change, ChangeKind as Kind, PlanCard};
use crate::{drafts, plans, view};
use askbus_domain::{SessionId, Timestamp};
use serde_json::Value;

impl Socket {
    /// Whether the socket was opened for this session, or for all.
    fn wants(&self, session: &SessionId) -> bool {
        self.session.as_ref().is_none_or(|s| s == session.as_str())
    }

    fn wants_plan(&self, card: &PlanCard) -> bool {
        // N2 knows no plans.
        self.speech == Speech::Studio
            && self.person.viewer().sees_plan(card)
            && self.wants(&card.session)
    }

    pub(super) async fn replay(&mut self, snapshot: &Snapshot, first: bool) -> Step {
        for (seq, card) in &snapshot.resolved {
            if let Some(object) = self
                .resolved(card, *seq)
                .filter(|_| self.wants(&card.session))
            {
                self.send(&object).await?;
            }
        }
        let pending: Vec<_> = snapshot
            .pending
            .iter()
            .filter(|c| self.wants(&c.session))
            .cloned()
            .collect();
        for card in &pending {
            if let Some(object) = self.requested(card) {
                self.send(&object).await?;
            }
        }
        if self.speech == Speech::Interaction {
            return Ok(());
        }
        for card in &snapshot.plans {
            if self.wants_plan(card) {
                self.send(&plans::updated(card)).await?;
            }
        }
        if first {
            for (card, stored) in drafts::own(&self.gateway, &self.person, &pending).await {
                self.send(&drafts::own_event(&card, &stored.draft)).await?;
            }
        }
        self.send(&studio::ready(snapshot.seq, &pending)).await
    }

    pub(super) fn requested(&self, card: &Card) -> Option<Value> {
        match self.speech {
            Speech::Studio => {
                let (now, asker) = self.asker(card);
                let object = view::requested(card, now, asker, &self.person);
                Some(if self.panel {
                    view::rendered(object, card)
                } else {
                    object
                })
            }
            Speech::Interaction => interaction::request(card),
        }
    }

    fn asker(&self, card: &Card) -> (Timestamp, Asker) {
        let (now, presence) = (self.gateway.now(), &self.gateway.presence);
        let asker = presence.asker(self.person.tenant(), &card.clarification, now);
        (now, asker)
    }

    fn resolved(&self, card: &Card, seq: u64) -> Option<Value> {
        let outcome = card.clarification.outcome.as_ref()?;
        match self.speech {
            Speech::Studio => Some(view::resolved(card, seq, outcome)),
            Speech::Interaction => interaction::resolved(card, outcome),
        }
    }

    pub(super) async fn tell(&mut self, news: &News) -> Step {
        let object = match news {
            News::Change(Change { card, .. })
            | News::Draft(Written { card, .. })
            | News::Asker(card)
                if !self.person.viewer().sees(card) || !self.wants(&card.session) =>
            {
                None
            }
            News::Change(change) => self.change(change),
            News::Plan(card) => self.wants_plan(card).then(|| plans::updated(card)),
            News::Asker(_) if self.speech == Speech::Interaction => None,
            News::Asker(card) => {
                let (now, asker) = self.asker(card);
                Some(view::asker(card, now, asker))
            }
            News::Draft(written) if written.socket == Some(self.seat.number) => None,
            News::Draft(_) if self.speech == Speech::Interaction => None,
            News::Draft(written) => Some(drafts::event(written, &self.person)),
        };
        match object {
            Some(object) => self.send(&object).await,
            None => Ok(()),
        }
    }

    fn change(&self, change: &Change) -> Option<Value> {
        let (card, seq) = (&*change.card, change.seq);
        match (change.kind, self.speech) {
            (Kind::Requested, _) => self.requested(card),
            (Kind::Resolved, _) => self.resolved(card, seq),
            (Kind::Held, Speech::Studio) => Some(view::held(card, seq, self.gateway.now())),
            (Kind::Late, Speech::Studio) => Some(view::late(card, seq)),
            (Kind::Held | Kind::Late, Speech::Interaction) => None,
        }
    }
}
