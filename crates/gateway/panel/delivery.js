/**
 * Sees to it that an answer arrives: sends it, sends it again under the same id after a lost
 * connection or when the service could not take it, until somebody says what became of it.
 */
import { t } from './i18n.js';
import { respondMessage } from './outbox.js';
import { notice } from './page.js';

/** @typedef {import('./types.js').Submission} Submission */

/** An answer nobody mentions for this long is sent once more. */
const PATIENCE_MS = 8000;
/** How long to wait before sending again what the service could not take just now. */
const AGAIN_MS = 3000;

/** Refusals that concern the moment, not the answer. */
const FOR_NOW = new Set(['UNAVAILABLE', 'RATE_LIMITED', 'FULL', 'INTERNAL', 'UNAUTHENTICATED']);
/** What a refusal is called when the question is settled already. */
const OVER = new Set([
  'UNKNOWN_CLARIFICATION', 'response', 'ask_back', 'dismissed', 'skipped',
  'timeout', 'cancelled', 'unattended', 'deferred', 'off',
]);

/**
 * What a `clarify.resolved` with `resolved: false` means for the answer.
 * @param {{reason?: unknown, stale?: unknown, verdict?: unknown}} refusal
 * @returns {'later'|'late'|'refused'}
 */
export function judgeRefusal(refusal) {
  const reason = String(refusal.reason ?? '');
  if (FOR_NOW.has(reason)) return 'later';
  return refusal.stale === true || refusal.verdict === 'late' || refusal.verdict === 'conflict' || OVER.has(reason) ? 'late' : 'refused';
}

export class Delivery {
  #outbox;
  #store;
  #connection;
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */
  #timers = new Map();

  /**
   * @param {import('./outbox.js').Outbox} outbox
   * @param {import('./store.js').Store} store
   * @param {import('./connection.js').Connection} connection
   */
  constructor(outbox, store, connection) {
    this.#outbox = outbox;
    this.#store = store;
    this.#connection = connection;
  }

  /** @param {Submission} submission */
  send(submission) {
    const id = submission.clarify_id;
    const before = this.#outbox.hasLeft(id);
    if (this.#connection.online && !this.#outbox.leaves(id)) notice(t('state.only_here'));
    const left = this.#connection.send(respondMessage(submission));
    if (!left && !before) this.#outbox.stays(id);
    this.#store.sending(submission, left, this.#outbox.hasLeft(id));
    if (left) this.#wait(id, PATIENCE_MS);
  }

  /** After a connection came back. */
  sendAll() {
    for (const { submission } of this.#outbox.all()) this.send(submission);
  }

  /** The service could not take it just now. @param {string} id */
  later(id) {
    this.#wait(id, AGAIN_MS);
  }

  /** Nothing is under way for this question any more. @param {string} id */
  done(id) {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.#outbox.drop(id);
  }

  /** @param {string} id @param {number} ms */
  #wait(id, ms) {
    clearTimeout(this.#timers.get(id));
    this.#timers.set(id, setTimeout(() => {
      this.#timers.delete(id);
      const submission = this.#outbox.get(id);
      // Offline, the next connection sends it.
      if (submission !== null && this.#connection.online) this.send(submission);
    }, ms));
  }
}
