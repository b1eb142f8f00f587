//! Questions in a shared chat that are for somebody else than whoever writes: their names are read there
//! by all.

use super::reply::{Chat, Mentions, Reply};
use crate::ClarifyId;

/// The one of `others`, which wait in this chat for somebody else, that `reply` names; none when its name
/// is that of something in `chat`, or of nothing at all.
pub fn named_of_others(chat: &Chat, others: &[ClarifyId], reply: &Reply<'_>) -> Option<ClarifyId> {
    let Mentions { lead, about } = reply.mentions();
    let mine = || {
        let ended = chat.ended.iter().map(|ended| ended.id);
        chat.waiting.iter().map(|waiting| waiting.id).chain(ended)
    };
    let is_known = |id: &ClarifyId| mine().any(|known| known == *id);
    let others = || others.iter().copied().filter(|id| !is_known(id));
    // What is written counts before what it replies to; without a hash it is a name only where
    // something is called so.
    if let Some((hash, name)) = lead.and_then(|lead| Some((lead.hash, lead.name()?))) {
        if mine().any(|id| name.fits(id)) {
            return None;
        }
        let found = others().find(|id| name.fits(*id));
        if hash || found.is_some() {
            return found;
        }
    }
    let is_named = |id: ClarifyId| about.iter().any(|name| name.fits(id));
    if mine().any(is_named) {
        return None;
    }
    others().find(|id| is_named(*id))
}
