/** One question of a card: its words, its options as real inputs, and room for own text. */
import { el, freshId, words } from './dom.js';
import { prose } from './markdown.js';
import { foldable } from './fold.js';
import { label } from './i18n.js';
import { isBlank, isTooLong, shownHeader } from './limits.js';
import { NoteView, tooLongWarning } from './note.js';

/** @typedef {import('./types.js').Question} Question */
/** @typedef {import('./types.js').AnswerEntry} AnswerEntry */

export class QuestionView {
  /** @type {HTMLFieldSetElement} */
  element;
  /** @type {HTMLInputElement[]} */
  #inputs = [];
  /** @type {HTMLTextAreaElement} */
  #text;
  #clear;
  #tooLong = tooLongWarning();
  #question;
  #total;
  #locked = false;
  #declined = false;
  #hint = el('p', { class: 'hint several', hidden: true });
  /** @type {NoteView} */
  #note;
  #decline = el('button', { type: 'button', class: 'link decline', 'data-action': 'decline' });

  /**
   * @param {Question} question
   * @param {number} number From 1.
   * @param {number} total
   * @param {() => void} edited After each choice and each key.
   * @param {import('./types.js').QuestionHtml} [html] Its texts rendered, where they need it.
   */
  constructor(question, number, total, edited, html = {}) {
    this.#question = question;
    this.#total = total;
    const legend = el('legend');
    const tags = el('span', { class: 'tags' });
    if (total > 1) {
      const count = el('span', { class: 'number' });
      label(count, 'card.number', { number, total });
      tags.append(count);
    }
    const header = shownHeader(question.header ?? '');
    if (header) tags.append(words('span', 'header-tag', header));
    if (tags.childElementCount > 0) legend.append(tags);
    // Blocks have no place in a legend: they stand below it and name the group just as well.
    const asked = prose(html.question === undefined ? 'span' : 'div', 'question-text', question.question, html.question);
    asked.id = freshId('asked');
    if (html.question === undefined) legend.append(asked);

    this.#clear = el('button', { type: 'button', class: 'link clear', 'data-action': 'clear', hidden: true });
    label(this.#clear, 'card.clear');
    this.#clear.addEventListener('click', () => {
      this.#inputs.find((input) => input.checked)?.focus();
      for (const input of this.#inputs) input.checked = false;
      this.#refresh();
      edited();
    });

    this.#labelHint();
    const explanation = question.explanation ? prose('div', 'explanation', question.explanation, html.explanation) : null;

    const options = el('div', { class: 'options', hidden: question.options.length === 0 });
    const group = freshId('choice');
    for (const option of question.options) options.append(this.#option(option, group, html.options?.[option.id]));

    const textId = freshId('own');
    const caption = el('label', { class: 'caption', for: textId });
    label(caption, question.options.length > 0 ? 'card.own_text_also' : 'card.own_text');
    this.#text = el('textarea', {
      id: textId, rows: question.options.length > 0 ? '2' : '3', dir: 'auto',
      'data-question-id': question.id, 'aria-describedby': `${textId}-long`,
    });
    this.#tooLong.id = `${textId}-long`;
    this.#note = new NoteView(question.id);

    this.#decline.addEventListener('click', () => {
      this.#declined = !this.#declined;
      this.#refresh();
      edited();
    });

    const area = el('div', { class: 'answer-area' }, this.#hint, options, this.#clear, caption, this.#text,
      this.#tooLong, this.#note.element);
    area.addEventListener('input', () => {
      this.#refresh();
      edited();
    });
    tags.id = freshId('tags');
    const named = html.question === undefined ? null : `${tags.id} ${asked.id}`;
    this.element = el('fieldset', { class: 'question', 'aria-labelledby': named }, legend,
      html.question === undefined ? null : asked, foldable(asked, 12),
      explanation, explanation ? foldable(explanation, 6) : null, area,
      el('div', { class: 'row question-foot' }, this.#note.toggle, this.#decline));
    this.#refresh();
  }

  /** Says how many options may be chosen, where several may. */
  #labelHint() {
    const { options, multi_select, select } = this.#question;
    this.#hint.hidden = options.length === 0 || !multi_select;
    const min = select?.min ?? 0;
    const max = select?.max ?? 0;
    if (min > 0 && min === max) label(this.#hint, 'card.several_exactly', { min });
    else if (min > 0 && max > 0) label(this.#hint, 'card.several_between', { min, max });
    else if (min > 0) label(this.#hint, 'card.several_least', { min });
    else if (max > 0) label(this.#hint, 'card.several_most', { max });
    else label(this.#hint, 'card.several');
  }

  /**
   * @param {import('./types.js').Option} option
   * @param {string} group
   * @param {{label?: string, description?: string}} [html]
   */
  #option(option, group, html = {}) {
    const input = el('input', {
      type: this.#question.multi_select ? 'checkbox' : 'radio', name: group,
      'data-option-id': option.id,
    });
    this.#inputs.push(input);
    const name = prose('span', 'option-label', option.label, html.label);
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
      const description = prose('span', 'option-description', option.description, html.description);
      description.id = freshId('description');
      described.push(description.id);
      body.append(description);
      folds.push(foldable(description, 4));
    }
    input.setAttribute('aria-labelledby', name.id);
    if (described.length > 0) input.setAttribute('aria-describedby', described.join(' '));
    return el('div', { class: 'option' }, row, ...folds);
  }

  /** @returns {AnswerEntry} What stands here, also what was filled in before it was declined. */
  value() {
    const chosen = this.#inputs.filter((input) => input.checked);
    const text = this.#text.value;
    return {
      question_id: this.#question.id,
      option_ids: chosen.map((input) => input.dataset.optionId ?? ''),
      text: isBlank(text) ? null : text,
      note: this.#note.value(),
      ...(this.#declined ? { dismissed: true } : {}),
    };
  }

  get declined() {
    return this.#declined;
  }

  get answered() {
    const { option_ids, text } = this.value();
    return !this.#declined && (option_ids.length > 0 || text !== null);
  }

  /** Whether anything stands here. */
  get touched() {
    const { option_ids, text, note } = this.value();
    return this.#declined || option_ids.length > 0 || text !== null || note !== null;
  }

  /** Whether the option that the agent would take may be the whole answer. */
  get recommendable() {
    const { recommended, options, select } = this.#question;
    return options.some((o) => o.id === recommended) && (select?.min ?? 1) <= 1;
  }

  /** The option that the agent would take, as an answer. @returns {AnswerEntry} */
  recommended() {
    const id = this.recommendable ? this.#question.recommended : null;
    return { question_id: this.#question.id, option_ids: id ? [id] : [], text: null, note: null };
  }

  /** Whether fewer or more options are chosen than may be; an own text alone may stand instead. */
  get outOfBounds() {
    const { select } = this.#question;
    const chosen = this.#inputs.filter((input) => input.checked).length;
    if (this.#declined || !select || chosen === 0) return false;
    return chosen < (select.min ?? 0) || chosen > (select.max ?? chosen);
  }

  get tooLong() {
    return isTooLong(this.#text.value) || this.#note.tooLong;
  }

  /** Puts an answer in. @param {AnswerEntry|undefined} answer */
  fill(answer) {
    const chosen = answer?.option_ids ?? [];
    for (const input of this.#inputs) input.checked = chosen.includes(input.dataset.optionId ?? '');
    this.#text.value = answer?.text ?? '';
    this.#note.fill(answer?.note);
    this.#declined = answer?.dismissed === true;
    this.#refresh();
  }

  /** @param {boolean} locked */
  lock(locked) {
    this.#locked = locked;
    this.#refresh();
  }

  #refresh() {
    const locked = this.#locked || this.#declined;
    for (const input of this.#inputs) input.disabled = locked;
    // Read-only, not disabled: its text can still be selected and copied.
    this.#text.readOnly = locked;
    this.element.dataset.declined = String(this.#declined);
    this.#decline.hidden = this.#locked || this.#total < 2;
    label(this.#decline, this.#declined ? 'card.decline_undo' : 'card.decline');
    this.#hint.classList.toggle('warning', this.outOfBounds);
    this.#note.lock(locked);
    this.#clear.hidden = locked || this.#question.multi_select || !this.#inputs.some((input) => input.checked);
    this.#tooLong.hidden = !isTooLong(this.#text.value);
  }
}
