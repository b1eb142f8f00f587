/** One settled question, closed to a line or open to all that was asked and answered. */
import { clockTime } from './clock-view.js';
import { asMarkdown } from './copying.js';
import { copyOnClick } from './card-head.js';
import { button, el, words } from './dom.js';
import { label, t } from './i18n.js';
import { whereTo } from './late.js';
import { prose } from './markdown.js';
import { allSaid, answerParts, assumedLine, lateAsText, NOTHING, noteLine, readOutcome, settledSentence } from './outcome.js';
import { inWords, withPlain } from './plain.js';
import { request } from './requests.js';
import { addressOf, questionPlace, sessionPlace } from './routes.js';

/** @typedef {import('./recent.js').Settled & {asker?: import('./types.js').Asker|null, html?: Record<string, import('./types.js').QuestionHtml>}} Past */

/**
 * @typedef {object} PastActions
 * @property {() => string} me
 * @property {(item: Past, late: import('./types.js').LateAnswer) => boolean} passOn
 */

/**
 * One as the service tells it; null when it is none that can be shown.
 * @param {any} value
 * @returns {Past|null}
 */
export function readPast(value) {
  if (typeof value?.clarify_id !== 'string' || !Array.isArray(value.questions) || typeof value.reason !== 'string') return null;
  withPlain(value.questions, value.plain);
  return value;
}

/**
 * All of a list that can be shown.
 * @param {unknown} list
 * @returns {Past[]}
 */
export function readPasts(list) {
  return (Array.isArray(list) ? list : []).map(readPast).filter((item) => item !== null);
}

/**
 * A page of the history.
 * @param {URLSearchParams} query
 * @returns {Promise<{items: Past[], next: number|null}|null>} Null when there is none to be had.
 */
export async function readHistory(query) {
  try {
    const answer = await request(`/api/history?${query}`);
    if (!answer.ok) return null;
    const body = await answer.json();
    return { items: readPasts(body.clarifications), next: typeof body.next === 'number' ? body.next : null };
  } catch {
    return null;
  }
}

/** @param {Past} item @returns {number} Unix milliseconds; 0 when unknown. */
export function settledAt(item) {
  const at = item.resolved_at;
  const ms = typeof at === 'number' ? at : Date.parse(String(at));
  return Number.isFinite(ms) ? ms : 0;
}

/**
 * @param {Past} item
 * @param {PastActions} actions
 * @param {boolean} open
 */
export function pastRow(item, actions, open) {
  const outcome = readOutcome(item);
  const how = el('span', { class: 'past-how' });
  label(how, 'text.plain', () => ({ text: settledSentence(outcome, actions.me()) }));
  const at = settledAt(item);
  const time = el('time', { class: 'recent-time', datetime: at > 0 ? new Date(at).toISOString() : null });
  if (at > 0) label(time, 'text.plain', () => ({ text: clockTime(at) }));
  const line = el('span', { class: 'past-line' }, how, item.asker?.client ? words('span', 'past-asker', item.asker.client) : null, time);
  const summary = el('summary', {}, line, words('span', 'past-question', inWords(item.questions[0])));
  const details = el('details', { class: 'past' }, summary);
  const row = el('li', { 'data-past-id': item.clarify_id, 'data-reason': outcome.reason }, details);
  let filled = false;
  const fill = () => {
    if (filled || !details.open) return;
    filled = true;
    const shown = body(item, outcome, actions);
    details.append(shown);
    if (item.html !== undefined) return;
    // Lists come without: one question's texts are rendered when somebody reads them.
    void renderedTexts(item.clarify_id).then((html) => {
      if (Object.keys(html).length === 0) return;
      shown.replaceWith(body({ ...item, html }, outcome, actions));
    });
  };
  details.addEventListener('toggle', fill);
  details.open = open;
  fill();
  return row;
}

/** @param {string} id @returns {Promise<Record<string, import('./types.js').QuestionHtml>>} */
async function renderedTexts(id) {
  try {
    const answer = await request(`/api/clarifications/${encodeURIComponent(id)}?html=1`);
    return answer.ok ? ((await answer.json()).clarification?.html ?? {}) : {};
  } catch {
    return {};
  }
}

/** @param {Past} item @param {import('./types.js').Outcome} outcome @param {PastActions} actions */
function body(item, outcome, actions) {
  const answers = allSaid(outcome);
  const node = el('div', { class: 'past-body' });
  for (const question of item.questions) {
    const answer = answers.find((a) => a.question_id === question.id);
    const { labels, texts, note } = answer ? answerParts(question, answer) : NOTHING;
    const html = item.html?.[question.id];
    node.append(prose('div', 'past-asked', question.question, html?.question));
    if (question.explanation) node.append(prose('div', 'explanation', question.explanation, html?.explanation));
    const options = question.options.map((option) => {
      const chosen = answer?.options ? answer.options.some((o) => o.id === option.id) : labels.includes(option.label);
      const said = el('span', { class: 'unseen' });
      if (chosen) label(said, 'history.chosen');
      const own = html?.options?.[option.id];
      return el('li', { 'data-chosen': String(chosen) }, said, prose('span', '', option.label, own?.label),
        option.description ? prose('span', 'option-description', option.description, own?.description) : null);
    });
    if (options.length > 0) node.append(el('ul', { class: 'past-options' }, ...options));
    node.append(...texts.map((text) => words('p', 'chosen-text', text)));
    if (note !== null) node.append(noteLine(note));
    if (outcome.dismissed_questions?.includes(question.id)) {
      const declined = el('p', { class: 'hint' });
      label(declined, 'history.declined');
      node.append(declined);
    }
  }
  if (outcome.text) node.append(words('p', 'chosen-text', outcome.text));
  const assumed = assumedLine(item.questions, outcome);
  if (assumed !== null) node.append(assumed);
  for (const late of item.late_answers ?? []) node.append(lateLine(item, late, actions));
  const copy = button('copy-markdown', 'link', 'card.copy_markdown');
  copyOnClick(copy, () => asMarkdown(item.questions, answers, outcome.text, outcome, actions.me()));
  const address = button('copy-link', 'link', 'card.copy_link');
  copyOnClick(address, () => addressOf(questionPlace(item.clarify_id)));
  const session = el('a', { class: 'link', href: sessionPlace(item.session_id) });
  label(session, 'group.session', { session: item.session_id });
  node.append(el('p', { class: 'row past-foot' }, session, copy, address));
  return node;
}

/** @param {Past} item @param {import('./types.js').LateAnswer} late @param {PastActions} actions */
function lateLine(item, late, actions) {
  const mine = late.actor?.person === actions.me();
  const line = el('div', { class: 'row recent-late-line' });
  const text = el('div', { class: 'recent-late', dir: 'auto' });
  label(text, 'text.plain', () => ({
    text: `${mine ? t('recent.late') : t('history.late', { who: late.actor?.person ?? t('who.someone') })} ${lateAsText(item.questions, late)}${late.goes_on ? `\n${whereTo(late.goes_on)}` : ''}`,
  }));
  line.append(text);
  if (mine && late.may_pass_on === true) {
    const pass = button('pass-on', 'quiet small', 'action.pass_on');
    pass.addEventListener('click', () => {
      if (!actions.passOn(item, late)) return;
      // A button that is off has no focus.
      pass.closest('details')?.querySelector('summary')?.focus({ preventScroll: true });
      pass.disabled = true;
    });
    line.append(pass);
  }
  return line;
}
