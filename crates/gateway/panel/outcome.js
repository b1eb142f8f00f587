/** How a settled question reads: who settled it, and what they chose. */
import { copyText } from './copying.js';
import { el, words } from './dom.js';
import { label, t } from './i18n.js';
import { inWords, labelInWords } from './plain.js';

/** @typedef {import('./types.js').Outcome} Outcome */
/** @typedef {import('./types.js').Question} Question */
/** @typedef {import('./types.js').Actor} Actor */
/** @typedef {import('./types.js').AnswerEntry} AnswerEntry */
/** @typedef {import('./types.js').ResolvedAnswer} ResolvedAnswer */

const REASONS = /** @type {const} */ ([
  'response', 'ask_back', 'dismissed', 'skipped', 'timeout', 'cancelled', 'unattended', 'deferred', 'off',
]);
const SURFACES = /** @type {const} */ (['web', 'terminal', 'http']);

/**
 * An outcome as a socket tells it. There `reason` has only the words of older clients.
 * @param {any} outcome
 * @returns {Outcome}
 */
export function readOutcome(outcome) {
  return { ...outcome, reason: String(outcome.outcome_reason ?? outcome.reason ?? '') };
}

/**
 * A person's name as this person reads it.
 * @param {Actor|null|undefined} actor
 * @param {string} me
 */
export function personName(actor, me) {
  if (!actor?.person) return t('who.someone');
  return actor.person === me ? t('who.you') : actor.person;
}

/**
 * One sentence, such as "Answered by ana · terminal".
 * @param {Outcome} outcome
 * @param {string} me
 */
export function settledSentence(outcome, me) {
  const reason = REASONS.find((r) => r === outcome.reason);
  const mine = outcome.actor?.person === me;
  const key = reason === 'ask_back' && mine ? 'settled.ask_back_you' : `settled.${reason ?? 'other'}`;
  const sentence = t(/** @type {import('./i18n.js').Key} */ (key), { who: personName(outcome.actor, me) });
  const surface = SURFACES.find((s) => s === outcome.actor?.surface);
  return surface ? `${sentence} · ${t(`surface.${surface}`)}` : sentence;
}

/**
 * The labels and texts of one answer.
 * @param {Question} question
 * @param {ResolvedAnswer|AnswerEntry} answer
 * @returns {{labels: string[], texts: string[], note: string|null}}
 */
export function answerParts(question, answer) {
  const given = 'options' in answer && Array.isArray(answer.options) ? answer.options : null;
  const ids = answer.option_ids ?? [];
  const labels = given
    ? given.map((o) => o.label)
    : question.options.filter((o) => ids.includes(o.id)).map((o) => o.label);
  const written = (/** @type {string|null|undefined} */ s) => (typeof s === 'string' && s.trim() !== '' ? s : null);
  const text = written(answer.text);
  return { labels, texts: text === null ? [] : [text], note: written(answer.note) };
}

/**
 * All that a person said per question: what they answered, and what they filled in or noted beside it.
 * @param {{answers?: ResolvedAnswer[], partial?: ResolvedAnswer[]}} outcome
 */
export function allSaid(outcome) {
  return [...(outcome.answers ?? []), ...(outcome.partial ?? [])];
}

/**
 * A whole answer as text for the clipboard: questions are named only when there are several.
 * @param {Question[]} questions
 * @param {(ResolvedAnswer|AnswerEntry)[]} answers
 * @param {string|null|undefined} text
 */
export function answerAsText(questions, answers, text) {
  const lines = [];
  for (const question of questions) {
    const answer = answers.find((a) => a.question_id === question.id);
    if (!answer) continue;
    const { labels, texts, note } = answerParts(question, answer);
    const parts = [...labels.map((chosen) => labelInWords(question, chosen)), ...texts];
    if (note !== null) parts.push(t('answer.note', { note }));
    if (parts.length === 0) continue;
    lines.push(questions.length > 1 ? `${inWords(question)}\n${parts.join('\n')}` : parts.join('\n'));
  }
  if (text && text.trim() !== '') lines.push(text);
  return lines.join('\n\n');
}

/** What an answer that is not there says. @type {{labels: string[], texts: string[], note: string|null}} */
export const NOTHING = { labels: [], texts: [], note: null };

/** A note beside an answer, called one. @param {string} note */
export function noteLine(note) {
  const line = words('p', 'chosen-text', '');
  label(line, 'answer.note', { note });
  return line;
}

/**
 * What the agent went on with where nobody chose; empty where it assumes nothing.
 * @param {Question[]} questions
 * @param {Outcome} outcome
 */
export function assumedSentence(questions, outcome) {
  const assumed = questions.flatMap((question) => (outcome.assumptions ?? [])
    .filter((a) => a.question_id === question.id)
    .map((a) => {
      const option = labelInWords(question, a.label);
      return questions.length > 1 ? `${question.header || inWords(question)} ${option}` : option;
    }));
  return assumed.length === 0 ? '' : t('settled.assumed', { what: assumed.join(' · ') });
}

/** The same as a line of its own, or none. @param {Question[]} questions @param {Outcome} outcome */
export function assumedLine(questions, outcome) {
  if (assumedSentence(questions, outcome) === '') return null;
  const line = el('p', { class: 'hint assumed' });
  label(line, 'text.plain', () => ({ text: assumedSentence(questions, outcome) }));
  return line;
}

/** Acts that say something without a word, as the history calls them. */
const ACTS = /** @type {const} */ ({ dismiss: 'reason.dismissed', skip: 'reason.skipped', ask_back: 'reason.ask_back' });

/**
 * An answer that came too late, as text.
 * @param {Question[]} questions
 * @param {import('./types.js').LateAnswer} late
 */
export function lateAsText(questions, late) {
  const said = answerAsText(questions, late.answers ?? [], late.text);
  const act = Object.entries(ACTS).find(([action]) => action === late.action);
  return said === '' && act ? t(act[1]) : said;
}

/**
 * What was chosen, question by question.
 * @param {Question[]} questions
 * @param {(ResolvedAnswer|AnswerEntry)[]} answers
 * @param {string|null|undefined} text
 * @param {boolean} named Whether to repeat the questions.
 */
export function answerList(questions, answers, text, named) {
  const list = el('div', { class: 'chosen' });
  for (const question of questions) {
    const answer = answers.find((a) => a.question_id === question.id);
    const { labels, texts, note } = answer ? answerParts(question, answer) : NOTHING;
    if (labels.length + texts.length === 0 && note === null) continue;
    if (named) list.append(words('p', 'chosen-question', question.header || inWords(question)));
    for (const chosen of labels) list.append(words('p', 'chosen-option', labelInWords(question, chosen)));
    for (const own of texts) list.append(words('p', 'chosen-text', own));
    if (note !== null) list.append(noteLine(note));
  }
  if (text && text.trim() !== '') list.append(words('p', 'chosen-text', text));
  return list;
}

/**
 * A block that keeps a person's text where it can be read and copied.
 * @param {HTMLElement} content
 * @param {string} text What the copy button copies.
 */
export function keptBlock(content, text) {
  const title = el('p', { class: 'kept-title' });
  label(title, 'state.kept_title');
  const copy = el('button', { type: 'button', class: 'quiet', 'data-action': 'copy' });
  label(copy, 'action.copy');
  copy.addEventListener('click', () => {
    void copyText(text, content).then((done) => done && label(copy, 'action.copied'));
  });
  return el('div', { class: 'kept' }, el('div', { class: 'kept-head' }, title, copy), content);
}
