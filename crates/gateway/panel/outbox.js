/**
 * Answers that nobody has confirmed yet. They outlive a lost connection and a reload, and go out
 * again under the same id, which the server takes only once.
 */
import { forget, keysFrom, load, save } from './storage.js';

/** @typedef {import('./types.js').Submission} Submission */
/** @typedef {import('./types.js').Request} Request */
/** @typedef {{submission: Submission, request: Request, left?: boolean}} Kept */

export class Outbox {
  #prefix = '';
  /** @type {Map<string, Kept>} */
  #kept = new Map();
  /** Ids of those that this page alone holds: the browser had no room for them. @type {Set<string>} */
  #here = new Set();

  /** Reads what an earlier page left. @param {string} owner */
  start(owner) {
    this.#prefix = `askbus.outbox.${owner}.`;
    for (const key of keysFrom(this.#prefix)) {
      const value = /** @type {any} */ (load(key));
      const id = value?.submission?.clarify_id;
      if (typeof id === 'string' && typeof value.submission.answer_id === 'string' && Array.isArray(value.request?.questions)) {
        this.#kept.set(id, value);
      } else {
        forget(key);
      }
    }
  }

  /**
   * @param {Request} request
   * @param {Submission} submission
   * @returns {boolean} Whether it outlives this page.
   */
  put(request, submission) {
    const kept = { submission, request };
    this.#kept.set(submission.clarify_id, kept);
    return save(this.#prefix + submission.clarify_id, kept) || this.#saveBriefly(kept);
  }

  /**
   * In a browser that has little room left the question goes without its pictures of itself.
   * @param {Kept} kept
   */
  #saveBriefly({ submission, request }) {
    const { clarify_id } = submission;
    const done = save(this.#prefix + clarify_id, { submission, request: { ...request, html: {} } });
    if (!done) this.#here.add(clarify_id);
    return done;
  }

  /** Whether closing this page would lose an answer. */
  get holdsAlone() {
    return this.#here.size > 0;
  }

  /** It goes out: from now on nobody but the service knows what became of it. @param {string} id */
  leaves(id) {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.left === true) return;
    kept.left = true;
    save(this.#prefix + id, kept);
  }

  /** Whether it ever went out. @param {string} id */
  hasLeft(id) {
    return this.#kept.get(id)?.left === true;
  }

  /** @param {string} id @returns {Submission|null} */
  get(id) {
    return this.#kept.get(id)?.submission ?? null;
  }

  /** @returns {Kept[]} */
  all() {
    return [...this.#kept.values()];
  }

  /** @param {string} id */
  drop(id) {
    this.#kept.delete(id);
    this.#here.delete(id);
    forget(this.#prefix + id);
  }
}

/**
 * A submission as it goes over the socket.
 * @param {Submission} submission
 */
export function respondMessage(submission) {
  return { event: 'clarify.respond', ...submission };
}
