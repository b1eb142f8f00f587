/**
 * Tells a key press that belongs to an input method from one that means something.
 *
 * Most browsers mark such a press (`isComposing`, or key code 229). Safari ends the composition
 * first and sends the Enter that ended it afterwards, unmarked: the press right after the end is
 * therefore ignored too. Everywhere else the release of the key comes first and clears that.
 */
export class ComposingGuard {
  #composing = false;
  #justEnded = false;

  start() {
    this.#composing = true;
    this.#justEnded = false;
  }

  end() {
    this.#composing = false;
    this.#justEnded = true;
  }

  /**
   * Whether this key press belongs to the input method.
   * @param {{isComposing?: boolean, keyCode?: number}} event
   */
  press(event) {
    const after = this.#justEnded;
    this.#justEnded = false;
    return this.#composing || after || event.isComposing === true || event.keyCode === 229;
  }

  release() {
    this.#justEnded = false;
  }

  /**
   * Listens to everything composed inside `root`.
   * @param {HTMLElement} root
   */
  watch(root) {
    root.addEventListener('compositionstart', () => this.start());
    root.addEventListener('compositionend', () => this.end());
    root.addEventListener('keyup', () => this.release());
  }
}

/**
 * Whether a key press asks to send: Ctrl or Cmd with Enter, once, outside an input method.
 * @param {KeyboardEvent} event
 * @param {ComposingGuard} guard
 */
export function isSendKey(event, guard) {
  if (guard.press(event)) return false;
  return event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.repeat;
}

const NOT_AN_ACTION = new Set(['Tab', 'Shift', 'Control', 'Alt', 'AltGraph', 'Meta', 'CapsLock', 'NumLock']);

/**
 * Whether a key press is a real action in a card: moving the focus and bare modifiers are not.
 * @param {string} key
 */
export function isAction(key) {
  return !NOT_AN_ACTION.has(key);
}
