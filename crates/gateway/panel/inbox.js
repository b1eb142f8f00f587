/** What waits: takes what the service says into the store, and what the store says to the page. */
import { CardView } from './card.js';
import { cardActions } from './card-actions.js';
import { closeMissing, leftOver } from './catching-up.js';
import { byId, steady } from './dom.js';
import { hasText, readContent } from './drafts.js';
import { FilterBar, fits } from './filters.js';
import { label, t } from './i18n.js';
import { ListView } from './list.js';
import { settledSentence } from './outcome.js';
import { announce, neighbour } from './page.js';
import { excerpt } from './plain.js';
import { PlanList } from './plans.js';
import { receive } from './receiving.js';
import { settledNews } from './recent.js';
import { sessionPlace } from './routes.js';
import { Store } from './store.js';
import { showCount } from './telling.js';

/** @typedef {import('./types.js').Entry} Entry */
/** @typedef {import('./types.js').DraftContent} DraftContent */
/** @typedef {import('./routes.js').Place} Place */

/** How long a settled card stays before it moves to the list below. */
const LINGER_MS = 7000;
/** And how long it waits for the pointer to leave it, at most. */
const LINGER_HOVERED_MS = 15_000;
/** The list is brought in order at most this often. */
const SHOW_MS = 100;
/** Where more wait than this, only the first few cards begin unfolded. */
const MANY = 6;
const UNFOLDED = 3;

/**
 * @typedef {object} Parts What the inbox works with.
 * @property {import('./clock.js').ServerClock} clock
 * @property {import('./connection.js').Connection} connection
 * @property {import('./drafts.js').Drafts} drafts
 * @property {import('./outbox.js').Outbox} outbox
 * @property {import('./plans.js').PlanBook} plans
 * @property {import('./telling.js').Teller} teller
 */

/** @type {(request: {session_id: string, clarify_id: string}) => void} */
const NOBODY_LOOKS = () => {};

/** How long until a hold is asked for again that the service could not take just now. */
const HOLD_AGAIN_MS = 1000;

export class Inbox {
  store;
  /** @type {Map<string, CardView>} */
  cards = new Map();
  /** @type {import('./recent.js').RecentView|null} */
  recent = null;
  /** @type {import('./delivery.js').Delivery|null} */
  delivery = null;
  /** Called when something left the list because it is over, or is told otherwise there. */
  retired = NOBODY_LOOKS;
  #parts;
  #list;
  #filters;
  #root = byId('list');
  #sessionPlan = new PlanList(byId('session-plan'), true, 'agent');
  /** @type {Place} */
  #place = { view: 'inbox' };
  /** Holds asked for and not confirmed. @type {Set<string>} */
  #holds = new Set();
  /** What was written elsewhere for cards that are not on the page yet. @type {Map<string, DraftContent>} */
  #offered = new Map();
  /** Those that came while the page was open and have no card yet. @type {Set<string>} */
  #fresh = new Set();
  /** Until the first replay is over nothing is announced one by one. */
  #announcing = false;
  #dirty = false;
  #shownAt = 0;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #later;
  #actions;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.store = new Store({
      added: (entry) => this.#onAdded(entry),
      changed: (entry) => this.#onChanged(entry),
      settled: (entry) => this.#onSettled(entry),
      removed: (entry) => this.#onRemoved(entry),
    });
    this.#actions = cardActions({
      ...parts,
      store: this.store,
      holds: this.#holds,
      delivery: () => this.delivery,
      change: (work) => this.change(work),
      closed: (entry) => {
        this.#retire(entry);
        this.recent?.refreshSoon();
      },
      folded: (id, folded) => {
        this.cards.get(id)?.fold(folded);
        this.#labelFoldAll();
      },
    });
    this.#list = new ListView(this.#root, {
      card: (entry, place) => this.#card(entry, place),
      pinned: (entry) => entry.kept || entry.state !== 'waiting' || this.cards.get(entry.request.clarify_id)?.touched === true,
      plan: (session) => {
        const plan = this.#parts.plans.of(session);
        return plan?.execution_state === 'running' && this.#place.view !== 'session' ? plan : undefined;
      },
      more: () => this.show(),
    });
    this.#filters = new FilterBar(() => {
      this.#list.restart();
      this.show();
    }, (session) => {
      location.hash = session === '' ? '#/' : sessionPlace(session);
    });
    byId('fold-all').addEventListener('click', () => this.#foldAll());
  }

  /** @param {any} message What the service says. */
  receive(message) {
    receive(message, {
      ...this.#parts,
      store: this.store,
      holds: this.#holds,
      recent: this.recent,
      delivery: this.delivery,
      draft: (id) => this.#onDraft(id, message),
      passedOn: () => this.retired(message),
      planned: () => {
        this.#dirty = true;
      },
      holdAgain: (id) => {
        setTimeout(() => {
          if (this.#holds.has(id)) this.#askForHold(id);
        }, HOLD_AGAIN_MS);
      },
      ready: (pending, gone) => {
        if (gone !== null) this.#askersGone(gone);
        void this.#reconcile(pending);
      },
    });
  }

  /** @param {string} id @param {any} message */
  #onDraft(id, message) {
    const card = this.cards.get(id);
    if (message.own !== true) {
      card?.writing(String(message.person ?? ''));
      return;
    }
    const content = readContent(message);
    if (!content || (message.tab === this.#parts.drafts.tab && card?.touched)) return;
    if (card) card.offer(content);
    else this.#offered.set(id, content);
  }

  /** @param {Set<string>} gone */
  #askersGone(gone) {
    for (const { request } of this.store.all()) this.store.asker(request.clarify_id, gone.has(request.clarify_id));
  }

  /** The card of an entry, made when it is wanted first. @param {Entry} entry @param {number} place */
  #card(entry, place) {
    const id = entry.request.clarify_id;
    const known = this.cards.get(id);
    if (known) return known;
    const card = new CardView(entry, this.#actions);
    this.cards.set(id, card);
    const { submission } = entry;
    const own = submission ? null : this.#parts.drafts.restore(id);
    const offered = this.#offered.get(id);
    if (submission) card.fill({ answers: submission.answers, text: submission.text ?? '' });
    else if (own?.own || (own && !offered)) {
      card.fill(own.content);
      card.touched = own.own;
    } else if (offered) card.fill(offered);
    this.#offered.delete(id);
    if (entry.kept) card.update();
    const alone = this.#place.view === 'question' || own !== null || offered !== undefined || submission !== null;
    card.fold(!alone && place >= UNFOLDED && this.store.waiting() > MANY);
    if (this.#fresh.delete(id)) {
      card.element.dataset.new = '';
      card.element.addEventListener('animationend', () => delete card.element.dataset.new, { once: true });
    }
    card.tick(this.#parts.clock.now());
    return card;
  }

  /** @param {Entry} entry */
  #onAdded(entry) {
    this.#dirty = true;
    if (!this.#announcing || entry.kept) return;
    this.#fresh.add(entry.request.clarify_id);
    const asker = entry.request.asker?.client || t('group.unknown');
    announce(t('live.new', { asker, question: excerpt(entry) }));
    if (entry.request.may_answer !== false) void this.#parts.teller.tell(entry.request.clarify_id, asker, excerpt(entry));
  }

  /** @param {Entry} entry */
  #onChanged(entry) {
    const card = this.cards.get(entry.request.clarify_id);
    card?.update();
    card?.tick(this.#parts.clock.now());
    this.#dirty = true;
  }

  /** Whether this person's text stands in it, on the page or not yet. @param {string} id */
  #hasUnsent(id) {
    const card = this.cards.get(id);
    if (card) return card.hasUnsentText();
    const content = this.#offered.get(id) ?? this.#parts.drafts.restore(id)?.content;
    return content !== undefined && hasText(content);
  }

  /** @param {Entry} entry */
  #onSettled(entry) {
    const id = entry.request.clarify_id;
    const shown = this.cards.get(id);
    this.#holds.delete(id);
    if (entry.state === 'settled' && this.#hasUnsent(id)) entry.kept = true;
    // A late answer stays in its card with its text; the outbox may forget it either way.
    this.delivery?.done(id);
    if (!entry.kept) this.#parts.drafts.settle(id, entry.outcome, this.store.me);
    shown?.update();
    this.#dirty = true;
    if (entry.outcome && shown) announce(settledNews(settledSentence(entry.outcome, this.store.me), excerpt(entry)));
    if (entry.state !== 'settled' || entry.kept) return;
    if (shown) setTimeout(() => this.#leave(entry, Date.now()), LINGER_MS);
    else this.#retire(entry);
  }

  /** Moves a settled card to the list below, once the pointer is not on it. @param {Entry} entry @param {number} since */
  #leave(entry, since) {
    const card = this.cards.get(entry.request.clarify_id);
    if (!card || entry.state !== 'settled') return;
    if (card.element.matches(':hover') && Date.now() - since < LINGER_HOVERED_MS - LINGER_MS) {
      setTimeout(() => this.#leave(entry, since), 1000);
      return;
    }
    this.change(() => this.#retire(entry));
  }

  /** @param {Entry} entry */
  #retire(entry) {
    const card = this.cards.get(entry.request.clarify_id);
    const hadFocus = card?.element.contains(document.activeElement) ?? false;
    const next = hadFocus ? neighbour(this.#root, card?.element) : null;
    this.store.remove(entry.request.clarify_id);
    if (entry.outcome) {
      const { session_id, clarify_id, questions } = entry.request;
      this.recent?.add({ ...entry.outcome, session_id, clarify_id, questions });
    }
    this.retired(entry.request);
    // The place of who works by keyboard is the list, not the top of the page.
    if (hadFocus) (next ?? byId('inbox-title')).focus({ preventScroll: true });
  }

  /** @param {Entry} entry */
  #onRemoved(entry) {
    this.cards.delete(entry.request.clarify_id);
    this.#offered.delete(entry.request.clarify_id);
    this.#fresh.delete(entry.request.clarify_id);
    this.#dirty = true;
  }

  /** What could not be sent is sent. */
  online() {
    const { drafts } = this.#parts;
    for (const id of this.#holds) this.#askForHold(id);
    this.delivery?.sendAll();
    drafts.online();
    for (const card of this.cards.values()) card.update();
  }

  /** @param {string} id */
  #askForHold(id) {
    const { connection } = this.#parts;
    connection.send({ event: 'clarify.hold', clarify_id: id, session_id: this.store.get(id)?.request.session_id });
  }

  offline() {
    this.store.offline();
    for (const card of this.cards.values()) card.update();
  }

  /** Whether anything waits or is planned in a session. @param {string} session */
  knows(session) {
    const mine = (/** @type {Entry} */ { request }) => request.session_id === session || request.parent?.session_id === session;
    return this.#parts.plans.of(session) !== undefined || this.store.all().some(mine);
  }

  get announcing() {
    return this.#announcing;
  }

  /**
   * What waits here and not there was settled while nobody listened.
   * @param {Set<string>} pending The ids that wait, says the server.
   */
  async #reconcile(pending) {
    const missing = this.store.missing(pending);
    const settled = (await this.recent?.refresh()) ?? [];
    const { drafts, outbox, teller } = this.#parts;
    const written = await leftOver(this.store, drafts, outbox);
    this.change(() => {
      closeMissing(missing, settled, { store: this.store, drafts, hasUnsent: (id) => this.#hasUnsent(id) });
      for (const { request, content, outcome } of written) {
        this.#offered.set(request.clarify_id, content);
        this.store.leftOver(request, outcome);
      }
      if (!this.#announcing) teller.seen(this.store.ids());
      this.#announcing = true;
      this.#dirty = true;
      this.recent?.show();
    });
  }

  /**
   * Runs a change and shows its effect without moving what the person looks at.
   * @param {() => void} work
   */
  change(work) {
    steady(byId('main'), '.card', () => {
      work();
      if (!this.#dirty) return;
      // Thousands may come at once.
      const wait = this.#shownAt + SHOW_MS - performance.now();
      if (wait <= 0) this.#render();
      else this.#later ??= setTimeout(() => this.show(), wait);
    });
  }

  /** Shows everything as it is now. */
  show() {
    steady(byId('main'), '.card', () => this.#render());
  }

  /** @param {Place} place */
  goTo(place) {
    const same = JSON.stringify(place) === JSON.stringify(this.#place);
    this.#place = place;
    if (!same) this.#list.restart();
    this.#render();
    if (place.view === 'question') this.cards.get(place.id)?.fold(false);
  }

  #render() {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#dirty = false;
    const place = this.#place;
    const all = this.store.all();
    const session = place.view === 'session' ? place.id : '';
    let entries = all;
    if (place.view === 'question') entries = all.filter((e) => e.request.clarify_id === place.id);
    else {
      if (session !== '') entries = all.filter((e) => e.request.session_id === session || e.request.parent?.session_id === session);
      if (this.#filters.active) entries = entries.filter((e) => fits(e.request, this.#filters.wanted));
    }
    this.#list.show(entries);
    showCount(this.store.waitingForMe());
    this.#filters.offer(all.filter((e) => e.outcome === null && !e.kept), session);
    byId('filters').hidden ||= place.view === 'question';
    const plan = session === '' ? undefined : this.#parts.plans.of(session);
    this.#sessionPlan.show(plan ? [plan] : []);
    const none = entries.length === 0;
    byId('nothing').hidden = !(none && all.length > 0 && this.#filters.active);
    // Before the service has told what waits, nobody knows that nothing does.
    byId('empty').hidden = !(none && this.#announcing && byId('nothing').hidden && place.view === 'inbox');
    this.#labelFoldAll();
    this.#shownAt = performance.now();
  }

  /** @returns {CardView[]} Those on the page. */
  #onPage() {
    return [...this.cards.values()].filter((card) => card.element.isConnected);
  }

  #labelFoldAll() {
    const open = this.#onPage().some((card) => !card.folded);
    label(byId('fold-all'), open ? 'list.fold_all' : 'list.unfold_all');
  }

  #foldAll() {
    const cards = this.#onPage();
    const open = cards.some((card) => !card.folded);
    for (const card of cards) card.fold(open);
    this.#labelFoldAll();
  }
}
