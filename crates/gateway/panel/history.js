/** What was asked and how it ended, page by page, with filters that stand in the address. */
import { byId, el } from './dom.js';
import { label } from './i18n.js';
import { pastRow, readHistory } from './past.js';

/** @typedef {import('./past.js').Past} Past */

const REASONS = /** @type {const} */ ([
  'response', 'ask_back', 'dismissed', 'skipped', 'timeout', 'cancelled', 'unattended', 'deferred', 'off',
]);
const PAGE = 50;
const FIELDS = /** @type {const} */ (['text', 'reason', 'session', 'asker']);

export class HistoryView {
  #actions;
  #list = byId('history-list');
  #state = byId('history-state');
  #more = /** @type {HTMLButtonElement} */ (byId('history-more'));
  #mine = /** @type {HTMLInputElement} */ (byId('history-mine'));
  /** @type {number|null} */
  #next = null;
  #query = new URLSearchParams();
  /** The last question asked of the service: an older answer is thrown away. */
  #asked = 0;

  /** @param {import('./past.js').PastActions} actions */
  constructor(actions) {
    this.#actions = actions;
    const all = el('option', { value: '' });
    label(all, 'history.all_reasons');
    this.#field('reason').append(all, ...REASONS.map((reason) => {
      const option = el('option', { value: reason });
      label(option, `reason.${reason}`);
      return option;
    }));
    const form = byId('history-filters');
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#go();
    });
    this.#field('reason').addEventListener('change', () => this.#go());
    this.#mine.addEventListener('change', () => this.#go());
    this.#more.addEventListener('click', () => void this.#load(this.#next));
  }

  /** @param {typeof FIELDS[number]} name */
  #field(name) {
    return /** @type {HTMLInputElement} */ (byId(`history-${name}`));
  }

  /** The filters into the address, which shows them. */
  #go() {
    const query = new URLSearchParams();
    for (const name of FIELDS) if (this.#field(name).value.trim() !== '') query.set(name, this.#field(name).value.trim());
    if (this.#mine.checked) query.set('person', this.#actions.me());
    const hash = query.size > 0 ? `#/history?${query}` : '#/history';
    if (hash === location.hash) this.show(query);
    else location.hash = hash;
  }

  /** @param {URLSearchParams} query */
  show(query) {
    for (const name of FIELDS) this.#field(name).value = query.get(name) ?? '';
    this.#mine.checked = query.get('person') === this.#actions.me();
    this.#query = query;
    this.#list.replaceChildren();
    void this.#load(null);
  }

  /** @param {number|null} before */
  async #load(before) {
    this.#asked += 1;
    const mine = this.#asked;
    const query = new URLSearchParams(this.#query);
    query.set('limit', String(PAGE));
    if (before !== null) query.set('before', String(before));
    this.#more.disabled = true;
    label(this.#state, 'history.loading');
    const page = await readHistory(query);
    if (mine !== this.#asked) return;
    this.#more.disabled = false;
    if (page === null) {
      label(this.#state, 'history.unreachable');
      return;
    }
    this.#list.append(...page.items.map((item) => pastRow(item, this.#actions, false)));
    this.#next = page.next;
    this.#more.hidden = page.next === null;
    const none = this.#list.childElementCount === 0;
    label(this.#state, none && page.next === null ? 'history.none' : page.next === null ? 'history.end' : 'history.there_is_more');
  }
}
