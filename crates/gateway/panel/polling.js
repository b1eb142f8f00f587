/**
 * The way round where a WebSocket does not get through: asks again and again for what is new, which the
 * service answers when there is something, and sends what the person does as requests.
 */
import { post, request } from './requests.js';

/** The service waits for news for 25 s at most: longer than this is an end. */
const PATIENCE_MS = 35_000;
/** A pause after an answer that holds nothing new: a proxy may answer at once. */
const PAUSE_MS = 300;

/** The service takes one draft a second of each person, from whatever tab. */
const AGAIN_MS = 1100;

/** What the person does, and where it goes. */
const PLACES = /** @type {Record<string, string>} */ ({ 'clarify.respond': 'answer', 'clarify.hold': 'hold', 'clarify.pass_on': 'pass-on' });

/**
 * @typedef {object} Handlers
 * @property {(message: any) => void} message
 * @property {(state: 'online'|'offline') => void} state
 * @property {() => string} tab The name under which this tab writes.
 */

export class Polling {
  #handlers;
  /** @type {AbortController|null} */
  #asking = null;
  #drafts = new DraftPosts();

  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.#handlers = handlers;
  }

  get running() {
    return this.#asking !== null;
  }

  stop() {
    this.#asking?.abort();
    this.#asking = null;
    this.#drafts.stop();
  }

  /** Asks until it is stopped or refused. */
  async run() {
    const asking = new AbortController();
    this.#asking = asking;
    let known = 0;
    let heard = '';
    try {
      while (!asking.signal.aborted) {
        // What is open is asked for once, whatever is known of its past.
        const wanted = new URLSearchParams({ surface: 'panel', tab: this.#handlers.tab() });
        if (known > 0) wanted.set('after', String(known));
        if (heard !== '') wanted.set('since', heard);
        const answer = await request(`/api/events?${wanted}`, { signal: asking.signal }, PATIENCE_MS);
        if (!answer.ok) break;
        const { events, seq, now } = await answer.json();
        if (asking.signal.aborted) return;
        const before = known;
        known = Number(seq) || known;
        heard = String(now ?? '');
        for (const event of Array.isArray(events) ? events : []) this.#handlers.message(event);
        if (before === 0) this.#handlers.state('online');
        if (known === before) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      // Not reachable this way either.
    }
    if (this.#asking !== asking) return;
    this.stop();
    this.#handlers.state('offline');
  }

  /**
   * Sends what would go over the socket.
   * @param {any} message
   * @returns {boolean} Whether there is a way for it.
   */
  send(message) {
    if (!this.running) return false;
    if (message.event === 'clarify.draft') this.#drafts.put(message);
    // What is sent is no draft any more.
    if (message.event === 'clarify.respond') this.#drafts.drop(message.clarify_id);
    const place = PLACES[message.event];
    if (place !== undefined) void this.#post(message, place);
    return true;
  }

  /** @param {any} message @param {string} place */
  async #post(message, place) {
    const { event, clarify_id, session_id, ...body } = message;
    /** @type {any} */
    let said;
    try {
      const answer = await post(`/api/clarifications/${encodeURIComponent(clarify_id)}/${place}`, body);
      said = await answer.json();
    } catch {
      // Whoever sent it sends it again.
      return;
    }
    const about = { clarify_id, session_id, answer_id: body.answer_id };
    if (place === 'hold') {
      if (said.ok !== true) this.#handlers.message({ event: 'clarify.resolved', ...said, clarify_id, session_id, resolved: false });
    } else if (said.verdict === 'sent') this.#handlers.message({ event: 'clarify.sent', ...about });
    else if (place === 'pass-on' && said.goes_on) this.#handlers.message({ ...said, ...about, event: 'clarify.passed_on' });
    else this.#handlers.message({ ...said, ...about, event: 'clarify.resolved', resolved: said.ok === true });
  }
}

/**
 * Drafts on their way as requests: one at a time, of each question the last, and again a little later
 * when the service could not take it.
 */
class DraftPosts {
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
