//! One tenant's plans as the log tells them: the last one of each session, those that run and a
//! bounded number of those that ended.

use askbus_domain::{Addressee, AskerInfo, Plan, PlanEnd, ProfileId, SessionId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Plans that ended kept per tenant, the latest.
const MAX_ENDED: usize = 1_000;

/// A session's last plan with what surfaces need beside it.
#[derive(Debug, Clone)]
pub(crate) struct PlanCard {
    pub session: SessionId,
    pub profile: ProfileId,
    /// Whose it is to follow: the managers of a room; none is everybody who sees the profile.
    pub to: Option<Addressee>,
    /// Whose plan it is, for people to read.
    pub asker: AskerInfo,
    /// Log sequence of its last change.
    pub seq: u64,
    pub plan: Arc<Plan>,
}

/// The plans of one tenant.
#[derive(Default)]
pub(super) struct Plans {
    cards: HashMap<SessionId, Arc<PlanCard>>,
    /// Those that run and those that ended, by their last change.
    running: BTreeSet<(u64, SessionId)>,
    ended: BTreeSet<(u64, SessionId)>,
}

impl Plans {
    /// Folds a new revision of a session's plan.
    pub(super) fn show(&mut self, card: PlanCard) -> Option<Arc<PlanCard>> {
        let before = self.cards.get(&card.session);
        if before.is_some_and(|before| card.plan.revision <= before.plan.revision) {
            return None;
        }
        let card = Arc::new(card);
        if let Some(before) = self.cards.insert(card.session.clone(), Arc::clone(&card)) {
            let place = (before.seq, before.session.clone());
            self.running.remove(&place);
            self.ended.remove(&place);
        }
        let place = (card.seq, card.session.clone());
        if card.plan.is_running() {
            self.running.insert(place);
        } else {
            self.ended.insert(place);
        }
        if self.ended.len() > MAX_ENDED
            && let Some((_, oldest)) = self.ended.pop_first()
        {
            self.cards.remove(&oldest);
        }
        Some(card)
    }

    /// Folds the end of a session's plan.
    pub(super) fn end(
        &mut self,
        seq: u64,
        session: &SessionId,
        end: &PlanEnd,
    ) -> Option<Arc<PlanCard>> {
        let before = self.cards.get(session)?;
        let card = PlanCard {
            seq,
            plan: Arc::new(before.plan.ended(end)),
            ..before.as_ref().clone()
        };
        self.show(card)
    }

    /// Those that run and then those that ended, each the latest first.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<PlanCard>> {
        let latest_first = self.running.iter().rev().chain(self.ended.iter().rev());
        latest_first.filter_map(|(_, session)| self.cards.get(session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{ExecutionState, PlanId, RunId, Timestamp};

    fn card(session: &str, revision: u64, seq: u64) -> PlanCard {
        let at = Timestamp::from_unix_millis(0);
        PlanCard {
            session: SessionId::new(session).unwrap(),
            profile: ProfileId::new("default").unwrap(),
            to: None,
            asker: AskerInfo::default(),
            seq,
            plan: Arc::new(Plan {
                plan_id: PlanId::parse("0197e0a0-0000-7000-8000-000000000001").unwrap(),
                run_id: RunId::new("r").unwrap(),
                revision,
                execution_state: ExecutionState::Running,
                explanation: None,
                steps: Vec::new(),
                created_at: at,
                updated_at: at,
            }),
        }
    }

    fn end(revision: u64) -> PlanEnd {
        PlanEnd {
            plan_id: PlanId::parse("0197e0a0-0000-7000-8000-000000000001").unwrap(),
            revision,
            execution_state: ExecutionState::Ended,
            at: Timestamp::from_unix_millis(0),
        }
    }

    // contract: E16
    #[test]
    fn the_highest_revision_of_a_session_stays() {
        let mut plans = Plans::default();
        assert!(plans.show(card("a", 2, 10)).is_some());
        assert!(plans.show(card("a", 1, 11)).is_none());
        assert!(plans.show(card("a", 2, 12)).is_none());
        assert!(plans.show(card("b", 1, 13)).is_some());
        let session = SessionId::new("a").unwrap();
        assert!(plans.end(14, &session, &end(2)).is_none());
        let ended = plans.end(15, &session, &end(3)).unwrap();
        assert_eq!((ended.seq, ended.plan.revision), (15, 3));
        assert!(
            plans
                .end(16, &SessionId::new("c").unwrap(), &end(1))
                .is_none()
        );
        let order: Vec<&str> = plans.all().map(|c| c.session.as_str()).collect();
        assert_eq!(order, ["b", "a"], "what runs comes first");
    }

    #[test]
    fn few_of_those_that_ended_are_kept_and_all_that_run() {
        let mut plans = Plans::default();
        for n in 0..MAX_ENDED as u64 + 5 {
            let name = format!("s{n}");
            plans.show(card(&name, 1, 2 * n));
            let session = SessionId::new(name).unwrap();
            plans.end(2 * n + 1, &session, &end(2));
            plans.show(card(&format!("on{n}"), 1, 100_000 + n));
        }
        assert_eq!(plans.ended.len(), MAX_ENDED);
        assert_eq!(plans.running.len(), MAX_ENDED + 5);
        assert_eq!(plans.cards.len(), 2 * MAX_ENDED + 5);
        assert!(!plans.cards.contains_key(&SessionId::new("s4").unwrap()));
        assert_eq!(plans.all().next().unwrap().session.as_str(), "on1004");
    }
}
