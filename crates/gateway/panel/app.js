/** Puts the panel together: what the server says goes to the store, what the store says to the page. */
import { CardView } from './card.js';
import { ServerClock } from './clock.js';
import { Connection } from './connection.js';
import { Delivery, judgeRefusal } from './delivery.js';
import { byId, steady, uuid } from './dom.js';
import { Drafts, readContent, says } from './drafts.js';
import { currentLanguage, label, onLanguage, startLanguage, switchLanguage, t } from './i18n.js';
import { passOnMessage } from './late.js';
import { learnLimits } from './limits.js';
import { ListView } from './list.js';
import { readOutcome, settledSentence } from './outcome.js';
import { Outbox } from './outbox.js';
import { announce, excerpt, neighbour, notice, showConnection, showCount } from './page.js';
import { RecentView, settledNews } from './recent.js';
import { showSignIn, signOut, whoAmI, wireSignIn } from './sign-in.js';
import { readRequest, Store } from './store.js';

/** @typedef {import('./types.js').Entry} Entry */

/** How long a settled card stays before it moves to the list below. */
const LINGER_MS = 7000;
/** And how long it waits for the pointer to leave it, at most. */
const LINGER_HOVERED_MS = 15_000;
const TICK_MS = 500;

const listRoot = byId('list');

/** @type {Map<string, CardView>} */
const cards = new Map();
const clock = new ServerClock();
const store = new Store({
  added: (entry) => onAdded(entry),
  changed: (entry) => onChanged(entry),
  settled: (entry) => onSettled(entry),
  removed: (entry) => onRemoved(entry),
});
const connection = new Connection({
  message: (message) => change(() => receive(message)),
  state: (state) => change(() => onConnection(state)),
  allowed: async () => {
    const who = await whoAmI();
    if (who === 'nobody') showSignIn(true);
    return who !== 'nobody';
  },
});
const drafts = new Drafts((message) => connection.send(message));
const outbox = new Outbox();
const delivery = new Delivery(outbox, store, connection);
const list = new ListView(listRoot, byId('empty'));
const recent = new RecentView(byId('recent-list'), byId('recent-empty'), () => store.me, (id) => cards.has(id),
  (item, late) => connection.send(passOnMessage(item.session_id, item.clarify_id, late.answer_id)));

let tenant = '';
/** Holds asked for and not confirmed. @type {Set<string>} */
const holds = new Set();
/** Until the first replay is over nothing is announced one by one. */
let announcing = false;
let dirty = false;

/** @type {import('./card.js').CardActions} */
const actions = {
  submit: (entry, action, content) => {
    const { session_id, clarify_id } = entry.request;
    const submission = {
      session_id, clarify_id, answer_id: uuid(), action,
      answers: content.answers.filter(says),
      text: content.text.trim() === '' ? null : content.text,
    };
    outbox.put(entry.request, submission);
    drafts.hush(clarify_id);
    change(() => delivery.send(submission));
  },
  hold: ({ request }) => {
    if (holds.has(request.clarify_id)) return;
    holds.add(request.clarify_id);
    connection.send({ event: 'clarify.hold', session_id: request.session_id, clarify_id: request.clarify_id });
  },
  takeBack: ({ request }) => {
    delivery.done(request.clarify_id);
    change(() => store.reopen(request.clarify_id, null));
  },
  close: (entry) => {
    drafts.drop(entry.request.clarify_id);
    change(() => retire(entry));
    recent.refreshSoon();
  },
  passOn: ({ request, submission }) => {
    const { session_id, clarify_id } = request;
    if (submission && connection.send(passOnMessage(session_id, clarify_id, submission.answer_id))) {
      change(() => store.passing(clarify_id));
    }
  },
  edited: (entry, content) => drafts.keep(entry.request, content),
  me: () => store.me,
  online: () => connection.online,
};

/** @param {any} message */
function receive(message) {
  clock.learn(message.server_now);
  const id = typeof message.clarify_id === 'string' ? message.clarify_id : '';
  switch (message.event) {
    case 'hello':
      learnLimits(message.limits);
      break;
    case 'ready':
      // All that is open has been said.
      void reconcile(new Set(Array.isArray(message.pending) ? message.pending : []));
      break;
    case 'clarify.requested': {
      const request = readRequest(message);
      if (request) store.requested(request, outbox.get(id));
      break;
    }
    case 'clarify.held':
      holds.delete(id);
      store.held(id, message.actor ?? null);
      break;
    case 'clarify.asker':
      store.asker(id, message.disconnected === true);
      break;
    case 'clarify.resolved':
      if (message.resolved === false) onRefused(id, message);
      else onResolved(id, message);
      break;
    case 'clarify.sent':
      store.sent(id, String(message.answer_id ?? ''));
      store.notPassing();
      break;
    case 'clarify.late':
      recent.refreshSoon();
      break;
    case 'clarify.passed_on':
      store.passedOn(id, message.goes_on ?? null, null);
      recent.refreshSoon();
      break;
    case 'clarify.draft':
      onDraft(id, message);
      break;
    case 'error':
      store.notPassing();
      notice(String(message.error ?? ''));
      break;
    default:
      // A newer server may say more than this panel knows.
      break;
  }
}

/** @param {string} id @param {any} message */
function onResolved(id, message) {
  const outcome = readOutcome({ resolved_at: clock.now(), ...message });
  if (!store.resolved(id, outcome)) {
    outbox.drop(id);
    if (announcing) void recent.refresh();
  }
}

/** @param {string} id @param {any} message */
function onRefused(id, message) {
  const submission = outbox.get(id);
  if (submission === null && store.get(id)?.passing) {
    store.passedOn(id, null, String(message.error ?? message.reason ?? ''));
    return;
  }
  if (typeof message.answer_id !== 'string' && submission === null) {
    // About a hold. If the question still waits, the next action asks for it again.
    holds.delete(id);
    return;
  }
  // About another answer of this person, from another tab.
  if (typeof message.answer_id === 'string' && submission !== null && message.answer_id !== submission.answer_id) return;
  const verdict = judgeRefusal(message);
  if (verdict === 'later') {
    delivery.later(id);
    return;
  }
  delivery.done(id);
  if (verdict === 'late') {
    store.late(id, submission, message.outcome ? readOutcome(message.outcome) : null, message.goes_on ?? null);
    recent.refreshSoon();
  } else if (store.get(id)) store.reopen(id, String(message.error ?? message.reason ?? ''));
  else notice(String(message.error ?? message.reason ?? ''));
}

/** @param {string} id @param {any} message */
function onDraft(id, message) {
  const card = cards.get(id);
  if (!card) return;
  if (message.own !== true) {
    card.writing(String(message.person ?? ''));
    return;
  }
  const content = readContent(message);
  if (content && (message.tab !== drafts.tab || !card.touched)) card.offer(content);
}

/** @param {Entry} entry */
function onAdded(entry) {
  const id = entry.request.clarify_id;
  const card = new CardView(entry, actions);
  cards.set(id, card);
  const submission = entry.submission;
  const draft = submission ? null : drafts.restore(id);
  if (submission) card.fill({ answers: submission.answers, text: submission.text ?? '' });
  else if (draft) {
    card.fill(draft.content);
    card.touched = draft.own;
  }
  if (entry.kept) card.update();
  card.tick(clock.now());
  dirty = true;
  if (announcing && !entry.kept) {
    const asker = entry.request.asker?.client || t('group.unknown');
    announce(t('live.new', { asker, question: excerpt(entry) }));
  }
}

/** @param {Entry} entry */
function onChanged(entry) {
  const card = cards.get(entry.request.clarify_id);
  card?.update();
  card?.tick(clock.now());
  dirty = true;
}

/** @param {Entry} entry */
function onSettled(entry) {
  const id = entry.request.clarify_id;
  const card = cards.get(id);
  holds.delete(id);
  if (entry.state === 'settled' && card?.hasUnsentText()) entry.kept = true;
  // A late answer stays in its card with its text; the outbox may forget it either way.
  delivery.done(id);
  if (!entry.kept) drafts.drop(id);
  card?.update();
  dirty = true;
  if (entry.outcome) announce(settledNews(settledSentence(entry.outcome, store.me), excerpt(entry)));
  if (entry.state === 'settled' && !entry.kept) setTimeout(() => leave(entry, Date.now()), LINGER_MS);
}

/** Moves a settled card to the list below, once the pointer is not on it. @param {Entry} entry @param {number} since */
function leave(entry, since) {
  const card = cards.get(entry.request.clarify_id);
  if (!card || entry.state !== 'settled') return;
  if (card.element.matches(':hover') && Date.now() - since < LINGER_HOVERED_MS - LINGER_MS) {
    setTimeout(() => leave(entry, since), 1000);
    return;
  }
  change(() => retire(entry));
}

/** @param {Entry} entry */
function retire(entry) {
  const card = cards.get(entry.request.clarify_id);
  const hadFocus = card?.element.contains(document.activeElement) ?? false;
  const next = hadFocus ? neighbour(listRoot, card?.element) : null;
  store.remove(entry.request.clarify_id);
  if (entry.outcome) {
    const { session_id, clarify_id, questions } = entry.request;
    recent.add({ ...entry.outcome, session_id, clarify_id, questions });
  }
  // The place of who works by keyboard is the list, not the top of the page.
  if (hadFocus) (next ?? byId('inbox-title')).focus({ preventScroll: true });
}

/** @param {Entry} entry */
function onRemoved(entry) {
  cards.delete(entry.request.clarify_id);
  dirty = true;
}

/** @param {'online'|'offline'} state */
function onConnection(state) {
  const before = showConnection(state);
  if (state === 'online') {
    for (const id of holds) connection.send({ event: 'clarify.hold', clarify_id: id, session_id: store.get(id)?.request.session_id });
    delivery.sendAll();
    if (before === 'offline' && announcing) announce(t('live.online'));
  } else {
    store.offline();
    if (before === 'online') announce(t('live.offline'));
  }
  for (const card of cards.values()) card.update();
}

/**
 * What waits here and not there was settled while nobody listened.
 * @param {Set<string>} pending The ids that wait, says the server.
 */
async function reconcile(pending) {
  const missing = store.missing(pending);
  const settled = await recent.refresh();
  change(() => {
    for (const entry of missing) {
      const id = entry.request.clarify_id;
      const outcome = settled.find((item) => item.clarify_id === id);
      const underWay = entry.state === 'sending' || entry.state === 'sent';
      if (underWay || cards.get(id)?.hasUnsentText()) {
        // An answer under way is judged by the service, which says so.
        if (outcome) store.resolved(id, outcome);
        else if (!underWay) store.closedUnseen(id);
      } else {
        drafts.drop(id);
        store.remove(id);
      }
    }
    const known = (/** @type {string} */ id) => cards.has(id) || outbox.get(id) !== null;
    for (const { request, content } of drafts.orphans(known)) {
      store.leftOver(request);
      const card = cards.get(request.clarify_id);
      card?.fill(content);
      card?.update();
    }
    announcing = true;
    dirty = true;
    recent.show();
  });
}

/**
 * Runs a change and shows its effect without moving what the person looks at.
 * @param {() => void} work
 */
function change(work) {
  steady(byId('inbox'), '.card', () => {
    work();
    if (!dirty) return;
    dirty = false;
    list.show(store.all(), cards);
    showCount(store.waiting());
  });
}

function wirePage() {
  for (const node of document.querySelectorAll('[data-key]')) {
    label(node, /** @type {import('./i18n.js').Key} */ (node.getAttribute('data-key') ?? ''));
  }
  const language = byId('language');
  const showLanguage = () => {
    language.textContent = currentLanguage() === 'en' ? '中文' : 'English';
    language.lang = currentLanguage() === 'en' ? 'zh-Hans' : 'en';
    showCount(store.waiting());
    for (const card of cards.values()) card.tick(clock.now());
  };
  label(language, 'app.language', {}, 'title');
  language.addEventListener('click', () => switchLanguage(currentLanguage() === 'en' ? 'zh' : 'en'));
  onLanguage(showLanguage);
  showLanguage();
  byId('retry').addEventListener('click', () => connection.retryNow());
  byId('notice-close').addEventListener('click', () => {
    byId('notice').hidden = true;
  });
  byId('sign-out').addEventListener('click', () => void signOut());
  wireSignIn(() => void begin());
  setInterval(() => {
    for (const card of cards.values()) card.tick(clock.now());
  }, TICK_MS);
}

/** Finds out who is here, then opens the connection. */
async function begin() {
  const who = await whoAmI();
  if (who === 'nobody') {
    showSignIn(true);
    return;
  }
  if (who === 'unreachable') {
    onConnection('offline');
    setTimeout(() => void begin(), 2000);
    return;
  }
  // Another person than before: nothing of the first may stay in this page.
  if (store.me !== '' && (store.me !== who.person || tenant !== who.tenant)) {
    location.reload();
    return;
  }
  showSignIn(false);
  if (store.me === '') {
    store.me = who.person;
    tenant = who.tenant;
    const owner = `${encodeURIComponent(tenant)}.${encodeURIComponent(who.person)}`;
    outbox.start(owner);
    await drafts.start(owner);
    label(byId('who'), 'app.signed_in', { person: who.person, tenant });
  }
  connection.start();
}

startLanguage();
wirePage();
void begin();
