/** The line above a card: folding it, when it was asked, how far one is, and what else can be done. */
import { ClockView } from './clock-view.js';
import { copyText } from './copying.js';
import { button, el, freshId, words } from './dom.js';
import { label, tCount } from './i18n.js';
import { hasRaw, showRaw } from './markdown.js';
import { excerpt } from './plain.js';
import { addressOf, questionPlace } from './routes.js';
import { closeByItself } from './settings.js';

/** @typedef {import('./types.js').Entry} Entry */

export class CardHead {
  element;
  clock;
  /** What is folded away. */
  body = el('div', { class: 'card-body', id: freshId('body') });
  #fold = el('button', { type: 'button', class: 'fold-card', 'data-action': 'fold', 'aria-controls': this.body.id });
  #line;
  #progress = el('span', { class: 'progress' });
  #total;

  /**
   * @param {Entry} entry
   * @param {import('./card.js').CardActions} actions
   * @param {() => void} hold
   * @param {() => string} markdown What the card says, as Markdown.
   */
  constructor(entry, actions, hold, markdown) {
    const { questions, clarify_id } = entry.request;
    this.#total = questions.length;
    this.clock = new ClockView(entry, () => actions.me(), hold);
    this.#line = words('span', 'fold-line', excerpt(entry));
    this.#fold.append(el('span', { class: 'chevron', 'aria-hidden': 'true' }), this.#line);
    this.#fold.addEventListener('click', () => {
      this.setFolded(!this.folded);
      actions.folded(clarify_id, this.folded);
    });
    const several = el('span', { class: 'hint' });
    if (this.#total > 1) label(several, 'text.plain', () => ({ text: tCount('card.questions', this.#total) }));
    this.element = el('div', { class: 'card-head' }, this.#fold, this.clock.asked,
      this.#total > 1 ? this.#progress : null, this.clock.element, this.#menu(entry, markdown));
    this.setFolded(false);
  }

  get folded() {
    return this.body.hidden !== false;
  }

  /** @param {boolean} folded */
  setFolded(folded) {
    this.body.hidden = folded;
    this.#line.hidden = !folded;
    this.#fold.setAttribute('aria-expanded', String(!folded));
    label(this.#fold, folded ? 'card.unfold' : 'card.fold', () => ({ question: this.#line.textContent ?? '' }), 'aria-label');
    this.element.classList.toggle('alone', folded);
  }

  /** @param {number} done @param {number} declined */
  progress(done, declined) {
    if (this.#total < 2) return;
    label(this.#progress, declined > 0 ? 'card.progress_declined' : 'card.progress', { done, declined, total: this.#total });
  }

  /** @param {Entry} entry @param {() => string} markdown */
  #menu(entry, markdown) {
    const summary = el('summary', { class: 'quiet tiny' });
    label(summary, 'card.menu');
    const copy = button('copy-markdown', 'link', 'card.copy_markdown');
    copyOnClick(copy, markdown);
    const address = button('copy-link', 'link', 'card.copy_link');
    copyOnClick(address, () => addressOf(questionPlace(entry.request.clarify_id)));
    const open = el('a', { class: 'link', href: questionPlace(entry.request.clarify_id) });
    label(open, 'card.open_alone');
    const raw = button('raw', 'link', 'card.raw');
    let shown = false;
    raw.addEventListener('click', () => {
      shown = !shown;
      showRaw(this.body, shown);
      label(raw, shown ? 'card.rendered' : 'card.raw');
    });
    const menu = el('details', { class: 'menu card-menu' }, summary, el('div', { class: 'menu-body' }, copy, address, open, raw));
    menu.addEventListener('toggle', () => {
      raw.hidden = !hasRaw(this.body);
    });
    closeByItself(menu);
    return menu;
  }
}

/** @param {HTMLButtonElement} node @param {() => string} make */
export function copyOnClick(node, make) {
  node.addEventListener('click', () => {
    void copyText(make()).then((done) => label(node, done ? 'action.copied' : 'action.not_copied'));
  });
}
