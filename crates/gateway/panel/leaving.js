/** Signing out: nothing of this person stays in the browser, and nothing they wrote goes without a word. */
import { byId, el, words } from './dom.js';
import { t } from './i18n.js';
import { answerAsText, answerList, keptBlock } from './outcome.js';
import { notice } from './page.js';
import { inWords } from './plain.js';
import { signOut } from './sign-in.js';

/** @typedef {{request: import('./types.js').Request, content: import('./types.js').DraftContent}} Written */

/** How long answers that are on their way may take, and drafts that the service has not got yet. */
const SENT_MS = 3000;
const KEPT_MS = 6000;

/**
 * @typedef {object} Means
 * @property {import('./drafts.js').Drafts} drafts
 * @property {import('./outbox.js').Outbox} outbox
 * @property {import('./telling.js').Teller} teller
 * @property {(id: string) => boolean} isOpen Whether a question still waits: of others the service keeps no draft.
 */

/** @param {Means} means @returns {Promise<boolean>} Whether this browser is signed out. */
export async function leave({ drafts, outbox, teller, isOpen }) {
  await outbox.emptied(SENT_MS);
  await drafts.tellAll(isOpen, KEPT_MS);
  const unsent = outbox.all().map(({ request, submission: { answers, text } }) => ({ request, content: { answers, text: text ?? '' } }));
  const lost = [...unsent, ...drafts.unkept(isOpen)];
  if (lost.length > 0 && !(await agreed(lost))) return false;
  if (!(await signOut())) {
    notice(t('sign_out.unreachable'));
    return false;
  }
  outbox.forgetAll();
  drafts.forgetAll();
  teller.forgetAll();
  return true;
}

/** Shows what would be lost, and asks. @param {Written[]} lost @returns {Promise<boolean>} */
function agreed(lost) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('leaving'));
  byId('leaving-list').replaceChildren(...lost.map(({ request: { questions }, content }) => el('li', {},
    words('p', 'recent-question', inWords(questions[0])),
    keptBlock(answerList(questions, content.answers, content.text, questions.length > 1), answerAsText(questions, content.answers, content.text)))));
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'leave'), { once: true });
  });
}
