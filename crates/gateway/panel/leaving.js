/** Signing out: nothing of this person stays in the browser, and nothing they wrote goes without a word. */
import { byId, el, words } from './dom.js';
import { label, t } from './i18n.js';
import { answerAsText, answerList, keptBlock } from './outcome.js';
import { notice } from './page.js';
import { inWords } from './plain.js';
import { signOut } from './sign-in.js';

/** @typedef {{request: import('./types.js').Request, content: import('./types.js').DraftContent}} Written */

/** How long answers that are on their way may take, and drafts that the service has not got yet. */
const SENT_MS = 3000;
const KEPT_MS = 6000;

export class Leaving {
  #drafts;
  #outbox;
  #teller;
  #isOpen;
  #channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('askbus.leaving');
  #owner = '';
  #busy = false;

  /**
   * @param {import('./drafts.js').Drafts} drafts
   * @param {import('./outbox.js').Outbox} outbox
   * @param {import('./telling.js').Teller} teller
   * @param {(id: string) => boolean} isOpen Whether a question still waits: of others the service keeps no draft.
   */
  constructor(drafts, outbox, teller, isOpen) {
    this.#drafts = drafts;
    this.#outbox = outbox;
    this.#teller = teller;
    this.#isOpen = isOpen;
    this.#channel?.addEventListener('message', ({ data }) => {
      // Who signs out in one tab is signed out in all; what one of them alone holds stays there.
      if (data === this.#owner && !this.#outbox.holdsAlone && !this.#drafts.holdsAlone) location.reload();
    });
  }

  /** @param {string} owner Whose page it is. */
  start(owner) {
    this.#owner = owner;
  }

  async signOut() {
    if (this.#busy) return;
    this.#busy = true;
    label(byId('sign-out'), 'sign_out.saving');
    const done = await this.#leave();
    this.#busy = false;
    label(byId('sign-out'), 'app.sign_out');
    if (done) location.reload();
    else byId('settings').querySelector('summary')?.focus();
  }

  /** @returns {Promise<boolean>} Whether this browser is signed out. */
  async #leave() {
    await this.#outbox.emptied(SENT_MS);
    await this.#drafts.tellAll(this.#isOpen, KEPT_MS);
    const unsent = this.#outbox.all().map(({ request, submission: { answers, text } }) => ({ request, content: { answers, text: text ?? '' } }));
    const lost = [...unsent, ...this.#drafts.unkept(this.#isOpen)];
    if (lost.length > 0 && !(await agreed(lost))) return false;
    if (!(await signOut())) {
      notice(t('sign_out.unreachable'));
      return false;
    }
    this.#outbox.forgetAll();
    this.#drafts.forgetAll();
    this.#teller.forgetAll();
    this.#channel?.postMessage(this.#owner);
    return true;
  }
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
