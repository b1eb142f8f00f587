/**
 * The live connection: one WebSocket, opened again when it is lost; where none gets through, requests
 * that wait for news.
 */
import { isShortEnough } from './limits.js';
import { Polling } from './polling.js';
import { spokenFor } from './requests.js';

/** The shortest and the longest wait before another try. */
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 20_000;
/** A connection that has not said hello by then is none. */
const HELLO_MS = 10_000;
/** The service says that it is there every 20 s: silence longer than this is an end. */
const SILENCE_MS = 45_000;
/** And longer than this a reason not to trust it when somebody comes back to the page. */
const DOUBT_MS = 25_000;
/** How often silence is looked for; a longer pause between two looks was a sleep of the machine. */
const LOOK_MS = 5000;
/** Tries in a row after which requests are the way. */
const TRIES_BEFORE_POLLING = 2;
/** How often a socket is tried again meanwhile. */
const SOCKET_AGAIN_MS = 30_000;

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
 * @property {() => string} tab The name under which this tab writes.
 * @property {() => Promise<boolean>} allowed Asked after a failed try; false stops trying.
 */

export class Connection {
  /** @type {WebSocket|null} */
  #socket = null;
  #polling;
  #online = false;
  #stopped = true;
  #attempt = 0;
  #lastSeq = 0;
  #heard = 0;
  #looked = Date.now();
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #retry;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #hello;
  #handlers;

  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.#handlers = handlers;
    this.#polling = new Polling({
      message: (message) => this.#take(message),
      state: (state) => this.#onPolling(state),
      tab: handlers.tab,
    });
    const woken = () => {
      if (document.visibilityState === 'visible') this.#wake();
    };
    window.addEventListener('online', woken);
    window.addEventListener('pageshow', woken);
    document.addEventListener('visibilitychange', woken);
    setInterval(() => {
      const slept = Date.now() - this.#looked > 3 * LOOK_MS;
      this.#looked = Date.now();
      if (slept) this.#wake();
      else this.#listen(SILENCE_MS);
    }, LOOK_MS);
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

  /** Tries at once if it is waiting for the next try. */
  retryNow() {
    if (this.#stopped || this.#socket !== null) return;
    clearTimeout(this.#retry);
    this.#open();
  }

  /** @param {object} message @returns {boolean} Whether it left. */
  send(message) {
    if (!this.#online) return false;
    if (this.#polling.running) return this.#polling.send(message);
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    const text = JSON.stringify(message);
    if (!isShortEnough(text)) return false;
    this.#socket.send(text);
    return true;
  }

  /** After a sleep nobody knows whether the other side is still there: a connection made anew is. */
  #wake() {
    if (this.#socket === null) this.retryNow();
    else this.#listen(DOUBT_MS);
  }

  /** Gives a connection up that said nothing for so long. @param {number} ms */
  #listen(ms) {
    const socket = this.#socket;
    if (socket === null || !this.#online || this.#polling.running || Date.now() - this.#heard <= ms) return;
    // A dead one would take its time to say that it is closed.
    socket.close();
    void this.#closed(true);
  }

  #open() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const after = this.#lastSeq > 0 ? `&after=${this.#lastSeq}` : '';
    const socket = new WebSocket(`${scheme}://${location.host}/ws?surface=panel${after}${spokenFor()}`);
    this.#socket = socket;
    this.#hello = setTimeout(() => socket.close(), HELLO_MS);
    socket.addEventListener('message', (event) => {
      if (this.#socket === socket) this.#receive(event.data);
    });
    socket.addEventListener('close', () => {
      if (this.#socket === socket) void this.#closed(false);
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
    this.#heard = Date.now();
    const hello = message.event === 'hello';
    if (hello) {
      clearTimeout(this.#hello);
      this.#polling.stop();
      this.#attempt = 0;
      this.#online = true;
    }
    this.#take(message);
    if (hello) this.#handlers.state('online');
  }

  /** @param {any} message */
  #take(message) {
    // A log that ends before what is known here is another one.
    if (message.event === 'hello' && message.seq < this.#lastSeq) this.#lastSeq = message.seq;
    if (typeof message.seq === 'number') this.#lastSeq = Math.max(this.#lastSeq, message.seq);
    this.#handlers.message(message);
  }

  /** @param {'online'|'offline'} state */
  #onPolling(state) {
    this.#online = state === 'online';
    this.#handlers.state(state);
    if (state === 'online') return;
    // Neither way is open: from now on as after any loss.
    this.#attempt = 0;
    this.retryNow();
  }

  /** @param {boolean} atOnce Whether to try again without a wait. */
  async #closed(atOnce) {
    const greeted = this.#online && !this.#polling.running;
    this.#socket = null;
    clearTimeout(this.#hello);
    if (!this.#polling.running) {
      this.#online = false;
      this.#handlers.state('offline');
    }
    if (this.#stopped) return;
    // A refused handshake looks like any other failure from here: ask whether we may still come.
    if (!greeted && !(await this.#handlers.allowed())) {
      this.#stopped = true;
      this.#polling.stop();
      return;
    }
    if (this.#stopped || this.#socket !== null) return;
    if (!greeted && this.#attempt >= TRIES_BEFORE_POLLING && !this.#polling.running) void this.#polling.run();
    clearTimeout(this.#retry);
    const wait = this.#polling.running ? SOCKET_AGAIN_MS : atOnce ? 0 : backoff(this.#attempt, Math.random());
    this.#retry = setTimeout(() => this.#open(), wait);
    this.#attempt += 1;
  }
}
