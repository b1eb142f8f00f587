/** What was settled while nobody listened, and what this person had written for it. */

import { holdsUnsaid } from './drafts.js';
import { readOutcome } from './outcome.js';
import { readPast } from './past.js';
import { request } from './requests.js';

/** Questions looked up at once; the rest are shown without their ends. */
const LOOKED_UP = 20;

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./drafts.js').Drafts} Drafts */
/** @typedef {import('./store.js').Store} Store */

/**
 * Closes what does not wait any more. What this person was sending or had written stays to be seen.
 * @param {Entry[]} missing What waits here and not there.
 * @param {import('./recent.js').Settled[]} settled What the service says was settled lately.
 * @param {{store: Store, drafts: Drafts, hasUnsent: (id: string) => boolean}} means
 */
export function closeMissing(missing, settled, { store, drafts, hasUnsent }) {
  for (const entry of missing) {
    const id = entry.request.clarify_id;
    const outcome = settled.find((item) => item.clarify_id === id);
    const underWay = entry.state === 'sending' || entry.state === 'sent';
    if (underWay || hasUnsent(id)) {
      // An answer under way is judged by the service, which says so.
      if (outcome) store.resolved(id, outcome);
      else if (!underWay) store.closedUnseen(id);
    } else {
      drafts.settle(id, outcome, store.me);
      store.remove(id);
    }
  }
}

/**
 * Drafts of an earlier visit whose questions are over, and how they ended where the service says so. What
 * this person has sent from elsewhere meanwhile is no draft any more.
 * @param {Store} store
 * @param {Drafts} drafts
 * @param {import('./outbox.js').Outbox} outbox
 */
export async function leftOver(store, drafts, outbox) {
  const orphans = drafts.orphans((id) => store.get(id) !== undefined || outbox.get(id) !== null);
  const ended = await Promise.all(orphans.slice(0, LOOKED_UP).map(({ request }) => howItEnded(request.clarify_id)));
  return orphans.flatMap(({ request, content }, nth) => {
    const outcome = ended[nth] ?? null;
    if (outcome === null || holdsUnsaid(content, outcome, store.me)) return [{ request, content, outcome }];
    drafts.drop(request.clarify_id);
    return [];
  });
}

/** @param {string} id @returns {Promise<import('./types.js').Outcome|null>} Null where nobody can say. */
async function howItEnded(id) {
  try {
    const answer = await request(`/api/clarifications/${encodeURIComponent(id)}`);
    const item = answer.ok ? readPast((await answer.json()).clarification) : null;
    return item === null ? null : readOutcome(item);
  } catch {
    return null;
  }
}
