/** The list of cards, grouped by session, each group under the words of who asks. */
import { arrange, el, words } from './dom.js';
import { label } from './i18n.js';
import { bySession } from './store.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./card.js').CardView} CardView */

export class ListView {
  #root;
  #empty;
  /** @type {Map<string, {element: HTMLElement, cards: HTMLElement}>} */
  #groups = new Map();

  /** @param {HTMLElement} root @param {HTMLElement} empty */
  constructor(root, empty) {
    this.#root = root;
    this.#empty = empty;
  }

  /**
   * Brings groups and cards into their order; what is there already stays the same node.
   * @param {Entry[]} entries
   * @param {Map<string, CardView>} cards
   */
  show(entries, cards) {
    const groups = bySession(entries);
    const live = new Set(groups.map((g) => g.session));
    const elements = groups.map(({ session, entries: list }) => {
      const group = this.#group(session, list[0].request);
      const wanted = list.map((e) => cards.get(e.request.clarify_id)?.element);
      arrange(group.cards, wanted.filter((node) => node !== undefined));
      return group.element;
    });
    arrange(this.#root, elements);
    for (const session of this.#groups.keys()) {
      if (!live.has(session)) this.#groups.delete(session);
    }
    this.#empty.hidden = entries.length > 0;
  }

  /** @param {string} session @param {import('./types.js').Request} request */
  #group(session, request) {
    const known = this.#groups.get(session);
    if (known) return known;
    const cards = el('div', { class: 'cards' });
    const element = el('section', { class: 'group' }, askerLine(request, session), cards);
    element.dataset.sessionId = session;
    const group = { element, cards };
    this.#groups.set(session, group);
    return group;
  }
}

/** @param {import('./types.js').Request} request @param {string} session Whose group it is: the request's own, or that of its parent. */
function askerLine(request, session) {
  const { client, host, cwd, branch } = request.asker ?? {};
  const name = client ? words('span', 'asker-client', client) : el('span', { class: 'asker-client' });
  if (!client) label(name, 'group.unknown');
  const line = el('h2', { class: 'asker' }, name);
  if (host) line.append(words('span', 'asker-part', host));
  if (cwd) {
    const path = words('span', 'asker-part asker-path', cwd);
    path.title = cwd;
    line.append(path);
  }
  if (branch) line.append(words('span', 'asker-part asker-branch', branch));
  const id = el('span', { class: 'asker-part asker-session', title: session });
  label(id, 'group.session', { session: shortId(session) });
  line.append(id);
  return line;
}

/** The end of a long id, which is where ids differ. @param {string} id */
function shortId(id) {
  return id.length > 14 ? `…${id.slice(-8)}` : id;
}
