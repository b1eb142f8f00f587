//! Showing a plan: in the turn of the host, else in this process's own, which then begins as it would
//! with a question.

use super::backoff::Backoff;
use super::place::{Patience, is_turn_over, may_pass, ready};
use super::{AskCall, Asker, Inner, branch, closed, silent};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::proto;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long an agent's work waits at most for a service that cannot be reached: nobody waits for a
/// plan.
const PATIENCE: Duration = Duration::from_secs(5);

impl Asker {
    /// Shows the plan that the call's arguments hold. A call that is repeated inside keeps its
    /// `update_id`, so that it counts once.
    ///
    /// # Errors
    /// [`ErrorCode::Unavailable`] if the service could not be reached for a few seconds; the plan may
    /// be shown all the same. Else what the service says.
    pub async fn update_plan(&self, call: &AskCall) -> Result<proto::Plan, WireError> {
        let inner = &self.inner;
        let patience = Patience::Until(Instant::now() + inner.patience.min(PATIENCE));
        let mut update = Update {
            inner,
            call,
            patience,
            update_id: inner.ids.new_id(),
            asker: call.asker(
                inner,
                &branch::of(&inner.info.cwd).await.unwrap_or_default(),
            ),
            renewed: false,
        };
        let mut backoff = Backoff::default();
        let mut credential_reread = false;
        loop {
            let sent = tokio::select! {
                biased;
                () = inner.closing.cancelled() => return Err(closed()),
                sent = update.send() => sent,
            };
            match sent {
                // The refused credential is forgotten; the file may hold a newer one.
                Err(error) if error.code == ErrorCode::Unauthenticated && !credential_reread => {
                    credential_reread = true;
                    continue;
                }
                Err(error) if may_pass(error.code) && !patience.is_over() => {}
                sent => return sent,
            }
            tokio::time::sleep(backoff.next_pause()).await;
        }
    }
}

struct Update<'a> {
    inner: &'a Arc<Inner>,
    call: &'a AskCall,
    patience: Patience,
    update_id: String,
    asker: proto::AskerInfo,
    renewed: bool,
}

impl Update<'_> {
    async fn send(&mut self) -> Result<proto::Plan, WireError> {
        let inner = self.inner;
        let given = self.call.context.as_ref().or(inner.context.as_ref());
        if let Some(context_id) = given {
            return self.in_turn(context_id.clone()).await;
        }
        // The own turn lives as long as this process is heard.
        ready(inner, self.patience, &silent()).await?;
        let named = self.call.origin.session.as_deref();
        loop {
            let context = inner
                .turn
                .context(&inner.connection, &self.call.trace, named);
            let (context_id, sent) = match context.await {
                Ok(context_id) => {
                    let sent = self.in_turn(context_id.clone()).await;
                    (Some(context_id), sent)
                }
                Err(error) => (None, Err(error)),
            };
            match (sent, context_id) {
                (Err(error), context_id) if !self.renewed && is_turn_over(error.code) => {
                    // Gone with the lease during an outage: once, another turn is begun.
                    self.renewed = true;
                    match context_id {
                        Some(context_id) => inner.turn.over(&context_id, inner.ids.new_id()),
                        None => inner.turn.overtaken(inner.ids.new_id()),
                    }
                }
                (sent, _) => return sent,
            }
        }
    }

    async fn in_turn(&self, context_id: String) -> Result<proto::Plan, WireError> {
        let request = self.call.trace.request(proto::UpdatePlanRequest {
            update_id: self.update_id.clone(),
            context_id,
            profile: self.inner.profile.clone(),
            input: Some(proto::update_plan_request::Input::ArgumentsJson(
                self.call.arguments.to_string(),
            )),
            plan_alone: true,
            asker: Some(self.asker.clone()),
        });
        let updated = self
            .inner
            .connection
            .call(|mut client| async move { client.plans.update(request).await })
            .await?;
        updated.plan.ok_or_else(|| {
            let text = "the plan cannot be read by this version; upgrade it";
            WireError::new(ErrorCode::UpgradeNeeded, text)
        })
    }
}
