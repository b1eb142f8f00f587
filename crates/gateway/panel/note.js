/** The note to one question's answer: a line that stays out of the way until it is wanted. */
import { el, freshId } from './dom.js';
import { label, locale } from './i18n.js';
import { isBlank, isTooLong, longestAnswer } from './limits.js';

export class NoteView {
  /** The field with its caption; put it where the note belongs. */
  element;
  /** Opens the field. */
  toggle = el('button', { type: 'button', class: 'link', 'data-action': 'note' });
  #text;
  #tooLong = tooLongWarning();
  #open = false;
  #locked = false;

  /** @param {string} question The question's id. */
  constructor(question) {
    const id = freshId('note');
    const caption = el('label', { class: 'caption', for: id });
    label(caption, 'card.note_label');
    this.#text = el('textarea', {
      id, rows: '1', dir: 'auto', 'data-field': 'note', 'data-note-of': question, 'aria-describedby': `${id}-long`,
    });
    this.#tooLong.id = `${id}-long`;
    this.element = el('div', { class: 'note' }, caption, this.#text, this.#tooLong);
    label(this.toggle, 'card.note_add');
    this.toggle.addEventListener('click', () => {
      this.#open = true;
      this.refresh();
      this.#text.focus();
    });
    this.refresh();
  }

  /** @returns {string|null} */
  value() {
    return isBlank(this.#text.value) ? null : this.#text.value;
  }

  get tooLong() {
    return isTooLong(this.#text.value);
  }

  /** @param {string|null|undefined} note */
  fill(note) {
    this.#text.value = note ?? '';
    this.refresh();
  }

  /** @param {boolean} locked */
  lock(locked) {
    this.#locked = locked;
    this.refresh();
  }

  /** Shows what stands in it now. */
  refresh() {
    // A note that came with a draft is never out of sight.
    const shown = this.#open || this.value() !== null;
    this.element.hidden = !shown;
    this.toggle.hidden = shown || this.#locked;
    this.#text.readOnly = this.#locked;
    this.#tooLong.hidden = !this.tooLong;
  }
}

/** Says that a text is too long; hidden until it is. */
export function tooLongWarning() {
  const warning = el('p', { class: 'warning', hidden: true });
  label(warning, 'card.too_long', () => ({ max: new Intl.NumberFormat(locale()).format(longestAnswer()) }));
  return warning;
}
