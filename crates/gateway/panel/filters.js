/** Which of the waiting questions are shown: whose, of which session and agent, with which words. */
import { byId, el } from './dom.js';
import { label, locale, t } from './i18n.js';
import { visible } from './visible.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').Request} Request */

/** @type {WeakMap<Request, string>} */
const haystacks = new WeakMap();

/** All words of a request, in lower case. @param {Request} request */
function haystack(request) {
  let text = haystacks.get(request);
  if (text === undefined) {
    const { asker, session_id, questions, to } = request;
    const parts = [session_id, asker?.client, asker?.host, asker?.cwd, asker?.branch, to?.person, to?.group];
    for (const q of questions) {
      parts.push(q.header, q.question, q.explanation);
      for (const o of q.options) parts.push(o.label, o.description);
    }
    text = parts.filter(Boolean).join('\n').toLowerCase();
    haystacks.set(request, text);
  }
  return text;
}

/**
 * @typedef {object} Wanted
 * @property {string} text
 * @property {''|'mine'|'addressed'} whose
 * @property {string} agent
 */

/**
 * @param {Request} request
 * @param {Wanted} wanted
 */
export function fits(request, wanted) {
  const { text, whose, agent } = wanted;
  if (whose === 'mine' && request.may_answer === false) return false;
  if (whose === 'addressed' && (request.to === null || request.may_answer === false)) return false;
  if (agent !== '' && (request.asker?.client ?? '') !== agent) return false;
  const parts = text.toLowerCase().split(/\s+/).filter(Boolean);
  return parts.every((part) => haystack(request).includes(part));
}

export class FilterBar {
  /** @type {Wanted} */
  wanted = { text: '', whose: '', agent: '' };
  #text = /** @type {HTMLInputElement} */ (byId('filter-text'));
  #whose = /** @type {HTMLSelectElement} */ (byId('filter-whose'));
  #session = /** @type {HTMLSelectElement} */ (byId('filter-session'));
  #agent = /** @type {HTMLSelectElement} */ (byId('filter-agent'));
  #shown = '';

  /**
   * @param {() => void} changed
   * @param {(session: string) => void} goTo An empty one is all.
   */
  constructor(changed, goTo) {
    const read = () => {
      this.wanted = {
        text: this.#text.value,
        whose: /** @type {Wanted['whose']} */ (this.#whose.value),
        agent: this.#agent.value,
      };
      changed();
    };
    this.#text.addEventListener('input', read);
    this.#whose.addEventListener('change', read);
    this.#agent.addEventListener('change', read);
    this.#session.addEventListener('change', () => goTo(this.#session.value));
    byId('filter-clear').addEventListener('click', () => {
      this.#text.value = this.#whose.value = this.#agent.value = '';
      read();
      goTo('');
      this.#text.focus();
    });
  }

  get active() {
    const { text, whose, agent } = this.wanted;
    return text.trim() !== '' || whose !== '' || agent !== '';
  }

  /**
   * Which sessions and agents wait, and how many questions of each.
   * @param {Entry[]} entries All that wait.
   * @param {string} session The one that is shown alone.
   */
  offer(entries, session) {
    byId('filters').hidden = entries.length < 2 && !this.active && session === '';
    /** @type {Map<string, {count: number, name: string}>} */
    const sessions = new Map();
    /** @type {Map<string, number>} */
    const agents = new Map();
    for (const { request } of entries) {
      const { session_id, asker } = request;
      const known = sessions.get(session_id) ?? { count: 0, name: sessionName(request) };
      sessions.set(session_id, { ...known, count: known.count + 1 });
      const client = asker?.client ?? '';
      agents.set(client, (agents.get(client) ?? 0) + 1);
    }
    if (session !== '' && !sessions.has(session)) sessions.set(session, { count: 0, name: session });
    const shown = JSON.stringify([[...sessions], [...agents], session, this.wanted.agent, locale()]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const number = new Intl.NumberFormat(locale());
    const sorted = [...sessions].sort((a, b) => b[1].count - a[1].count);
    fill(this.#session, t('filter.all_sessions'), session,
      sorted.map(([id, { count, name }]) => [id, `${name} (${number.format(count)})`]));
    fill(this.#agent, t('filter.all_agents'), this.wanted.agent,
      [...agents].filter(([name]) => name !== '').map(([name, count]) => [name, `${name} (${number.format(count)})`]));
  }
}

/** The last part of the folder and the end of the id tell sessions apart. @param {Request} request */
function sessionName(request) {
  const folder = request.asker?.cwd?.split('/').filter(Boolean).at(-1);
  const id = request.session_id.length > 14 ? `…${request.session_id.slice(-8)}` : request.session_id;
  return folder ? `${folder} · ${id}` : id;
}

/**
 * @param {HTMLSelectElement} select
 * @param {string} all What choosing none is called.
 * @param {string} chosen
 * @param {[string, string][]} options Value and words.
 */
function fill(select, all, chosen, options) {
  const nodes = [['', all], ...options].map(([value, text]) => {
    const option = el('option', { value });
    option.textContent = visible(text);
    option.selected = value === chosen;
    return option;
  });
  select.replaceChildren(...nodes);
}

/** Names the fields and what may be chosen in them. */
export function labelFilters() {
  for (const option of byId('filter-whose').children) {
    const value = option.getAttribute('value') ?? '';
    label(option, value === 'mine' ? 'filter.mine' : value === 'addressed' ? 'filter.addressed' : 'filter.everybody');
  }
}
