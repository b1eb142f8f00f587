/**
 * Everything the panel knows of clarifications, as a fold of what the server said and what the
 * person did. Knows no DOM; whoever shows it listens.
 */
import { withPlain } from './plain.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').Request} Request */
/** @typedef {import('./types.js').Outcome} Outcome */
/** @typedef {import('./types.js').Submission} Submission */
/** @typedef {import('./types.js').Actor} Actor */

/**
 * @typedef {object} Listener
 * @property {(entry: Entry) => void} added
 * @property {(entry: Entry) => void} changed
 * @property {(entry: Entry) => void} settled After it was settled, by whomever; once each.
 * @property {(entry: Entry) => void} removed
 */

/** How many settled ids are remembered, so that nothing out of order opens them again. */
const REMEMBER = 2000;

/**
 * The session that a session's questions stand with: a sub-agent's stand with those of the session
 * it works for, whether that asks something itself or not.
 * @param {Entry[]} entries
 * @returns {(session: string) => string}
 */
function tops(entries) {
  /** @type {Map<string, string>} */
  const parents = new Map();
  for (const { request } of entries) {
    if (request.parent?.session_id) parents.set(request.session_id, request.parent.session_id);
  }
  return (session) => {
    if (!parents.has(session)) return session;
    const seen = new Set([session]);
    let top = session;
    for (let next = parents.get(top); next !== undefined && !seen.has(next); next = parents.get(top)) {
      seen.add(next);
      top = next;
    }
    return top;
  };
}

/**
 * The order of sessions and of the questions in them: what this person may answer, nearest deadline
 * first, then oldest; those of sub-agents after a session's own. It does not depend on holds, so that nothing moves because
 * somebody touched it.
 * @param {Entry[]} entries
 * @returns {{session: string, entries: Entry[]}[]}
 */
export function bySession(entries) {
  const due = (/** @type {Entry} */ e) => e.request.deadline ?? Number.POSITIVE_INFINITY;
  const others = (/** @type {Entry} */ e) => Number(e.request.may_answer === false);
  const order = (/** @type {Entry} */ a, /** @type {Entry} */ b) =>
    others(a) - others(b) ||
    (due(a) === due(b) ? 0 : due(a) - due(b)) ||
    a.request.requested_at - b.request.requested_at ||
    (a.request.clarify_id < b.request.clarify_id ? -1 : 1);
  const top = tops(entries);
  /** @type {Map<string, Map<string, Entry[]>>} */
  const groups = new Map();
  // Sorted first: a group stands where its first question stands.
  for (const entry of [...entries].sort(order)) {
    const { session_id } = entry.request;
    const group = groups.get(top(session_id)) ?? new Map();
    const list = group.get(session_id);
    if (list) list.push(entry);
    else group.set(session_id, [entry]);
    groups.set(top(session_id), group);
  }
  return [...groups].map(([session, group]) => {
    const own = group.get(session) ?? [];
    const beneath = [...group].filter(([id]) => id !== session).flatMap(([, list]) => list);
    return { session, entries: [...own, ...beneath] };
  });
}

/**
 * Brings a `clarify.requested` into shape; null when it is none. A message that knows only the
 * first question's text and choices makes one question.
 * @param {any} message
 * @returns {Request|null}
 */
export function readRequest(message) {
  if (typeof message?.clarify_id !== 'string') return null;
  const moment = (/** @type {unknown} */ v) => (typeof v === 'number' && Number.isFinite(v) ? v : null);
  const questions = Array.isArray(message.questions) ? message.questions : [plainQuestion(message)];
  return {
    session_id: String(message.session_id ?? ''),
    clarify_id: message.clarify_id,
    questions: withPlain(questions.map(readQuestion), message.plain),
    html: typeof message.html === 'object' && message.html !== null ? message.html : {},
    requested_at: moment(message.requested_at) ?? Date.now(),
    deadline: moment(message.deadline),
    cap: moment(message.cap),
    grace_ms: moment(message.grace_ms),
    disconnected: message.disconnected === true,
    held: message.held === true,
    held_by: message.held_by ?? null,
    asker: message.asker ?? null,
    to: message.to ?? null,
    may_answer: message.may_answer !== false,
    parent: message.parent ?? null,
  };
}

/** @param {any} message */
function plainQuestion(message) {
  const choices = Array.isArray(message.choices) ? message.choices : [];
  const options = choices.map((/** @type {unknown} */ c, /** @type {number} */ i) => ({ id: `o${i + 1}`, label: String(c) }));
  return { id: 'q1', question: message.question, options };
}

/** @param {any} q @returns {import('./types.js').Question} */
function readQuestion(q) {
  const options = Array.isArray(q?.options) ? q.options : [];
  return {
    id: String(q?.id ?? ''),
    header: typeof q?.header === 'string' ? q.header : '',
    question: String(q?.question ?? ''),
    explanation: typeof q?.explanation === 'string' ? q.explanation : null,
    multi_select: q?.multi_select === true,
    select: q?.select ?? null,
    options: options.map((/** @type {any} */ o) => ({
      id: String(o?.id ?? ''),
      label: String(o?.label ?? ''),
      description: typeof o?.description === 'string' ? o.description : null,
    })),
    recommended: typeof q?.recommended === 'string' ? q.recommended : null,
  };
}

export class Store {
  /** The person signed in. */
  me = '';
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** @type {Set<string>} */
  #settled = new Set();
  #listener;

  /** @param {Listener} listener */
  constructor(listener) {
    this.#listener = listener;
  }

  /** @returns {Entry[]} */
  all() {
    return [...this.#entries.values()];
  }

  /** @param {string} id @returns {Entry|undefined} */
  get(id) {
    return this.#entries.get(id);
  }

  /** How many wait for an answer. */
  waiting() {
    let count = 0;
    for (const e of this.#entries.values()) if (e.outcome === null && e.state !== 'late' && !e.kept) count += 1;
    return count;
  }

  /** How many of those this person may answer. */
  waitingForMe() {
    let count = 0;
    for (const e of this.#entries.values()) {
      if (e.outcome === null && e.state !== 'late' && !e.kept && e.request.may_answer !== false) count += 1;
    }
    return count;
  }

  /** The ids of those that are here. */
  ids() {
    return [...this.#entries.keys()];
  }

  /** @param {string} id */
  wasSettled(id) {
    return this.#settled.has(id);
  }

  /**
   * What waits here and does not wait there.
   * @param {Set<string>} pending The ids that wait, says the server.
   */
  missing(pending) {
    return this.all().filter((e) => e.outcome === null && !e.kept && e.state !== 'late' && !pending.has(e.request.clarify_id));
  }

  /**
   * A question waits.
   * @param {Request} request
   * @param {Submission|null} submission An answer this browser has under way.
   * @param {boolean} left Whether it ever went out.
   */
  requested(request, submission, left) {
    const id = request.clarify_id;
    if (this.#settled.has(id)) return;
    const known = this.#entries.get(id);
    if (known) {
      const { held, held_by, cap, disconnected } = request;
      // A hold takes the deadline off the message; the card keeps its place in the order.
      const deadline = held ? (request.deadline ?? known.request.deadline) : request.deadline;
      Object.assign(known.request, { held, held_by, cap, disconnected, deadline });
      if (known.state === 'settled' && known.outcome === null) Object.assign(known, { state: 'waiting', kept: false });
      this.#listener.changed(known);
      return;
    }
    const entry = blank(request);
    if (submission !== null) Object.assign(entry, { submission, state: 'sending', left });
    this.#entries.set(id, entry);
    this.#listener.added(entry);
  }

  /** @param {string} id @param {Actor|null} actor */
  held(id, actor) {
    const entry = this.#entries.get(id);
    if (!entry || entry.outcome !== null) return;
    Object.assign(entry.request, { held: true, held_by: actor });
    this.#listener.changed(entry);
  }

  /** Who asked is gone or back. @param {string} id @param {boolean} disconnected */
  asker(id, disconnected) {
    const entry = this.#entries.get(id);
    if (!entry || entry.outcome !== null || entry.request.disconnected === disconnected) return;
    entry.request.disconnected = disconnected;
    this.#listener.changed(entry);
  }

  /** @param {Submission} submission @param {boolean} transmitted @param {boolean} left Now or earlier. */
  sending(submission, transmitted, left) {
    const entry = this.#entries.get(submission.clarify_id);
    if (!entry || entry.outcome !== null) return;
    Object.assign(entry, { state: 'sending', submission, transmitted, left, error: null });
    this.#listener.changed(entry);
  }

  /** The log has the answer. @param {string} id @param {string} answerId */
  sent(id, answerId) {
    const entry = this.#entries.get(id);
    if (entry?.state !== 'sending' || entry.submission?.answer_id !== answerId) return;
    entry.state = 'sent';
    this.#listener.changed(entry);
  }

  /** The connection is gone: whatever was under way has to leave again. */
  offline() {
    this.notPassing();
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'sending' || !entry.transmitted) continue;
      entry.transmitted = false;
      this.#listener.changed(entry);
    }
  }

  /** Back to waiting, with all that was filled in. @param {string} id @param {string|null} error */
  reopen(id, error) {
    const entry = this.#entries.get(id);
    if (!entry || entry.outcome !== null || entry.state === 'late') return;
    Object.assign(entry, { state: 'waiting', submission: null, transmitted: false, left: false, error });
    this.#listener.changed(entry);
  }

  /**
   * It is settled.
   * @param {string} id
   * @param {Outcome} outcome
   * @returns {boolean} Whether it was shown here.
   */
  resolved(id, outcome) {
    this.#remember(id);
    const entry = this.#entries.get(id);
    if (!entry) return false;
    if (entry.outcome !== null) return true;
    entry.outcome = outcome;
    entry.error = null;
    const underWay = entry.state === 'sending' || entry.state === 'sent';
    const mine = outcome.actor?.person === this.me;
    if (entry.state !== 'late') entry.state = underWay && !mine ? 'late' : 'settled';
    this.#listener.settled(entry);
    return true;
  }

  /**
   * The answer came too late: it is settled, perhaps by somebody of whom the news is still to come.
   * @param {string} id
   * @param {Submission|null} submission
   * @param {Outcome|null} outcome
   * @param {string|null} goesOn Where it goes.
   */
  late(id, submission, outcome, goesOn) {
    this.#remember(id);
    const entry = this.#entries.get(id);
    if (!entry) return;
    entry.state = 'late';
    entry.submission ??= submission;
    entry.outcome ??= outcome;
    Object.assign(entry, { goesOn, error: null });
    this.#listener.changed(entry);
  }

  /** A late answer is being sent on. @param {string} id */
  passing(id) {
    const entry = this.#entries.get(id);
    if (entry?.state !== 'late') return;
    Object.assign(entry, { passing: true, error: null });
    this.#listener.changed(entry);
  }

  /**
   * What became of sending it on.
   * @param {string} id
   * @param {string|null} goesOn
   * @param {string|null} error Why it was refused.
   */
  passedOn(id, goesOn, error) {
    const entry = this.#entries.get(id);
    if (entry?.state !== 'late') return;
    Object.assign(entry, { passing: false, error });
    if (error === null) entry.goesOn = goesOn;
    this.#listener.changed(entry);
  }

  /** Nobody will say what became of sending late answers on: it may be done again. */
  notPassing() {
    for (const entry of this.#entries.values()) {
      if (!entry.passing) continue;
      entry.passing = false;
      this.#listener.changed(entry);
    }
  }

  /** It is closed, nobody can say how, and text of this person is unsent. @param {string} id */
  closedUnseen(id) {
    // Not remembered: should it wait after all, it is open again.
    const entry = this.#entries.get(id);
    if (!entry || entry.outcome !== null) return;
    Object.assign(entry, { state: 'settled', kept: true });
    this.#listener.changed(entry);
  }

  /**
   * A question of an earlier visit whose text was never sent.
   * @param {Request} request
   * @param {Outcome|null} outcome How it ended, where that is known.
   */
  leftOver(request, outcome) {
    if (this.#entries.has(request.clarify_id)) return;
    this.#remember(request.clarify_id);
    const entry = { ...blank(request), state: /** @type {const} */ ('settled'), kept: true, outcome };
    this.#entries.set(request.clarify_id, entry);
    this.#listener.added(entry);
  }

  /** @param {string} id */
  keep(id) {
    const entry = this.#entries.get(id);
    if (entry) entry.kept = true;
  }

  /** @param {string} id */
  remove(id) {
    const entry = this.#entries.get(id);
    if (!entry) return;
    this.#entries.delete(id);
    this.#listener.removed(entry);
  }

  /** @param {string} id */
  #remember(id) {
    this.#settled.add(id);
    if (this.#settled.size <= REMEMBER) return;
    const [oldest] = this.#settled;
    if (oldest !== undefined) this.#settled.delete(oldest);
  }
}

/** @param {Request} request @returns {Entry} */
function blank(request) {
  return { request, state: 'waiting', outcome: null, submission: null, transmitted: false, left: false, error: null, kept: false, passing: false };
}
