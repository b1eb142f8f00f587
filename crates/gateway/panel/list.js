/**
 * The list of cards, grouped by session, each group under the words of who asks. However many wait, only
 * the first of them are on the page; more come as the person gets there.
 */
import { askerParts } from './circumstances.js';
import { arrange, byId, el } from './dom.js';
import { label } from './i18n.js';
import { PlanList } from './plans.js';
import { sessionPlace } from './routes.js';
import { bySession } from './store.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./card.js').CardView} CardView */
/** @typedef {{element: HTMLElement, cards: HTMLElement, plan: PlanList}} Group */

/** Cards shown at first, and more each time. */
const PAGE = 40;

/**
 * @typedef {object} Source Where the list takes from what it shows.
 * @property {(entry: Entry, place: number) => CardView} card
 * @property {(entry: Entry) => boolean} pinned Whether it stays on the page wherever it stands.
 * @property {(session: string) => import('./plans.js').Plan|undefined} plan The one to show above a session's questions.
 * @property {() => void} more Called when more can be shown.
 */

export class ListView {
  #root;
  #source;
  #limit = PAGE;
  #more = byId('more');
  /** @type {Map<string, Group>} */
  #groups = new Map();

  /** @param {HTMLElement} root @param {Source} source */
  constructor(root, source) {
    this.#root = root;
    this.#source = source;
    const grow = () => {
      this.#limit += PAGE;
      source.more();
    };
    byId('more-button').addEventListener('click', grow);
    new IntersectionObserver((seen) => {
      if (seen.some((s) => s.isIntersecting)) grow();
    }, { rootMargin: '600px' }).observe(this.#more);
  }

  /** Begins with the first ones again. */
  restart() {
    this.#limit = PAGE;
  }

  /**
   * Brings groups and cards into their order; what is there already stays the same node.
   * @param {Entry[]} entries
   */
  show(entries) {
    let place = 0;
    let hidden = 0;
    const live = new Set();
    const elements = [];
    for (const { session, entries: list } of bySession(entries)) {
      const wanted = [];
      for (const entry of list) {
        const pinned = this.#source.pinned(entry);
        if (pinned || place < this.#limit) wanted.push(this.#source.card(entry, place).element);
        else hidden += 1;
        // What is over and has not left yet takes nobody's place.
        if (!pinned) place += 1;
      }
      if (wanted.length === 0) continue;
      const group = this.#group(session, list[0].request);
      const plan = this.#source.plan(session);
      group.plan.show(plan ? [plan] : []);
      arrange(group.cards, wanted);
      live.add(session);
      elements.push(group.element);
    }
    arrange(this.#root, elements);
    for (const session of this.#groups.keys()) {
      if (!live.has(session)) this.#groups.delete(session);
    }
    this.#more.hidden = hidden === 0;
    if (hidden > 0) label(byId('more-button'), 'list.more', { count: hidden });
  }

  /** @param {string} session @param {import('./types.js').Request} request @returns {Group} */
  #group(session, request) {
    const known = this.#groups.get(session);
    if (known) return known;
    const cards = el('div', { class: 'cards' });
    const plans = el('div', { class: 'group-plan' });
    const element = el('section', { class: 'group' }, askerLine(request, session), plans, cards);
    element.dataset.sessionId = session;
    const group = { element, cards, plan: new PlanList(plans, false, 'nobody') };
    this.#groups.set(session, group);
    return group;
  }
}

/** @param {import('./types.js').Request} request @param {string} session Whose group it is: the request's own, or that of its parent. */
function askerLine(request, session) {
  const id = el('a', { class: 'asker-part asker-session', title: session, href: sessionPlace(session) });
  label(id, 'group.session', { session: shortId(session) });
  return el('h2', { class: 'asker' }, ...askerParts(request.asker), id);
}

/** The end of a long id, which is where ids differ. @param {string} id */
function shortId(id) {
  return id.length > 14 ? `…${id.slice(-8)}` : id;
}
