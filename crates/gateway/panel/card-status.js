/** What became of a card: sending, sent, settled and by whom, late and where it goes. */
import { button, el } from './dom.js';
import { label, t, unlabel } from './i18n.js';
import { carriesWords, isOnItsWay, whereTo } from './late.js';
import { allSaid, answerAsText, answerList, assumedLine, keptBlock, settledSentence } from './outcome.js';

/** @typedef {import('./types.js').Entry} Entry */

export class CardStatus {
  /** The line that says it; takes the focus when what had it is gone. */
  line = el('div', { class: 'status', tabindex: '-1', hidden: true });
  result = el('div', { class: 'result', hidden: true });
  row;
  #text = el('p', { class: 'status-text' });
  #takeBack = button('take-back', 'quiet', 'action.take_back');
  #close = button('close', 'quiet', 'action.close');
  #passOn = button('pass-on', 'quiet', 'action.pass_on');
  /** What stands in the result: drawn anew only when it changes, so that nobody loses their place in it. */
  #drawn = '';
  #entry;
  #actions;

  /** @param {Entry} entry @param {import('./card.js').CardActions} actions */
  constructor(entry, actions) {
    this.#entry = entry;
    this.#actions = actions;
    this.line.append(this.#text);
    this.row = el('div', { class: 'status-row' }, this.line, this.#takeBack, this.#passOn, this.#close);
    this.#takeBack.addEventListener('click', () => actions.takeBack(entry));
    this.#close.addEventListener('click', () => actions.close(entry));
    this.#passOn.addEventListener('click', () => actions.passOn(entry));
  }

  /** @param {import('./types.js').DraftContent} content What stands in the card. */
  update(content) {
    const { state, kept, left, goesOn, passing } = this.#entry;
    this.#takeBack.hidden = !(state === 'sending' && !left && !this.#actions.online());
    this.#close.hidden = !(state === 'late' || kept);
    this.#passOn.hidden = !this.#lateWords || isOnItsWay(goesOn);
    this.#passOn.disabled = passing || !this.#actions.online();
    this.#showLine();
    if (state === 'settled' || state === 'late') this.#showResult(content);
  }

  #showLine() {
    const { state, outcome, error, kept, transmitted, left } = this.#entry;
    const me = this.#actions.me();
    this.line.hidden = state === 'waiting' && error === null;
    this.line.dataset.kind = state === 'waiting' ? 'refused' : state;
    // Only an answer looks like one: time running out is no success.
    this.line.dataset.reason = outcome?.reason ?? '';
    const line = this.#text;
    const how = () => (outcome === null ? t('state.late_unknown') : settledSentence(outcome, me));
    if (state === 'waiting' && error !== null) label(line, 'state.refused', { error });
    else if (state === 'sending') {
      const waits = left ? 'state.maybe_sent' : 'state.queued';
      label(line, transmitted || this.#actions.online() ? 'state.sending' : waits);
    }
    else if (state === 'sent') label(line, 'state.sent');
    else if (state === 'late') sentence(line, () => `${t('state.late')} ${how()}${this.#whereItGoes()}`);
    else if (state === 'settled') {
      sentence(line, () => {
        const first = outcome === null ? t('state.gone') : settledSentence(outcome, me);
        return kept ? `${first}${t('state.stop')}${t('state.kept')}` : first;
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

  /** @param {import('./types.js').DraftContent} content */
  #showResult(content) {
    const { request, outcome, submission, state, kept } = this.#entry;
    const own = state === 'late' || kept ? (submission ?? content) : null;
    const drawn = document.documentElement.lang + JSON.stringify([outcome, own]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    const named = request.questions.length > 1;
    const blocks = [];
    if (outcome !== null) {
      const answers = allSaid(outcome);
      const list = answerList(request.questions, answers, outcome.text, named);
      if (list.childElementCount > 0) blocks.push(list);
      const assumed = assumedLine(request.questions, outcome);
      if (assumed !== null) blocks.push(assumed);
    }
    if (own !== null) {
      const text = answerAsText(request.questions, own.answers, own.text);
      const list = answerList(request.questions, own.answers, own.text, named);
      if (list.childElementCount > 0) blocks.push(keptBlock(list, text));
    }
    this.result.replaceChildren(...blocks);
    this.result.hidden = blocks.length === 0;
  }
}

/** Words put together by a function, again for every language. @param {HTMLElement} node @param {() => string} make */
function sentence(node, make) {
  label(node, 'text.plain', () => ({ text: make() }));
}
