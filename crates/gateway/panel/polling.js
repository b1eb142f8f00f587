/**
 * The way round where a WebSocket does not get through: asks again and again for what is new, which the
 * service answers when there is something, and sends what the person does as requests.
 */

/** A pause after an answer that holds nothing new: a proxy may answer at once. */
const PAUSE_MS = 300;

/** @typedef {{message: (message: any) => void, state: (state: 'online'|'offline') => void}} Handlers */

export class Polling {
  #handlers;
  /** @type {AbortController|null} */
  #asking = null;

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
  }

  /** Asks until it is stopped or refused. */
  async run() {
    const asking = new AbortController();
    this.#asking = asking;
    let known = 0;
    try {
      while (!asking.signal.aborted) {
        // What is open is asked for once, whatever is known of its past.
        const from = known > 0 ? `&after=${known}` : '';
        const answer = await fetch(`/api/events?surface=panel${from}`, { signal: asking.signal, headers: { Accept: 'application/json' } });
        if (!answer.ok) break;
        const { events, seq } = await answer.json();
        if (asking.signal.aborted) return;
        const before = known;
        known = Number(seq) || known;
        for (const event of Array.isArray(events) ? events : []) this.#handlers.message(event);
        if (before === 0) this.#handlers.state('online');
        if (known === before) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    } catch {
      // Not reachable this way either.
    }
    if (this.#asking !== asking) return;
    this.#asking = null;
    this.#handlers.state('offline');
  }

  /**
   * Sends what would go over the socket.
   * @param {any} message
   * @returns {boolean} Whether there is a way for it.
   */
  send(message) {
    const place = { 'clarify.respond': 'answer', 'clarify.hold': 'hold', 'clarify.pass_on': 'pass-on' }[String(message.event)];
    if (!this.running) return false;
    // Drafts have no such way; the browser keeps them.
    if (place !== undefined) void this.#post(message, place);
    return true;
  }

  /** @param {any} message @param {string} place */
  async #post(message, place) {
    const { event, clarify_id, session_id, ...body } = message;
    /** @type {any} */
    let said;
    try {
      const answer = await fetch(`/api/clarifications/${encodeURIComponent(clarify_id)}/${place}`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
      });
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
