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
  /** Small keys of their own: there is room for them when there is none for anything else. */
  #marks = '';
  /** @type {Map<string, Kept>} */
  #kept = new Map();
  /** Ids of those that this page alone holds: the browser had no room for them. @type {Set<string>} */
  #here = new Set();
  /** @type {(() => void)[]} */
  #waiting = [];

  /** Reads what an earlier page left. @param {string} owner */
  start(owner) {
    this.#prefix = `askbus.outbox.${owner}.`;
    this.#marks = `askbus.left.${owner}.`;
    for (const key of keysFrom(this.#prefix)) {
      const value = /** @type {any} */ (load(key));
      const id = value?.submission?.clarify_id;
      if (typeof id === 'string' && typeof value.submission.answer_id === 'string' && Array.isArray(value.request?.questions)) {
        if (load(this.#marks + id) === value.submission.answer_id) value.left = true;
        this.#kept.set(id, value);
      } else {
        forget(key);
      }
    }
    for (const key of keysFrom(this.#marks)) {
      if (!this.#kept.has(key.slice(this.#marks.length))) forget(key);
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

  /**
   * It goes out: from now on nobody but the service knows what became of it. Said before it does, so that
   * a page that ends in between does not call it unsent.
   * @param {string} id
   * @returns {boolean} Whether a reload knows it as well.
   */
  leaves(id) {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.left === true) return true;
    kept.left = true;
    if (save(this.#marks + id, kept.submission.answer_id) || this.#here.has(id)) return true;
    const { submission, request } = kept;
    if (save(this.#prefix + id, { submission, request: { ...request, html: {} }, left: true })) return true;
    // Better nothing than an answer that looks as if it had never been sent.
    forget(this.#prefix + id);
    this.#here.add(id);
    return false;
  }

  /** It did not go out after all. @param {string} id */
  stays(id) {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    kept.left = false;
    forget(this.#marks + id);
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
    forget(this.#marks + id);
    if (this.#kept.size === 0) for (const tell of this.#waiting.splice(0)) tell();
  }

  /** Waits until nothing is under way, for so long. @param {number} ms @returns {Promise<void>} */
  emptied(ms) {
    if (this.#kept.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      setTimeout(resolve, ms);
    });
  }

  /** Nothing of this person stays in the browser. */
  forgetAll() {
    for (const id of [...this.#kept.keys()]) this.drop(id);
  }
}

/**
 * A submission as it goes over the socket.
 * @param {Submission} submission
 */
export function respondMessage(submission) {
  return { event: 'clarify.respond', ...submission };
}
