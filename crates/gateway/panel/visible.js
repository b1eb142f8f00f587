/** Characters that would let a text show itself as another one. */

/** What turns the direction of the text around it; nobody needs it who has `dir=auto`. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** A text with what turns its direction made visible. @param {string} text */
export function visible(text) {
  return text.replace(TURNING, '\ufffd');
}
