/** The small list of what was settled lately. */
import { arrange, byId, el, words } from './dom.js';
import { clockTime } from './clock-view.js';
import { label, t } from './i18n.js';
import { whereTo } from './late.js';
import { allSaid, answerAsText, assumedLine, lateAsText, settledSentence } from './outcome.js';
import { readPasts, settledAt } from './past.js';
import { inWords } from './plain.js';
import { request } from './requests.js';
import { questionPlace } from './routes.js';

/** @typedef {import('./types.js').Outcome} Outcome */
/** @typedef {import('./types.js').Question} Question */
/** @typedef {import('./types.js').LateAnswer} LateAnswer */
/** @typedef {Outcome & {clarify_id: string, session_id: string, questions: Question[], late_answers?: LateAnswer[]}} Settled */

const LIMIT = 20;
/** Several reasons to ask again in a row make one request. */
const REFRESH_MS = 500;

export class RecentView {
  #list;
  #empty;
  #me;
  #hidden;
  #passOn;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  /** @type {Map<string, Settled>} */
  #known = new Map();
  /**
   * What stands in the list: drawn anew only where it changed, so that nobody loses their place.
   * @type {Map<string, {shows: string, row: HTMLElement}>}
   */
  #rows = new Map();

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} empty
   * @param {() => string} me
   * @param {(id: string) => boolean} hidden Whether it still stands above as a card.
   * @param {(item: Settled, late: LateAnswer) => boolean} passOn Sends a late answer on; false when it cannot now.
   */
  constructor(list, empty, me, hidden, passOn) {
    this.#list = list;
    this.#empty = empty;
    this.#me = me;
    this.#hidden = hidden;
    this.#passOn = passOn;
  }

  /**
   * Asks the server. @returns {Promise<Settled[]>} What it said; nothing when it cannot be reached.
   */
  async refresh() {
    /** @type {Settled[]} */
    let found = [];
    try {
      const answer = await request(`/api/clarifications?status=settled&limit=${LIMIT}`);
      if (!answer.ok) return [];
      found = readPasts((await answer.json()).clarifications);
    } catch {
      return [];
    }
    for (const item of found) this.#known.set(item.clarify_id, item);
    this.show();
    return found;
  }

  refreshSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), REFRESH_MS);
  }

  /** @param {Settled} item */
  add(item) {
    this.#known.set(item.clarify_id, item);
    this.show();
  }

  show() {
    const items = [...this.#known.values()]
      .sort((a, b) => settledAt(b) - settledAt(a))
      .slice(0, LIMIT);
    this.#known = new Map(items.map((item) => [item.clarify_id, item]));
    const shown = items.filter((item) => !this.#hidden(item.clarify_id));
    const before = [...this.#rows].find(([, { row }]) => row.contains(document.activeElement))?.[0];
    this.#rows = new Map(shown.map((item) => [item.clarify_id, this.#drawn(item)]));
    arrange(this.#list, [...this.#rows.values()].map(({ row }) => row));
    // Who was in a row that says something else now is in it still.
    const row = before === undefined ? undefined : this.#rows.get(before)?.row;
    if (row && !row.contains(document.activeElement)) row.querySelector('a')?.focus({ preventScroll: true });
    this.#empty.hidden = shown.length > 0;
    // Who has answered before knows how it is asked.
    byId('empty-how').hidden = items.length > 0;
  }

  /** The row as it is, unless it shows something else now. @param {Settled} item */
  #drawn(item) {
    const shows = document.documentElement.lang + JSON.stringify(item);
    const before = this.#rows.get(item.clarify_id);
    // Whether sending on has failed is not known here: it may be tried again.
    const settled = !(item.late_answers ?? []).some((late) => late.may_pass_on === true);
    return before?.shows === shows && settled ? before : { shows, row: this.#row(item) };
  }

  /** @param {Settled} item */
  #row(item) {
    const first = item.questions[0];
    const link = el('a', { href: questionPlace(item.clarify_id), class: 'recent-link' }, words('span', '', inWords(first)));
    const question = el('p', { class: 'recent-question' }, link);
    const how = el('p', { class: 'recent-how' });
    label(how, 'text.plain', () => ({ text: settledSentence(item, this.#me()) }));
    const at = settledAt(item);
    const time = el('time', { class: 'recent-time' });
    if (at > 0) {
      time.dateTime = new Date(at).toISOString();
      label(time, 'text.plain', () => ({ text: clockTime(at) }));
    }
    const answers = allSaid(item);
    const said = answerAsText(item.questions, answers, item.text);
    const row = el('li', { class: 'recent-item', 'data-recent-id': item.clarify_id, 'data-reason': item.reason },
      el('div', { class: 'recent-line' }, how, time), question);
    if (said !== '') row.append(words('p', 'recent-answer', said));
    const assumed = assumedLine(item.questions, item);
    if (assumed !== null) row.append(assumed);
    const mine = (item.late_answers ?? []).filter((late) => late.actor?.person === this.#me());
    for (const late of mine) row.append(this.#late(item, late));
    return row;
  }

  /** What this person wrote too late, and where it goes. @param {Settled} item @param {LateAnswer} late */
  #late(item, late) {
    const goes = late.goes_on ?? null;
    const may = late.may_pass_on === true;
    const caption = el('span');
    label(caption, 'recent.late');
    const said = words('span', 'recent-late-text', lateAsText(item.questions, late));
    const where = el('span', { class: 'recent-late-where' });
    if (may || goes !== null) label(where, 'text.plain', () => ({ text: whereTo(goes) }));
    const line = el('div', { class: 'row recent-late-line' }, el('div', { class: 'recent-late' }, caption, ' ', said, ' ', where));
    if (may) {
      const button = el('button', { type: 'button', class: 'quiet small', 'data-action': 'pass-on' });
      label(button, 'action.pass_on');
      button.addEventListener('click', () => {
        if (!this.#passOn(item, late)) return;
        // A button that is off has no focus.
        button.closest('li')?.querySelector('a')?.focus({ preventScroll: true });
        button.disabled = true;
      });
      line.append(button);
    }
    return line;
  }
}

/** What a screen reader hears of a settled question. @param {string} outcome @param {string} question */
export function settledNews(outcome, question) {
  return t('live.settled', { outcome, question });
}
