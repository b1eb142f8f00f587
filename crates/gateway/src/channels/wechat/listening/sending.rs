//! What people are told of their own messages: sent, sent again, given up, and sent once more when they
//! write.

use super::super::super::chat::Heard;
use super::super::super::given_up::{self, GivenUp};
use super::super::super::ilink::{self, Failed, Received};
use super::super::outbox::{self, Text};
use super::{Gone, Listener};
use tokio::time::Instant;

/// Room that is left for replies to new messages when what was given up is sent once more.
const ROOM: usize = outbox::MOST / 2;

impl Listener<'_> {
    /// Puts what the author of a message is told into the outbox.
    pub(super) fn tell(&mut self, id: &str, received: &Received, heard: Heard) {
        let settled = heard.clarify_id.filter(|_| heard.verdict == "settled");
        if let Some(id) = settled {
            self.channel.told_here.to_tell(id);
        }
        let last = heard.messages.len().saturating_sub(1);
        let since = self.gateway.now();
        let texts = heard.messages.into_iter().enumerate();
        let texts = texts.map(|(n, text)| Text {
            client_id: format!("{id}.{n}"),
            to: received.from.clone(),
            context: received.context.clone(),
            text,
            about: heard.clarify_id,
            since,
            settled: settled.filter(|_| n == last),
        });
        self.outbox.put(texts);
        self.count();
    }

    /// What this person was not told before is sent once more, now that they have written: after what
    /// they are told now.
    pub(super) fn tell_again(&mut self, to: &str) {
        let Some(context) = self.contexts.get(to) else {
            return;
        };
        for one in &self.given_up {
            let theirs = one.to.as_deref() == Some(to) && !self.outbox.holds(&one.id);
            if theirs && self.outbox.len() < ROOM {
                self.outbox.put([Text::again(one, to, context)]);
            }
        }
        self.count();
    }

    pub(super) fn count(&self) {
        let given_up = self.given_up.iter();
        let given_up = given_up.filter(|one| !self.outbox.holds(&one.id)).count();
        self.channel.unsaid(self.outbox.len() + given_up);
    }

    /// Begins to send what is to be sent next.
    pub(super) fn send_next(&mut self) {
        let Some(text) = self.outbox.next(Instant::now()).cloned() else {
            return;
        };
        let (target, bot) = (self.target, self.bot);
        self.sending.push(Box::pin(async move {
            let Text {
                client_id,
                to,
                context,
                text,
                ..
            } = text;
            let sent = ilink::send(target, bot, &to, &context, &client_id, &text).await;
            (client_id, sent)
        }));
    }

    /// Notes what an attempt came to.
    pub(super) async fn sent(&mut self, id: &str, sent: Result<(), Failed>) -> Result<(), Gone> {
        let done = match sent {
            Ok(()) => {
                if self.given_up.iter().any(|one| one.id == id) {
                    self.change_given_up(|list| list.retain(|one| one.id != id))
                        .await;
                }
                self.outbox.sent(id).map(|text| (text, true))
            }
            Err(error) => {
                self.channel.failed();
                let failed = self.outbox.failed(id, Instant::now());
                let given_up = failed != outbox::Failed::Again;
                tracing::warn!(channel = self.channel.name, %error, given_up,
                    "what became of a message was not told");
                match failed {
                    outbox::Failed::Again => None,
                    outbox::Failed::GivenUp(text, attempts) => {
                        self.give_up(&text, attempts, &error).await;
                        Some((text, false))
                    }
                }
            }
        };
        self.count();
        if let Some((text, sent)) = done
            && let Some(id) = text.settled
        {
            self.channel.told_here.told(id, sent);
        }
        self.write_down(None).await
    }

    async fn give_up(&mut self, text: &Text, attempts: u32, error: &Failed) {
        let one = GivenUp {
            id: text.client_id.clone(),
            to: Some(text.to.clone()),
            text: text.text.clone(),
            about: text.about,
            since: text.since,
            attempts,
            problem: error.to_string(),
            failed_at: self.gateway.now(),
        };
        self.change_given_up(|list| given_up::add(list, one.clone()))
            .await;
    }

    async fn change_given_up(&mut self, change: impl Fn(&mut Vec<GivenUp>)) {
        change(&mut self.given_up);
        given_up::change(self.gateway, self.channel, change).await;
    }
}
