/** The one WebSocket: opens it, and opens it again when it is lost. */

/** The shortest and the longest wait before another try. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 20_000;
/** A connection that has not said hello by then is none. */
const HELLO_MS = 10_000;

/**
 * How long to wait before try number `attempt` (from 0): doubling, with jitter over its upper half,
 * so that many panels do not come back at the same moment.
 * @param {number} attempt
 * @param {number} random From 0 up to 1.
 */
export function backoff(attempt, random) {
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt, 10));
  return longest / 2 + (longest / 2) * random;
}

/**
 * @typedef {object} Handlers
 * @property {(message: any) => void} message
 * @property {(state: 'online'|'offline') => void} state Online from hello on.
 * @property {() => Promise<boolean>} allowed Asked after a failed try; false stops trying.
 */

export class Connection {
  /** @type {WebSocket|null} */
  #socket = null;
  #online = false;
  #stopped = true;
  #attempt = 0;
  #lastSeq = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #retry;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #hello;
  #handlers;

  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.#handlers = handlers;
    const hurry = () => {
      if (document.visibilityState === 'visible') this.retryNow();
    };
    window.addEventListener('online', hurry);
    document.addEventListener('visibilitychange', hurry);
  }

  get online() {
    return this.#online;
  }

  start() {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#attempt = 0;
    this.#open();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#retry);
    this.#socket?.close();
  }

  /** Tries at once if it is waiting for the next try. */
  retryNow() {
    if (this.#stopped || this.#socket !== null) return;
    clearTimeout(this.#retry);
    this.#open();
  }

  /** @param {object} message @returns {boolean} Whether it left. */
  send(message) {
    if (!this.#online || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  #open() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const after = this.#lastSeq > 0 ? `?after=${this.#lastSeq}` : '';
    const socket = new WebSocket(`${scheme}://${location.host}/ws${after}`);
    this.#socket = socket;
    this.#hello = setTimeout(() => socket.close(), HELLO_MS);
    socket.addEventListener('message', (event) => {
      if (this.#socket === socket) this.#receive(event.data);
    });
    socket.addEventListener('close', () => {
      if (this.#socket === socket) void this.#closed();
    });
  }

  /** @param {unknown} data */
  #receive(data) {
    let message;
    try {
      message = JSON.parse(String(data));
    } catch {
      return;
    }
    if (typeof message !== 'object' || message === null) return;
    if (typeof message.seq === 'number') this.#lastSeq = Math.max(this.#lastSeq, message.seq);
    if (message.event === 'hello') {
      clearTimeout(this.#hello);
      this.#attempt = 0;
      this.#online = true;
    }
    this.#handlers.message(message);
    if (message.event === 'hello') this.#handlers.state('online');
  }

  async #closed() {
    const greeted = this.#online;
    this.#socket = null;
    this.#online = false;
    clearTimeout(this.#hello);
    this.#handlers.state('offline');
    if (this.#stopped) return;
    // A refused handshake looks like any other failure from here: ask whether we may still come.
    if (!greeted && !(await this.#handlers.allowed())) {
      this.#stopped = true;
      return;
    }
    if (this.#stopped || this.#socket !== null) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#open(), backoff(this.#attempt, Math.random()));
    this.#attempt += 1;
  }
}
