/** Where an answer goes that came too late, and sending it on by its author's act. */
import { t } from './i18n.js';

/** @typedef {import('./types.js').AnswerEntry} AnswerEntry */
/** @typedef {import('./types.js').ResolvedAnswer} ResolvedAnswer */

const PLACES = /** @type {const} */ (['next_result', 'next_turn', 'nowhere', 'queue_full']);

/**
 * Whether it reaches the agent.
 * @param {string|null|undefined} goesOn
 */
export function isOnItsWay(goesOn) {
  return goesOn === 'next_result' || goesOn === 'next_turn';
}

/**
 * Whether a late answer holds anything that an agent could be told.
 * @param {string} action
 * @param {(AnswerEntry|ResolvedAnswer)[]} answers
 * @param {string|null|undefined} text
 */
export function carriesWords(action, answers, text) {
  const written = (text ?? '').trim() !== '';
  if (action === 'ask_back') return written;
  if (action !== 'answer') return false;
  const filled = (/** @type {AnswerEntry|ResolvedAnswer} */ a) => {
    const chosen = [...(a.option_ids ?? []), ...('options' in a ? (a.options ?? []) : [])];
    return chosen.length > 0 || (a.text ?? '').trim() !== '' || (a.note ?? '').trim() !== '';
  };
  return written || answers.some(filled);
}

/**
 * A sentence about it.
 * @param {string|null} goesOn Null: it stays where it is until its author sends it on.
 */
export function whereTo(goesOn) {
  const place = PLACES.find((p) => p === goesOn);
  return t(place ? `late.${place}` : 'late.stays');
}

/**
 * The message that sends one on; repeating it is harmless.
 * @param {string} session
 * @param {string} clarify
 * @param {string} answer The id of the late answer.
 */
export function passOnMessage(session, clarify, answer) {
  return { event: 'clarify.pass_on', session_id: session, clarify_id: clarify, answer_id: answer };
}
