/**
 * One card: a clarification from waiting to settled. Its nodes are made once and changed in place,
 * so that focus, scroll position and whatever is being composed survive everything around it.
 */
import { addressee, subAgent } from './circumstances.js';
import { ClockView } from './clock-view.js';
import { ComposingGuard, isAction, isSendKey } from './composing.js';
import { el, freshId } from './dom.js';
import { hasText, isBlank, sameContent } from './drafts.js';
import { label, t, unlabel } from './i18n.js';
import { carriesWords, isOnItsWay, whereTo } from './late.js';
import { isTooLong } from './limits.js';
import { tooLongWarning } from './note.js';
import { answerAsText, answerList, keptBlock, settledSentence } from './outcome.js';
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

  #progress = el('span', { class: 'progress' });
  #clock;
  #writing = el('p', { class: 'writing', hidden: true });
  #other = el('div', { class: 'other-draft', hidden: true });
  #askBack = el('div', { class: 'ask-back', hidden: true });
  #askText = el('textarea', { rows: '2', dir: 'auto', id: freshId('ask'), 'data-field': 'ask-back' });
  #askLong = tooLongWarning();
  #askSend = button('ask-back-send', 'primary small', 'action.ask_back_send');
  #askToggle = button('ask-back', 'quiet', 'action.ask_back');
  #submit = button('submit', 'primary', 'action.submit');
  #skip = button('skip', 'quiet', 'action.skip');
  #dismiss = button('dismiss', 'quiet', 'action.dismiss');
  #takeBack = button('take-back', 'quiet', 'action.take_back');
  #close = button('close', 'quiet', 'action.close');
  #passOn = button('pass-on', 'quiet', 'action.pass_on');
  #partial = el('p', { class: 'hint partial', hidden: true });
  #footer = el('div', { class: 'actions' });
  #status = el('div', { class: 'status', tabindex: '-1', hidden: true });
  #statusText = el('p', { class: 'status-text' });
  #result = el('div', { class: 'result', hidden: true });

  /**
   * @param {Entry} entry
   * @param {CardActions} actions
   */
  constructor(entry, actions) {
    this.#entry = entry;
    this.#actions = actions;
    const { questions, clarify_id, asker } = entry.request;
    const total = questions.length;
    this.#clock = new ClockView(entry, () => actions.me(), () => this.#hold());
    this.#questions = questions.map((q, i) => new QuestionView(q, i + 1, total, () => this.#edited()));

    const { parent } = entry.request;
    this.element = el('article', { class: 'card', 'data-clarify-id': clarify_id, 'data-parent': parent?.session_id, tabindex: '-1' },
      el('div', { class: 'card-head' }, this.#clock.asked, total > 1 ? this.#progress : null, this.#clock.element),
      subAgent(entry.request), addressee(entry.request),
      ...this.#questions.map((q) => q.element),
      this.#writing, this.#other, this.#askBack, this.#partial, this.#footer,
      el('div', { class: 'status-row' }, this.#status, this.#takeBack, this.#passOn, this.#close), this.#result);
    label(this.element, 'card.name', () => ({ asker: asker?.client || t('group.unknown') }), 'aria-label');
    this.#status.append(this.#statusText);
    this.#buildAskBack();
    this.#buildFooter();
    this.#listen();
    this.update();
  }

  /** @returns {DraftContent} What stands in the card now. */
  content() {
    return { answers: this.#questions.map((q) => q.value()), text: this.#askText.value };
  }

  /** Puts a draft in. @param {DraftContent} content */
  fill(content) {
    this.#questions.forEach((view, i) => {
      const id = this.#entry.request.questions[i].id;
      view.fill(content.answers.find((a) => a.question_id === id));
    });
    this.#askText.value = content.text;
    if (content.text.trim() !== '') this.#openAskBack(true);
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
    const said = JSON.stringify(outcome ?? {});
    return [content.text, ...content.answers.flatMap((a) => [a.text ?? '', a.note ?? ''])]
      .filter((text) => text.trim() !== '')
      .some((text) => !said.includes(JSON.stringify(text).slice(1, -1)));
  }

  /** Whether the question is meant for this person too. */
  get #mayAnswer() {
    return this.#entry.request.may_answer !== false;
  }

  /** @param {number} now The server's time. */
  tick(now) {
    this.#clock.tick(now);
  }

  /** Shows the entry as it is now. */
  update() {
    const { state, kept } = this.#entry;
    const waiting = state === 'waiting';
    const hadFocus = this.element.contains(document.activeElement) && document.activeElement !== this.element;
    this.element.dataset.state = state;
    const open = waiting && this.#mayAnswer;
    for (const view of this.#questions) view.lock(!open);
    this.#askText.readOnly = !open;
    const over = state === 'settled' || state === 'late';
    this.#footer.hidden = !open;
    if (!waiting) this.#other.hidden = this.#writing.hidden = this.#partial.hidden = true;
    if (over || !waiting) this.#askBack.hidden = over || this.#askText.value.trim() === '';
    this.#takeBack.hidden = !(state === 'sending' && !this.#entry.transmitted && !this.#actions.online());
    this.#close.hidden = !(state === 'late' || kept);
    this.#showPassOn();
    this.#showStatus();
    if (over) this.#showResult();
    this.#clock.update(over);
    this.#refresh();
    // The control that was used is gone now: stay in the card rather than fall out of it.
    const focused = document.activeElement;
    if (hadFocus && !waiting && (focused === document.body || !isShown(focused))) {
      this.#status.focus({ preventScroll: true });
    }
  }

  #showStatus() {
    const { state, outcome, error, kept, transmitted } = this.#entry;
    const me = this.#actions.me();
    this.#status.hidden = state === 'waiting' && error === null;
    this.#status.dataset.kind = state === 'waiting' ? 'refused' : state;
    // Only an answer looks like one: time running out is no success.
    this.#status.dataset.reason = outcome?.reason ?? '';
    const line = this.#statusText;
    const how = () => (outcome === null ? t('state.late_unknown') : settledSentence(outcome, me));
    if (state === 'waiting' && error !== null) label(line, 'state.refused', { error });
    else if (state === 'sending') label(line, transmitted || this.#actions.online() ? 'state.sending' : 'state.queued');
    else if (state === 'sent') label(line, 'state.sent');
    else if (state === 'late') sentence(line, () => `${t('state.late')} ${how()}${this.#whereItGoes()}`);
    else if (state === 'settled') {
      sentence(line, () => {
        const first = outcome === null ? t('state.gone') : settledSentence(outcome, me);
        return kept ? `${first}. ${t('state.kept')}` : first;
      });
    } else unlabel(line);
  }

  /** Whether something of this person's came too late that the agent could be told. */
  get #lateWords() {
    const { state, submission, goesOn } = this.#entry;
    if (state !== 'late' || submission === null || goesOn === undefined) return false;
    return carriesWords(submission.action, submission.answers, submission.text);
  }

  #whereItGoes() {
    const { goesOn, passing, error } = this.#entry;
    if (!this.#lateWords) return '';
    if (passing) return `\n${t('late.passing')}`;
    return `\n${error === null ? whereTo(goesOn ?? null) : t('late.failed', { error })}`;
  }

  #showPassOn() {
    const { goesOn, passing } = this.#entry;
    this.#passOn.hidden = !this.#lateWords || isOnItsWay(goesOn);
    this.#passOn.disabled = passing || !this.#actions.online();
  }

  #showResult() {
    const { request, outcome, submission, state, kept } = this.#entry;
    const named = request.questions.length > 1;
    const blocks = [];
    if (outcome !== null) {
      const answers = outcome.answers?.length ? outcome.answers : (outcome.partial ?? []);
      const list = answerList(request.questions, answers, outcome.text, named);
      if (list.childElementCount > 0) blocks.push(list);
    }
    if (state === 'late' || kept) {
      const own = submission ?? this.content();
      const text = answerAsText(request.questions, own.answers, own.text);
      const list = answerList(request.questions, own.answers, own.text, named);
      if (list.childElementCount > 0) blocks.push(keptBlock(list, text));
    }
    this.#result.replaceChildren(...blocks);
    this.#result.hidden = blocks.length === 0;
  }

  #buildAskBack() {
    const caption = el('label', { class: 'caption', for: this.#askText.id });
    label(caption, 'action.ask_back_label');
    this.#askBack.id = freshId('ask-back');
    this.#askBack.append(caption, this.#askText, this.#askLong, el('div', { class: 'row end' }, this.#askSend));
    this.#askToggle.setAttribute('aria-controls', this.#askBack.id);
    this.#askToggle.setAttribute('aria-expanded', 'false');
    this.#askToggle.addEventListener('click', () => {
      this.#openAskBack(this.#askBack.hidden === true);
      if (!this.#askBack.hidden) this.#askText.focus();
    });
    this.#askText.addEventListener('input', () => this.#edited());
    this.#askSend.addEventListener('click', () => this.#send('ask_back'));
  }

  /** @param {boolean} open */
  #openAskBack(open) {
    this.#askBack.hidden = !open;
    this.#askToggle.setAttribute('aria-expanded', String(open));
  }

  #buildFooter() {
    label(this.#skip, 'action.skip_hint', {}, 'title');
    label(this.#dismiss, 'action.dismiss_hint', {}, 'title');
    label(this.#partial, 'card.partial');
    const keys = el('span', { class: 'hint keys' });
    label(keys, MAC ? 'action.keys_mac' : 'action.keys');
    this.#footer.append(
      el('div', { class: 'row secondary' }, this.#askToggle, this.#skip, this.#dismiss),
      el('div', { class: 'row main' }, keys, this.#submit),
    );
    this.#submit.addEventListener('click', () => this.#send('answer'));
    this.#skip.addEventListener('click', () => this.#send('skip'));
    this.#dismiss.addEventListener('click', () => this.#send('dismiss'));
    this.#takeBack.addEventListener('click', () => this.#actions.takeBack(this.#entry));
    this.#close.addEventListener('click', () => this.#actions.close(this.#entry));
    this.#passOn.addEventListener('click', () => this.#actions.passOn(this.#entry));
  }

  #listen() {
    this.#guard.watch(this.element);
    this.element.addEventListener('keydown', (event) => {
      if (isAction(event.key)) this.#act();
      if (!isSendKey(event, this.#guard)) return;
      event.preventDefault();
      if (event.target === this.#askText) this.#send('ask_back');
      else if (!(event.target instanceof HTMLButtonElement)) this.#send('answer');
    });
    // A touch that only scrolls past starts with a pointerdown too: for touch the click counts.
    this.element.addEventListener('pointerdown', (event) => {
      if (event.pointerType !== 'touch') this.#act();
    });
    this.element.addEventListener('click', () => this.#act());
    // Dictation and pasting by menu press no key.
    this.element.addEventListener('input', () => this.#act());
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
    if (action === 'ask_back' && this.#askSend.disabled) return;
    // Everything filled in goes along with every action: nothing a person wrote is left behind. Only
    // a question that is declined is sent without what stood in it.
    const { answers, text } = this.content();
    const sent = answers.map((a) => (a.dismissed ? { ...a, option_ids: [], text: null, note: null } : a));
    this.#actions.submit(this.#entry, action, { answers: sent, text });
  }

  #refresh() {
    const total = this.#questions.length;
    const done = this.#questions.filter((q) => q.answered).length;
    const open = total - done - this.#questions.filter((q) => q.declined).length;
    const outOfBounds = this.#questions.some((q) => q.outOfBounds);
    const tooLong = this.#questions.some((q) => q.tooLong);
    const ask = this.#askText.value;
    if (total > 1) label(this.#progress, 'card.progress', { done, total });
    this.#submit.disabled = done === 0 || tooLong || outOfBounds;
    this.#askLong.hidden = !isTooLong(ask);
    this.#askSend.hidden = this.#entry.state !== 'waiting';
    this.#askSend.disabled = ask.trim() === '' || isTooLong(ask) || tooLong;
    this.#partial.hidden = this.#entry.state !== 'waiting' || done === 0 || open === 0;
  }
}

/** Words put together by a function, again for every language. @param {HTMLElement} node @param {() => string} make */
function sentence(node, make) {
  label(node, 'text.plain', () => ({ text: make() }));
}

/** @param {Element|null} node */
function isShown(node) {
  return node instanceof HTMLElement && node.getClientRects().length > 0;
}

/** @param {string} action @param {string} look @param {import('./i18n.js').Key} words */
function button(action, look, words) {
  const node = el('button', { type: 'button', class: look, 'data-action': action });
  label(node, words);
  return node;
}

