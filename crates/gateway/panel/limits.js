/** What the service takes and shows; it says so in its first message. */

/** Nothing is refused here before the service has said what it refuses. */
const limits = {
  answer_chars: Number.POSITIVE_INFINITY,
  shown_header_chars: Number.POSITIVE_INFINITY,
  frame_bytes: Number.POSITIVE_INFINITY,
};

/** @param {unknown} said The `limits` of a `hello`. */
export function learnLimits(said) {
  if (typeof said !== 'object' || said === null) return;
  const { answer_chars, shown_header_chars, frame_bytes } = /** @type {Record<string, unknown>} */ (said);
  if (typeof answer_chars === 'number' && answer_chars > 0) limits.answer_chars = answer_chars;
  if (typeof shown_header_chars === 'number' && shown_header_chars > 0) limits.shown_header_chars = shown_header_chars;
  if (typeof frame_bytes === 'number' && frame_bytes > 0) limits.frame_bytes = frame_bytes;
}

/** The longest text or note of an answer, in characters. */
export function longestAnswer() {
  return limits.answer_chars;
}

/**
 * Whether a text is longer than the service takes; counts characters, not UTF-16 units.
 * @param {string} text
 */
export function isTooLong(text) {
  return text.length > limits.answer_chars && [...text].length > limits.answer_chars;
}

/**
 * Whether nobody would see anything of a text: white space and characters that draw nothing, as the service
 * has it.
 * @param {string} text
 */
export function isBlank(text) {
  return /^[\s\p{Cc}\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]*$/u.test(text);
}

/** Whether the service reads a message of this length; a longer one would end the connection. @param {string} text */
export function isShortEnough(text) {
  // No UTF-16 unit takes more than three bytes.
  return text.length * 3 <= limits.frame_bytes || new TextEncoder().encode(text).length <= limits.frame_bytes;
}

/** A header as far as it is shown. @param {string} header */
export function shownHeader(header) {
  const characters = [...header];
  return characters.length > limits.shown_header_chars
    ? characters.slice(0, limits.shown_header_chars).join('').trimEnd()
    : header;
}
