/**
 * Drafts on their way as requests: one at a time, of each question the last, and again a little later
 * when the service could not take it.
 */
import { post } from './requests.js';

/** The service takes one draft a second of each person, from whatever tab. */
const AGAIN_MS = 1100;

export class DraftPosts {
  /** @type {Map<string, any>} */
  #waiting = new Map();
  #running = false;

  /** @param {any} message A `clarify.draft`. */
  put(message) {
    this.#waiting.set(message.clarify_id, message);
    if (!this.#running) void this.#run();
  }

  /** @param {string} id */
  drop(id) {
    this.#waiting.delete(id);
  }

  /** This way is closed; the browser keeps what was not taken. */
  stop() {
    this.#waiting.clear();
  }

  async #run() {
    this.#running = true;
    while (this.#waiting.size > 0) {
      const [[id, message]] = this.#waiting;
      if (!(await isDone(message))) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      // Unless something newer was written meanwhile.
      else if (this.#waiting.get(id) === message) this.#waiting.delete(id);
    }
    this.#running = false;
  }
}

/** Whether a draft was taken, or never will be. @param {any} message */
async function isDone({ event, clarify_id, ...body }) {
  try {
    const answer = await post(`/api/clarifications/${encodeURIComponent(clarify_id)}/draft`, body);
    return answer.status !== 429 && answer.status < 500;
  } catch {
    return false;
  }
}
