/** Asking back instead of answering: what the person needs to know first. */
import { button, el, freshId } from './dom.js';
import { label } from './i18n.js';
import { isBlank, isTooLong } from './limits.js';
import { tooLongWarning } from './note.js';

export class AskBackView {
  element = el('div', { class: 'ask-back', hidden: true, id: freshId('ask-back') });
  /** Opens and closes it. */
  toggle = button('ask-back', 'quiet', 'action.ask_back');
  field = el('textarea', { rows: '2', dir: 'auto', id: freshId('ask'), 'data-field': 'ask-back' });
  #tooLong = tooLongWarning();
  #send = button('ask-back-send', 'primary small', 'action.ask_back_send');

  /** @param {() => void} edited @param {() => void} send */
  constructor(edited, send) {
    const caption = el('label', { class: 'caption', for: this.field.id });
    label(caption, 'action.ask_back_label');
    this.element.append(caption, this.field, this.#tooLong, el('div', { class: 'row end' }, this.#send));
    this.toggle.setAttribute('aria-controls', this.element.id);
    this.open(false);
    this.toggle.addEventListener('click', () => {
      this.open(this.element.hidden === true);
      if (!this.element.hidden) this.field.focus();
    });
    this.field.addEventListener('input', edited);
    this.field.addEventListener('keydown', (event) => {
      // While an input method composes, the key is its own.
      if (event.key !== 'Escape' || event.isComposing) return;
      this.open(false);
      this.toggle.focus();
    });
    this.#send.addEventListener('click', send);
  }

  get text() {
    return this.field.value;
  }

  /** What goes along with any other action: nothing that was given up and is out of sight. */
  get said() {
    return this.element.hidden ? '' : this.text;
  }

  /** @param {string} text */
  fill(text) {
    this.field.value = text;
    if (text.trim() !== '') this.open(true);
  }

  /** @param {boolean} open */
  open(open) {
    this.element.hidden = !open;
    this.toggle.setAttribute('aria-expanded', String(open));
    label(this.toggle, open ? 'action.ask_back_close' : 'action.ask_back');
  }

  /** Whether it can be sent. */
  get ready() {
    return !this.#send.disabled;
  }

  /**
   * @param {boolean} waiting Whether the question waits for this person.
   * @param {boolean} over Whether it is settled.
   */
  lock(waiting, over) {
    this.field.readOnly = !waiting;
    if (!waiting) this.element.hidden = over || this.text.trim() === '';
  }

  /** @param {boolean} waiting @param {boolean} blocked Whether something else in the card cannot be sent. */
  refresh(waiting, blocked) {
    this.#tooLong.hidden = !isTooLong(this.text);
    this.#send.hidden = !waiting;
    this.#send.disabled = isBlank(this.text) || isTooLong(this.text) || blocked;
  }
}
