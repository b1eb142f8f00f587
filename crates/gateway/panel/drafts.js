/**
 * What a person has typed and not sent: kept in the browser at once, on the server at most once a
 * second. Each tab writes under its own name, so two tabs never overwrite each other.
 */
import { uuid } from './dom.js';
import { forget, keysFrom, load, save } from './storage.js';

/** @typedef {import('./types.js').DraftContent} DraftContent */
/** @typedef {import('./types.js').Request} Request */
/** @typedef {{saved_at: number, content: DraftContent, request: Request}} Stored */

/** The server hears of drafts at most this often. */
const PACE_MS = 1000;
/** Drafts older than this are forgotten: no question waits longer. */
const KEEP_MS = 28 * 24 * 3_600_000;

/**
 * Whether an answer says anything: a choice, words, a note, or that the question is declined.
 * @param {import('./types.js').AnswerEntry} answer
 */
export function says(answer) {
  const { option_ids, text, note, dismissed } = answer;
  return option_ids.length > 0 || (text ?? '') !== '' || (note ?? '') !== '' || dismissed === true;
}

/**
 * Whether somebody typed anything into this draft.
 * @param {DraftContent} content
 */
export function hasText(content) {
  const filled = (/** @type {string|null} */ text) => (text ?? '').trim() !== '';
  return filled(content.text) || content.answers.some((a) => filled(a.text) || filled(a.note));
}

/**
 * Whether nothing is chosen and nothing typed.
 * @param {DraftContent} content
 */
export function isBlank(content) {
  return !hasText(content) && content.answers.every((a) => a.option_ids.length === 0 && !a.dismissed);
}

/**
 * Whether a draft holds words that an outcome does not: then somebody still wants them.
 * @param {DraftContent} content
 * @param {import('./types.js').Outcome|null|undefined} outcome
 * @param {string} me
 */
export function holdsUnsaid(content, outcome, me) {
  if (!hasText(content)) return false;
  if (outcome?.actor?.person !== me) return true;
  const answers = [...(outcome.answers ?? []), ...(outcome.partial ?? [])];
  // What was written to the whole of one question is the answer to it.
  const whole = [outcome.text, ...(answers.length === 1 ? answers.map((a) => a.text) : [])];
  const lost = (/** @type {string|null|undefined} */ text, /** @type {(string|null|undefined)[]} */ said) => {
    const wanted = (text ?? '').trim();
    return wanted !== '' && !said.some((s) => (s ?? '').trim() === wanted);
  };
  if (lost(content.text, whole)) return true;
  return content.answers.some(({ question_id, text, note }) => {
    const own = answers.filter((a) => a.question_id === question_id).flatMap((a) => [a.text, a.note]);
    return lost(text, own) || lost(note, own);
  });
}

/**
 * Whether two drafts say the same.
 * @param {DraftContent} one
 * @param {DraftContent} other
 */
export function sameContent(one, other) {
  return fingerprint(one) === fingerprint(other);
}

/** @param {DraftContent} content */
function fingerprint(content) {
  const parts = content.answers
    .filter(says)
    .map((a) => [a.question_id, [...a.option_ids].sort(), a.text ?? '', a.note ?? '', a.dismissed === true]);
  return JSON.stringify([content.text, parts.sort()]);
}

/**
 * A draft that came from elsewhere, brought into shape; null when it is none.
 * @param {unknown} value
 * @returns {DraftContent|null}
 */
export function readContent(value) {
  if (typeof value !== 'object' || value === null) return null;
  const { answers, text } = /** @type {{answers?: unknown, text?: unknown}} */ (value);
  const list = Array.isArray(answers) ? answers : [];
  return {
    text: typeof text === 'string' ? text : '',
    answers: list
      .filter((a) => typeof a?.question_id === 'string')
      .map((a) => ({
        question_id: a.question_id,
        option_ids: Array.isArray(a.option_ids) ? a.option_ids.filter((/** @type {unknown} */ o) => typeof o === 'string') : [],
        text: typeof a.text === 'string' ? a.text : null,
        note: typeof a.note === 'string' ? a.note : null,
        ...(a.dismissed === true ? { dismissed: true } : {}),
      })),
  };
}

export class Drafts {
  /** This tab's name; it survives a reload. */
  tab = uuid();
  #prefix = '';
  /** @type {Map<string, DraftContent>} */
  #unsent = new Map();
  /** @type {ReturnType<typeof setTimeout>|null} */
  #timer = null;
  #lastSent = 0;
  #send;

  /** @param {(message: object) => boolean} send False when there is no connection. */
  constructor(send) {
    this.#send = send;
  }

  /**
   * Takes the tab's name, unless a copy of this tab (the browser's "duplicate") uses it already.
   * @param {string} owner Whose drafts; another person's are never read.
   */
  async start(owner) {
    this.#prefix = `askbus.draft.${owner}.`;
    try {
      const known = sessionStorage.getItem('askbus.tab');
      if (known !== null && (await claim(known))) this.tab = known;
      else void claim(this.tab);
      sessionStorage.setItem('askbus.tab', this.tab);
    } catch {
      // Without storage every load is a tab of its own.
    }
    for (const key of keysFrom(this.#prefix)) {
      const stored = this.#read(key);
      if (stored === null || Date.now() - stored.saved_at > KEEP_MS) forget(key);
    }
  }

  /**
   * Keeps what stands in a card now.
   * @param {Request} request
   * @param {DraftContent} content
   */
  keep(request, content) {
    const id = request.clarify_id;
    if (isBlank(content)) forget(this.#key(id, this.tab));
    else save(this.#key(id, this.tab), { saved_at: Date.now(), content, request });
    this.#unsent.set(id, content);
    this.#schedule();
  }

  /**
   * The draft to start a card with: this tab's own, else the newest of a tab of the same person.
   * @param {string} id
   * @returns {{content: DraftContent, own: boolean}|null}
   */
  restore(id) {
    const own = this.#read(this.#key(id, this.tab));
    if (own !== null) return { content: own.content, own: true };
    let newest = /** @type {Stored|null} */ (null);
    for (const key of keysFrom(`${this.#prefix}${id}.`)) {
      const stored = this.#read(key);
      if (stored !== null && stored.saved_at > (newest?.saved_at ?? 0)) newest = stored;
    }
    return newest === null ? null : { content: newest.content, own: false };
  }

  /**
   * Drafts with text whose questions are not among those open.
   * @param {(id: string) => boolean} isOpen
   * @returns {{request: Request, content: DraftContent}[]}
   */
  orphans(isOpen) {
    /** @type {Map<string, Stored>} */
    const found = new Map();
    for (const key of keysFrom(this.#prefix)) {
      const stored = this.#read(key);
      const id = stored?.request.clarify_id;
      if (stored === null || id === undefined || isOpen(id)) continue;
      if (!hasText(stored.content)) forget(key);
      else if (stored.saved_at > (found.get(id)?.saved_at ?? 0)) found.set(id, stored);
    }
    return [...found.values()];
  }

  /** There is a connection: what was written without one is told. */
  online() {
    this.#schedule();
  }

  /** It is being sent as an answer: the server needs no draft of it any more. @param {string} id */
  hush(id) {
    this.#unsent.delete(id);
  }

  /**
   * A question is over and nothing unsent stands in this tab. What another tab holds stays until its
   * person closes it there.
   * @param {string} id
   * @param {import('./types.js').Outcome|null|undefined} outcome
   * @param {string} me
   */
  settle(id, outcome, me) {
    this.#unsent.delete(id);
    for (const key of keysFrom(`${this.#prefix}${id}.`)) {
      const other = key === this.#key(id, this.tab) ? null : this.#read(key);
      if (other === null || !holdsUnsaid(other.content, outcome, me)) forget(key);
    }
  }

  /** Forgets every tab's draft of a question. @param {string} id */
  drop(id) {
    this.#unsent.delete(id);
    for (const key of keysFrom(`${this.#prefix}${id}.`)) forget(key);
  }

  /** Tells the server what it has not heard yet, as often as it may hear it. */
  #schedule() {
    if (this.#timer !== null || this.#unsent.size === 0) return;
    const wait = Math.max(0, this.#lastSent + PACE_MS - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      const [next] = this.#unsent;
      if (next === undefined) return;
      const [id, content] = next;
      this.#lastSent = Date.now();
      // Offline the browser's copy has to do until there is a connection again.
      if (!this.#send({ event: 'clarify.draft', clarify_id: id, tab: this.tab, ...content })) return;
      this.#unsent.delete(id);
      this.#schedule();
    }, wait);
  }

  /** @param {string} id @param {string} tab */
  #key(id, tab) {
    return `${this.#prefix}${id}.${tab}`;
  }

  /** @param {string} key @returns {Stored|null} */
  #read(key) {
    const value = /** @type {any} */ (load(key));
    const content = readContent(value?.content);
    if (content === null || typeof value.request?.clarify_id !== 'string') return null;
    if (!Array.isArray(value.request.questions)) return null;
    return { saved_at: Number(value.saved_at) || 0, content, request: value.request };
  }
}

/**
 * Claims a tab's name for as long as the page lives; false when another page has it.
 * @param {string} name
 * @returns {Promise<boolean>}
 */
function claim(name) {
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    navigator.locks
      .request(`askbus-tab-${name}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock === null ? undefined : new Promise(() => {});
      })
      .catch(() => resolve(true));
  });
}
