/** The clipboard, and a clarification as Markdown. */
import { t } from './i18n.js';
import { answerParts, assumedSentence, NOTHING, settledSentence } from './outcome.js';

/** @typedef {import('./types.js').Question} Question */
/** @typedef {import('./types.js').Outcome} Outcome */
/** @typedef {import('./types.js').AnswerEntry} AnswerEntry */
/** @typedef {import('./types.js').ResolvedAnswer} ResolvedAnswer */

/**
 * Copies, or where that is not allowed selects the text for the person to copy.
 * @param {string} text
 * @param {HTMLElement} [shown]
 */
export async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (shown) getSelection()?.selectAllChildren(shown);
    return false;
  }
}

/**
 * Questions with their options, what is chosen, and how it ended, as Markdown.
 * @param {Question[]} questions
 * @param {(AnswerEntry|ResolvedAnswer)[]} answers
 * @param {string|null|undefined} text
 * @param {Outcome|null} outcome
 * @param {string} me
 */
export function asMarkdown(questions, answers, text, outcome, me) {
  const blocks = questions.map((question, i) => {
    const answer = answers.find((a) => a.question_id === question.id);
    const { labels, texts, note } = answer ? answerParts(question, answer) : NOTHING;
    if (note !== null) texts.push(t('answer.note', { note }));
    const lines = [questions.length > 1 ? `${i + 1}. ${indent(question.question, 3)}` : question.question];
    const pad = questions.length > 1 ? '   ' : '';
    if (question.explanation) lines.push('', `${pad}${indent(question.explanation, pad.length)}`);
    if (question.options.length > 0) lines.push('');
    for (const option of question.options) {
      const mark = labels.includes(option.label) ? 'x' : ' ';
      const star = option.id === question.recommended ? ` _(${t('card.recommended')})_` : '';
      const more = option.description ? ` — ${option.description}` : '';
      lines.push(`${pad}- [${mark}] ${indent(option.label, pad.length + 6)}${star}${indent(more, pad.length + 6)}`);
    }
    for (const own of texts) lines.push('', ...own.split('\n').map((line) => `${pad}> ${line}`));
    return lines.join('\n');
  });
  if (text && text.trim() !== '') blocks.push(text.split('\n').map((line) => `> ${line}`).join('\n'));
  if (outcome !== null) {
    const assumed = assumedSentence(questions, outcome);
    blocks.push(`_${settledSentence(outcome, me)}${assumed === '' ? '' : `. ${assumed}`}_`);
  }
  return `${blocks.join('\n\n')}\n`;
}

/** Lines after the first one moved in, so that they stay in their list. @param {string} text @param {number} by */
function indent(text, by) {
  return text.replace(/\n/g, `\n${' '.repeat(by)}`);
}
