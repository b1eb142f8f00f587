/**
 * What a person has typed and not sent: kept in the browser at once, on the server at most once a
 * second. Each tab writes under its own name, so two tabs never overwrite each other.
 */
import { post } from './requests.js';
import { forget, keysFrom, load, save } from './storage.js';
import { TabName } from './tab-name.js';

/** @typedef {import('./types.js').DraftContent} DraftContent */
/** @typedef {import('./types.js').Request} Request */
/** @typedef {{saved_at: number, told_at?: number, content: DraftContent, request: Request}} Stored `told_at`: when the service was told. */

/** The server hears of drafts at most this often. */
const PACE_MS = 1000;
/** By then the service has saved what it was told. */
const SAVED_MS = 3000;
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
  #name = new TabName(() => this.#moved());
  #prefix = '';
  /** @type {Map<string, DraftContent>} */
  #unsent = new Map();
  /** What was written in this page, question by question. @type {Map<string, {content: DraftContent, request: Request}>} */
  #written = new Map();
  /** Ids of those that the browser had no room for. @type {Set<string>} */
  #here = new Set();
  /** @type {ReturnType<typeof setTimeout>|null} */
  #timer = null;
  #lastSent = 0;
  #send;

  /** @param {(message: object) => boolean} send False when there is no connection. */
  constructor(send) {
    this.#send = send;
  }

  /** This tab's name; it survives a reload. */
  get tab() {
    return this.#name.name;
  }

  /** @param {string} owner Whose drafts; another person's are never read. */
  async start(owner) {
    this.#prefix = `askbus.draft.${owner}.`;
    await this.#name.take();
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
    const key = this.#key(id, this.tab);
    this.#written.set(id, { content, request });
    this.#here.delete(id);
    if (isBlank(content)) forget(key);
    else if (!save(key, { saved_at: Date.now(), content, request })) {
      // What stood there before is not what stands in the card.
      forget(key);
      if (hasText(content)) this.#here.add(id);
    }
    this.#unsent.set(id, content);
    this.#schedule();
  }

  /** Another page has had this tab's name all along: what was written here goes on under another one. */
  #moved() {
    for (const { request, content } of this.#written.values()) this.keep(request, content);
  }

  /** Whether closing this page would lose words that the service has not got either. */
  get holdsAlone() {
    return [...this.#here].some((id) => this.#unsent.has(id));
  }

  /**
   * What the service would not show again to who signs in anew.
   * @param {(id: string) => boolean} isOpen Whether a question still waits: of others it keeps no draft.
   * @returns {{request: Request, content: DraftContent, tab: string, kept: boolean}[]}
   */
  #open(isOpen) {
    const now = Date.now();
    const found = keysFrom(this.#prefix).flatMap((key) => {
      const stored = this.#read(key);
      if (stored === null) return [];
      const { request, content, told_at } = stored;
      const kept = isOpen(request.clarify_id) && told_at !== undefined && now - told_at > SAVED_MS;
      return [{ request, content, tab: key.slice(`${this.#prefix}${request.clarify_id}.`.length), kept }];
    });
    const here = [...this.#here].flatMap((id) => {
      const written = this.#written.get(id);
      return written && this.#unsent.has(id) ? [{ ...written, tab: this.tab, kept: false }] : [];
    });
    return [...found, ...here];
  }

  /**
   * Words that would be lost with this browser's copy of them.
   * @param {(id: string) => boolean} isOpen
   */
  unkept(isOpen) {
    return this.#open(isOpen).filter(({ kept, content }) => !kept && hasText(content));
  }

  /**
   * Lets the service keep every draft of this browser, whichever tab wrote it.
   * @param {(id: string) => boolean} isOpen
   * @param {number} limit How long it may take, in milliseconds.
   */
  async tellAll(isOpen, limit) {
    const until = Date.now() + limit;
    for (const { request, content, tab, kept } of this.#open(isOpen)) {
      const id = request.clarify_id;
      while (!kept && isOpen(id) && Date.now() < until) {
        const said = await post(`/api/clarifications/${encodeURIComponent(id)}/draft`, { tab, ...content }).catch(() => null);
        if (said === null) return;
        if (said.ok) {
          this.#noteSaved(id, tab, content);
          break;
        }
        if (said.status !== 429 && said.status < 500) break;
        await new Promise((resolve) => setTimeout(resolve, PACE_MS));
      }
    }
  }

  /** The service has saved it; what was written since it has not. @param {string} id @param {string} tab @param {DraftContent} content */
  #noteSaved(id, tab, content) {
    const key = this.#key(id, tab);
    const stored = this.#read(key);
    if (stored !== null && sameContent(stored.content, content)) save(key, { ...stored, told_at: 0 });
    const unsent = this.#unsent.get(id);
    if (tab === this.tab && unsent !== undefined && sameContent(unsent, content)) this.#unsent.delete(id);
  }

  /** Nothing of this person stays in the browser. */
  forgetAll() {
    this.#unsent.clear();
    this.#written.clear();
    this.#here.clear();
    for (const key of keysFrom(this.#prefix)) forget(key);
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
    this.#written.delete(id);
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
    this.hush(id);
    for (const key of keysFrom(`${this.#prefix}${id}.`)) {
      const other = key === this.#key(id, this.tab) ? null : this.#read(key);
      if (other === null || !holdsUnsaid(other.content, outcome, me)) forget(key);
    }
  }

  /** Forgets every tab's draft of a question. @param {string} id */
  drop(id) {
    this.hush(id);
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
      const key = this.#key(id, this.tab);
      const stored = this.#read(key);
      if (stored !== null) save(key, { ...stored, told_at: Date.now() });
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
    const told_at = typeof value.told_at === 'number' ? value.told_at : undefined;
    return { saved_at: Number(value.saved_at) || 0, told_at, content, request: value.request };
  }
}
