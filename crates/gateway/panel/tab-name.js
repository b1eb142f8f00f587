/**
 * The name under which a tab keeps what is typed in it: its own, and the same after a reload. A copy of
 * a tab (the browser's "duplicate", a window it opens) begins with the name of the other one and takes a
 * new one.
 */
import { uuid } from './dom.js';

const STORED_AS = 'askbus.tab';
/** How long another page may take to say that a name is its own. */
const ANSWER_MS = 150;

export class TabName {
  name = uuid();
  /** This page among those that want the same name. */
  #page = uuid();
  /** What it wants and nobody has refused yet. */
  #wanted = '';
  #refused = () => {};
  /** @type {BroadcastChannel|null} */
  #channel = null;
  #lost;

  /** @param {() => void} lost Called when another page turns out to have had the name before. */
  constructor(lost) {
    this.#lost = lost;
  }

  /** Takes the name of before the reload, unless another page has it. */
  async take() {
    try {
      const known = sessionStorage.getItem(STORED_AS);
      if (known !== null && (await this.#claim(known))) this.name = known;
      else void this.#claim(this.name);
      sessionStorage.setItem(STORED_AS, this.name);
    } catch {
      // Without storage every load is a tab of its own.
    }
  }

  /**
   * Claims a name for as long as the page lives; false when another page has it.
   * @param {string} name
   * @returns {Promise<boolean>}
   */
  #claim(name) {
    if (!navigator.locks) return this.#ask(name);
    return new Promise((resolve) => {
      navigator.locks
        .request(`askbus-tab-${name}`, { ifAvailable: true }, (lock) => {
          resolve(lock !== null);
          return lock === null ? undefined : new Promise(() => {});
        })
        .catch(() => resolve(true));
    });
  }

  /**
   * Off a secure origin browsers have no locks: the pages ask each other.
   * @param {string} name
   * @returns {Promise<boolean>}
   */
  #ask(name) {
    if (typeof BroadcastChannel === 'undefined') return Promise.resolve(true);
    this.#channel ??= this.#listen();
    this.#wanted = name;
    return new Promise((resolve) => {
      this.#refused = () => resolve(false);
      this.#channel?.postMessage({ wants: name, page: this.#page });
      setTimeout(() => resolve(true), ANSWER_MS);
    });
  }

  #listen() {
    const channel = new BroadcastChannel('askbus.tabs');
    channel.addEventListener('message', ({ data }) => {
      if (typeof data?.wants === 'string') {
        // Of two that want it at once, one has it.
        const mine = data.wants === this.name || (data.wants === this.#wanted && this.#page < data.page);
        if (mine) channel.postMessage({ holds: data.wants, to: data.page });
      } else if (data?.to === this.#page && data.holds === this.#wanted) {
        this.#refused();
        if (data.holds === this.name) this.#giveWay();
      }
    });
    return channel;
  }

  /** The page that has the name was asleep when it was asked. */
  #giveWay() {
    this.name = uuid();
    this.#wanted = this.name;
    try {
      sessionStorage.setItem(STORED_AS, this.name);
    } catch {
      // It ends with this page, then.
    }
    this.#lost();
  }
}
