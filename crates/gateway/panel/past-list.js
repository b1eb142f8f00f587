/** What is over, below what waits: each row stays the same node for as long as it says the same. */
import { arrange, el } from './dom.js';
import { label } from './i18n.js';
import { pastRow } from './past.js';

/** @typedef {import('./past.js').Past} Past */

export class PastList {
  #root;
  #actions;
  #title = el('h2', { class: 'past-title' });
  #list = el('ul', { class: 'past-list' });
  /** @type {Map<string, {shows: string, row: HTMLElement}>} */
  #rows = new Map();

  /** @param {HTMLElement} root @param {import('./past.js').PastActions} actions */
  constructor(root, actions) {
    this.#root = root;
    this.#actions = actions;
    label(this.#title, 'alone.past');
  }

  clear() {
    this.#rows.clear();
    this.#root.replaceChildren();
  }

  /** Says in place of a list why there is none. @param {import('./i18n.js').Key} key */
  say(key) {
    this.clear();
    const line = el('p', { class: 'hint' });
    label(line, key);
    this.#root.append(line);
  }

  /** @param {Past[]} items @param {boolean} open Whether one that is new here begins open. */
  show(items, open) {
    if (items.length === 0) {
      this.clear();
      return;
    }
    const rows = new Map(items.map((item) => [item.clarify_id, this.#drawn(item, open)]));
    const left = [...this.#rows].find(([id, { row }]) => rows.get(id)?.row !== row && row.contains(document.activeElement))?.[0];
    this.#rows = rows;
    if (!this.#list.isConnected) this.#root.replaceChildren(this.#title, this.#list);
    arrange(this.#list, [...rows.values()].map(({ row }) => row));
    // Who was in a row that says something else now is in it still.
    if (left !== undefined) rows.get(left)?.row.querySelector('summary')?.focus({ preventScroll: true });
  }

  /** @param {Past} item @param {boolean} open */
  #drawn(item, open) {
    const shows = document.documentElement.lang + JSON.stringify(item);
    const before = this.#rows.get(item.clarify_id);
    // Whether sending on has failed is not known here: it may be tried again.
    const settled = !(item.late_answers ?? []).some((late) => late.may_pass_on === true);
    if (before?.shows === shows && settled) return before;
    const opened = before?.row.querySelector('details')?.open ?? open;
    return { shows, row: pastRow(item, this.#actions, opened) };
  }
}
