/**
 * One card: a clarification from waiting to settled. Its nodes are made once and changed in place,
 * so that focus, scroll position and whatever is being composed survive everything around it.
 */
import { AskBackView } from './ask-back.js';
import { CardHead } from './card-head.js';
import { CardStatus } from './card-status.js';
import { addressee, subAgent } from './circumstances.js';
import { ComposingGuard, isAction, isSendKey } from './composing.js';
import { asMarkdown } from './copying.js';
import { button, el } from './dom.js';
import { hasText, holdsUnsaid, isBlank, sameContent } from './drafts.js';
import { label, t } from './i18n.js';
import { allSaid } from './outcome.js';
import { QuestionView } from './question.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').Action} Action */
/** @typedef {import('./types.js').DraftContent} DraftContent */

/**
 * @typedef {object} CardActions What a card asks the application to do.
 * @property {(entry: Entry, action: Action, content: DraftContent) => void} submit
 * @property {(entry: Entry) => void} hold
 * @property {(entry: Entry) => void} takeBack
 * @property {(entry: Entry) => void} close
 * @property {(entry: Entry) => void} passOn
 * @property {(entry: Entry, content: DraftContent) => void} edited
 * @property {(id: string, folded: boolean) => void} folded The person folded or unfolded it.
 * @property {() => string} me
 * @property {() => boolean} online
 */

/** How long "X is writing" stays after the last word of it. */
const WRITING_MS = 6000;

const MAC = /Mac|iPhone|iPad/.test(navigator.platform);

export class CardView {
  /** @type {HTMLElement} */
  element;
  /** Whether this person acted in this card in this tab. */
  touched = false;
  #entry;
  #actions;
  /** @type {QuestionView[]} */
  #questions;
  #guard = new ComposingGuard();
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #writingTimer;

  #head;
  #status;
  #askBack;
  #writing = el('p', { class: 'writing', hidden: true });
  #other = el('div', { class: 'other-draft', hidden: true });
  #submit = button('submit', 'primary', 'action.submit');
  #recommended = button('submit-recommended', 'quiet strong', 'action.recommended');
  #rest = button('choose-recommended', 'link', 'action.recommended_rest');
  #skip = button('skip', 'quiet', 'action.skip');
  #dismiss;
  #partial = el('p', { class: 'hint partial', hidden: true });
  #footer = el('div', { class: 'actions' });

  /**
   * @param {Entry} entry
   * @param {CardActions} actions
   */
  constructor(entry, actions) {
    this.#entry = entry;
    this.#actions = actions;
    const { questions, clarify_id, asker, html, parent } = entry.request;
    const total = questions.length;
    this.#head = new CardHead(entry, actions, () => this.#hold(), () => this.markdown());
    this.#status = new CardStatus(entry, actions);
    this.#askBack = new AskBackView(() => this.#edited(), () => this.#send('ask_back'));
    this.#dismiss = button('dismiss', 'quiet', total > 1 ? 'action.dismiss_all' : 'action.dismiss');
    this.#questions = questions.map((q, i) => new QuestionView(q, i + 1, total, () => this.#edited(), html?.[q.id]));

    this.#head.body.append(...[subAgent(entry.request), addressee(entry.request)].filter((node) => node !== null),
      ...this.#questions.map((q) => q.element),
      this.#writing, this.#other, this.#askBack.element, this.#partial, this.#footer);
    this.element = el('article', { class: 'card', 'data-clarify-id': clarify_id, 'data-parent': parent?.session_id, tabindex: '-1' },
      this.#head.element, this.#head.body, this.#status.row, this.#status.result);
    label(this.element, 'card.name', () => ({ asker: asker?.client || t('group.unknown') }), 'aria-label');
    this.#buildFooter();
    this.#listen();
    this.update();
  }

  /** @returns {DraftContent} What stands in the card now. */
  content() {
    return { answers: this.#questions.map((q) => q.value()), text: this.#askBack.text };
  }

  /** The card as Markdown: what was asked, what is chosen or was decided. */
  markdown() {
    const { request, outcome } = this.#entry;
    const own = this.content();
    const decided = outcome ? allSaid(outcome) : null;
    return asMarkdown(request.questions, decided ?? own.answers, outcome ? outcome.text : own.text, outcome, this.#actions.me());
  }

  /** @param {boolean} folded */
  fold(folded) {
    this.#head.setFolded(folded);
    this.element.dataset.folded = String(folded);
  }

  get folded() {
    return this.#head.folded;
  }

  /** Puts a draft in. @param {DraftContent} content */
  fill(content) {
    this.#questions.forEach((view, i) => {
      const id = this.#entry.request.questions[i].id;
      view.fill(content.answers.find((a) => a.question_id === id));
    });
    this.#askBack.fill(content.text);
    this.#refresh();
  }

  /**
   * A draft of this person from elsewhere. It fills a card nobody touched here and is only offered
   * to one somebody did.
   * @param {DraftContent} content
   */
  offer(content) {
    if (this.#entry.state !== 'waiting' || sameContent(content, this.content())) {
      this.#other.hidden = true;
      return;
    }
    if (!this.touched) {
      this.fill(content);
      return;
    }
    if (isBlank(content)) return;
    const note = el('p');
    label(note, 'card.other_draft');
    const take = button('use-other', 'quiet small', 'card.other_draft_use');
    const stay = button('keep-this', 'quiet small', 'card.other_draft_keep');
    take.addEventListener('click', () => {
      this.#other.hidden = true;
      this.fill(content);
      this.#edited();
    });
    stay.addEventListener('click', () => {
      this.#other.hidden = true;
    });
    this.#other.replaceChildren(note, el('div', { class: 'row' }, take, stay));
    this.#other.hidden = false;
  }

  /** Somebody else writes here. @param {string} person */
  writing(person) {
    label(this.#writing, 'card.writing', { person });
    this.#writing.hidden = this.#entry.state !== 'waiting';
    clearTimeout(this.#writingTimer);
    this.#writingTimer = setTimeout(() => {
      this.#writing.hidden = true;
    }, WRITING_MS);
  }

  /** Whether text stands here that the outcome does not hold. */
  hasUnsentText() {
    const content = this.content();
    if (!hasText(content)) return false;
    const { outcome, submission } = this.#entry;
    const mine = outcome?.actor?.person === this.#actions.me();
    if (!mine) return true;
    if (submission !== null || !this.touched) return false;
    return holdsUnsaid(content, outcome, this.#actions.me());
  }

  /** Whether the question is meant for this person too. */
  get #mayAnswer() {
    return this.#entry.request.may_answer !== false;
  }

  /** @param {number} now The server's time. */
  tick(now) {
    this.#head.clock.tick(now);
  }

  /** Shows the entry as it is now. */
  update() {
    const { state } = this.#entry;
    const waiting = state === 'waiting';
    const hadFocus = this.element.contains(document.activeElement) && document.activeElement !== this.element;
    this.element.dataset.state = state;
    const open = waiting && this.#mayAnswer;
    const over = state === 'settled' || state === 'late';
    for (const view of this.#questions) view.lock(!open);
    this.#askBack.lock(open, over);
    this.#footer.hidden = !open;
    if (!waiting) this.#other.hidden = this.#writing.hidden = this.#partial.hidden = true;
    this.#status.update(this.content());
    this.#head.clock.update(over);
    this.#refresh();
    // The control that was used is gone now: stay in the card rather than fall out of it.
    const focused = document.activeElement;
    if (hadFocus && !waiting && (focused === document.body || !isShown(focused))) {
      this.#status.line.focus({ preventScroll: true });
    }
  }

  #buildFooter() {
    label(this.#skip, 'action.skip_hint', {}, 'title');
    label(this.#dismiss, 'action.dismiss_hint', {}, 'title');
    label(this.#recommended, this.#questions.length > 1 ? 'action.recommended_all' : 'action.recommended');
    label(this.#partial, 'card.partial');
    const keys = el('span', { class: 'hint keys' });
    label(keys, MAC ? 'action.keys_mac' : 'action.keys');
    const meanings = el('p', { class: 'hint meanings' });
    label(meanings, 'text.plain', () => ({
      text: `${t('action.skip')}: ${t('action.skip_hint')}\n${t('action.dismiss')}: ${t('action.dismiss_hint')}`,
    }));
    this.#footer.append(
      el('div', { class: 'row secondary' }, this.#askBack.toggle, this.#skip, this.#dismiss),
      el('div', { class: 'row main' }, keys, this.#rest, this.#recommended, this.#submit),
      meanings,
    );
    this.#submit.addEventListener('click', () => this.#send('answer'));
    this.#recommended.addEventListener('click', () => this.#takeRecommended(true));
    this.#rest.addEventListener('click', () => this.#takeRecommended(false));
    this.#skip.addEventListener('click', () => this.#send('skip'));
    this.#dismiss.addEventListener('click', () => this.#send('dismiss'));
  }

  /**
   * Chooses what the agent would take in every question that is untouched: from then on it is this
   * person's choice, and it stands in the card as if they had made it one by one.
   * @param {boolean} send Whether to send it as well.
   */
  #takeRecommended(send) {
    for (const view of this.#questions) if (!view.touched && view.recommendable) view.fill(view.recommended());
    this.#edited();
    if (send) this.#send('answer');
    else this.#submit.focus();
  }

  #listen() {
    this.#guard.watch(this.element);
    this.element.addEventListener('keydown', (event) => {
      if (this.#isAct(event) && isAction(event.key)) this.#act();
      if (!isSendKey(event, this.#guard)) return;
      // There the key has a meaning of its own: a link opens beside this page.
      if (event.target instanceof Element && event.target.closest('a, button, summary') !== null) return;
      event.preventDefault();
      this.#send(event.target === this.#askBack.field ? 'ask_back' : 'answer');
    });
    // A touch that only scrolls past starts with a pointerdown too: for touch the click counts.
    this.element.addEventListener('pointerdown', (event) => {
      if (event.pointerType !== 'touch' && this.#isAct(event)) this.#act();
    });
    this.element.addEventListener('click', (event) => {
      if (this.#isAct(event)) this.#act();
    });
    // Dictation and pasting by menu press no key.
    this.element.addEventListener('input', () => this.#act());
  }

  /** Folding a card away and copying it are no work on its answer. @param {Event} event */
  #isAct(event) {
    return !(event.target instanceof Element && event.target.closest('.fold-card, .card-menu') !== null);
  }

  /** A real action of the person: the clock stops, once. */
  #act() {
    if (this.#entry.state !== 'waiting' || !this.#mayAnswer) return;
    this.touched = true;
    this.#hold();
  }

  #hold() {
    const { deadline, held } = this.#entry.request;
    if (deadline !== null && !held && this.#mayAnswer && this.#entry.state === 'waiting') this.#actions.hold(this.#entry);
  }

  #edited() {
    this.touched = true;
    this.#refresh();
    this.#actions.edited(this.#entry, this.content());
  }

  /** @param {Action} action */
  #send(action) {
    if (this.#entry.state !== 'waiting' || !this.#mayAnswer) return;
    if (action === 'answer' && this.#submit.disabled) return;
    if (action === 'ask_back' && !this.#askBack.ready) return;
    // Everything filled in goes along with every action: nothing a person wrote is left behind. Only
    // a question that is declined is sent without what stood in it.
    const { answers } = this.content();
    const text = this.#askBack.said;
    const sent = answers.map((a) => (a.dismissed ? { ...a, option_ids: [], text: null, note: null } : a));
    this.#actions.submit(this.#entry, action, { answers: sent, text });
  }

  #refresh() {
    const total = this.#questions.length;
    const waiting = this.#entry.state === 'waiting';
    const done = this.#questions.filter((q) => q.answered).length;
    const declined = this.#questions.filter((q) => q.declined).length;
    const open = total - done - declined;
    const outOfBounds = this.#questions.some((q) => q.outOfBounds);
    const tooLong = this.#questions.some((q) => q.tooLong);
    const untouched = this.#questions.every((q) => !q.touched) && this.#askBack.text.trim() === '';
    const offered = this.#questions.some((q) => !q.touched && q.recommendable);
    this.#head.progress(done, declined);
    this.#submit.disabled = done === 0 || tooLong || outOfBounds;
    this.#recommended.hidden = !(offered && untouched);
    this.#rest.hidden = !offered || untouched;
    this.#askBack.refresh(waiting, tooLong);
    this.#partial.hidden = !waiting || done === 0 || open === 0;
  }
}

/** @param {Element|null} node */
function isShown(node) {
  return node instanceof HTMLElement && node.getClientRects().length > 0;
}
