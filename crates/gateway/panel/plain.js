/**
 * Agents' texts as plain words. The service makes them of Markdown; what reads as it is written it does
 * not say twice. For lines, for what is read aloud, and for notifications.
 */

/** @typedef {import('./types.js').Question} Question */
/** @typedef {import('./types.js').Option} Option */

/** The length of a question in a line, in characters as people count them. */
const EXCERPT_CHARS = 120;

/**
 * Puts the plain words beside the texts they stand for.
 * @param {Question[]} questions
 * @param {any} plain As the service sent it.
 */
export function withPlain(questions, plain) {
  for (const question of questions) {
    const words = plain?.[question.id];
    if (typeof words?.question === 'string') question.plain = words.question;
    for (const option of question.options ?? []) {
      const label = words?.options?.[option.id]?.label;
      if (typeof label === 'string') option.plain = label;
    }
  }
  return questions;
}

/** @param {Question|undefined} question */
export function inWords(question) {
  return question?.plain ?? question?.question ?? '';
}

/**
 * The name of an option, which answers name as it is written.
 * @param {Question} question
 * @param {string} label
 */
export function labelInWords(question, label) {
  return question.options.find((option) => option.label === label)?.plain ?? label;
}

/**
 * The beginning of the first question.
 * @param {import('./types.js').Entry} entry
 */
export function excerpt(entry) {
  const text = inWords(entry.request.questions[0]);
  // No more of a text of any length is looked at than could be shown.
  const start = text.slice(0, EXCERPT_CHARS * 16);
  const characters = [...new Intl.Segmenter().segment(start)].map((part) => part.segment);
  if (characters.length <= EXCERPT_CHARS && start === text) return text;
  return `${characters.slice(0, EXCERPT_CHARS).join('').trimEnd()}…`;
}
