/** What was settled while nobody listened, and what this person had written for it. */

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
 * Drafts of an earlier visit whose questions are over.
 * @param {Store} store
 * @param {Drafts} drafts
 * @param {import('./outbox.js').Outbox} outbox
 */
export function leftOver(store, drafts, outbox) {
  return drafts.orphans((id) => store.get(id) !== undefined || outbox.get(id) !== null);
}
