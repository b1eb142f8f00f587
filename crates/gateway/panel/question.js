/** One question of a card: its words, its options as real inputs, and room for own text. */
import { el, freshId, words } from './dom.js';
import { foldable } from './fold.js';
import { label } from './i18n.js';

/** @typedef {import('./types.js').Question} Question */
/** @typedef {import('./types.js').AnswerEntry} AnswerEntry */

/** The longest answer the service takes, in characters. */
export const MAX_ANSWER_CHARS = 20_000;

/**
 * Whether a text is longer than the service takes; counts characters, not UTF-16 units.
 * @param {string} text
 */
export function isTooLong(text) {
  return text.length > MAX_ANSWER_CHARS && [...text].length > MAX_ANSWER_CHARS;
}

export class QuestionView {
  /** @type {HTMLFieldSetElement} */
  element;
  /** @type {HTMLInputElement[]} */
  #inputs = [];
  /** @type {HTMLTextAreaElement} */
  #text;
  #clear;
  #tooLong;
  #question;
  #locked = false;

  /**
   * @param {Question} question
   * @param {number} number From 1.
   * @param {number} total
   * @param {() => void} edited After each choice and each key.
   */
  constructor(question, number, total, edited) {
    this.#question = question;
    const several = question.options.length > 0 && question.multi_select;

    const legend = el('legend');
    const tags = el('span', { class: 'tags' });
    if (total > 1) {
      const count = el('span', { class: 'number' });
      label(count, 'card.number', { number, total });
      tags.append(count);
    }
    if (question.header) tags.append(words('span', 'header-tag', question.header));
    if (tags.childElementCount > 0) legend.append(tags);
    const asked = words('span', 'question-text', question.question);
    legend.append(asked);

    this.#clear = el('button', { type: 'button', class: 'link clear', 'data-action': 'clear', hidden: true });
    label(this.#clear, 'card.clear');
    this.#clear.addEventListener('click', () => {
      this.#inputs.find((input) => input.checked)?.focus();
      for (const input of this.#inputs) input.checked = false;
      this.#refresh();
      edited();
    });

    const hint = several ? el('p', { class: 'hint several' }) : null;
    if (hint) label(hint, 'card.several');

    const options = el('div', { class: 'options', hidden: question.options.length === 0 });
    const group = freshId('choice');
    for (const option of question.options) options.append(this.#option(option, group));

    const textId = freshId('own');
    const caption = el('label', { class: 'caption', for: textId });
    label(caption, question.options.length > 0 ? 'card.own_text_also' : 'card.own_text');
    this.#text = el('textarea', {
      id: textId, rows: question.options.length > 0 ? '2' : '3', dir: 'auto',
      'data-question-id': question.id, 'aria-describedby': `${textId}-long`,
    });
    this.#tooLong = el('p', { class: 'warning', id: `${textId}-long`, hidden: true });
    label(this.#tooLong, 'card.too_long');

    const area = el('div', { class: 'answer-area' }, hint, options, this.#clear, caption, this.#text, this.#tooLong);
    area.addEventListener('input', () => {
      this.#refresh();
      edited();
    });
    this.element = el('fieldset', { class: 'question' }, legend, foldable(asked, 12), area);
  }

  /** @param {import('./types.js').Option} option @param {string} group */
  #option(option, group) {
    const input = el('input', {
      type: this.#question.multi_select ? 'checkbox' : 'radio', name: group,
      'data-option-id': option.id,
    });
    this.#inputs.push(input);
    const name = words('span', 'option-label', option.label);
    name.id = freshId('label');
    const head = el('span', { class: 'option-head' }, name);
    const body = el('span', { class: 'option-body' }, head);
    const row = el('label', { class: 'option-row' }, input, body);
    const described = [];
    if (option.id === this.#question.recommended) {
      const badge = el('span', { class: 'badge', id: freshId('badge') });
      label(badge, 'card.recommended');
      head.append(badge);
      described.push(badge.id);
    }
    const folds = [foldable(name, 6)];
    if (option.description) {
      const description = words('span', 'option-description', option.description);
      description.id = freshId('description');
      described.push(description.id);
      body.append(description);
      folds.push(foldable(description, 4));
    }
    input.setAttribute('aria-labelledby', name.id);
    if (described.length > 0) input.setAttribute('aria-describedby', described.join(' '));
    return el('div', { class: 'option' }, row, ...folds);
  }

  /** @returns {AnswerEntry} */
  value() {
    const chosen = this.#inputs.filter((input) => input.checked);
    const text = this.#text.value;
    return {
      question_id: this.#question.id,
      option_ids: chosen.map((input) => input.dataset.optionId ?? ''),
      text: text.trim() === '' ? null : text,
      note: null,
    };
  }

  get answered() {
    const { option_ids, text } = this.value();
    return option_ids.length > 0 || text !== null;
  }

  get tooLong() {
    return isTooLong(this.#text.value);
  }

  /** Puts an answer in. @param {AnswerEntry|undefined} answer */
  fill(answer) {
    const chosen = answer?.option_ids ?? [];
    for (const input of this.#inputs) input.checked = chosen.includes(input.dataset.optionId ?? '');
    this.#text.value = answer?.text ?? '';
    this.#refresh();
  }

  /** @param {boolean} locked */
  lock(locked) {
    for (const input of this.#inputs) input.disabled = locked;
    // Read-only, not disabled: its text can still be selected and copied.
    this.#text.readOnly = locked;
    this.#locked = locked;
    this.#refresh();
  }

  #refresh() {
    this.#clear.hidden = this.#locked || this.#question.multi_select || !this.#inputs.some((input) => input.checked);
    this.#tooLong.hidden = !this.tooLong;
  }
}
