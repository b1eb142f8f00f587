/** Puts the panel together: who is here, the connection, and which view the address names. */
import { ChannelsView } from './channels.js';
import { ServerClock } from './clock.js';
import { Connection } from './connection.js';
import { Delivery } from './delivery.js';
import { byId } from './dom.js';
import { Drafts } from './drafts.js';
import { labelFilters } from './filters.js';
import { label, onLanguage, startLanguage, t } from './i18n.js';
import { Inbox } from './inbox.js';
import { passOnMessage } from './late.js';
import { Outbox } from './outbox.js';
import { announce, notice, showConnection } from './page.js';
import { readHistory, readPast } from './past.js';
import { PastList } from './past-list.js';
import { PlanBook, PlanList } from './plans.js';
import { RecentView } from './recent.js';
import { request, speakFor } from './requests.js';
import { readPlace } from './routes.js';
import { applyTheme, wireSettings } from './settings.js';
import { showSignIn, whoAmI, wireSignIn } from './sign-in.js';
import { Teller } from './telling.js';

const TICK_MS = 500;
/** How many of a session's settled questions stand below those that wait. */
const PAST = 20;

const clock = new ServerClock();
const plans = new PlanBook();
const teller = new Teller();
const outbox = new Outbox();
const connection = new Connection({
  message: (message) => inbox.change(() => {
    inbox.receive(message);
    if (message.event === 'plan.updated') showPlans();
    channels.heard(message.event);
  }),
  state: (state) => inbox.change(() => onConnection(state)),
  tab: () => drafts.tab,
  allowed: async () => {
    const who = await whoAmI();
    if (who === 'nobody') showSignIn(true);
    else if (who !== 'unreachable' && isAnother(who)) {
      location.reload();
      return false;
    }
    return who !== 'nobody';
  },
});
const drafts = new Drafts((message) => connection.send(message));
const inbox = new Inbox({ clock, connection, drafts, outbox, plans, teller });
const channels = new ChannelsView();
/** Tells the other tabs that somebody signed out. */
const left = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel('askbus.left');
const planList = new PlanList(byId('plan-list'), true, 'agent and session');

/** @type {import('./past.js').PastActions} */
const pastActions = {
  me: () => inbox.store.me,
  passOn: (item, late) => connection.send(passOnMessage(item.session_id, item.clarify_id, late.answer_id)),
};
/** @type {import('./history.js').HistoryView|null} */
let history = null;
const pastList = new PastList(byId('past'), pastActions);
inbox.delivery = new Delivery(outbox, inbox.store, connection);
inbox.recent = new RecentView(byId('recent-list'), byId('recent-empty'), pastActions.me,
  (id) => inbox.cards.has(id), pastActions.passOn);

inbox.retired = ({ session_id, clarify_id }) => {
  const place = readPlace(location.hash);
  // Of another session nothing is shown here: what is being read stays as it is.
  const own = place.view === 'session' ? place.id === session_id : place.view === 'question' && place.id === clarify_id;
  if (own) void showPast(place);
};

let tenant = '';
/** Whose page it is. */
let owner = '';

/** @param {'online'|'offline'} state */
function onConnection(state) {
  const before = showConnection(state);
  if (state === 'online') {
    inbox.online();
    if (before === 'offline' && inbox.announcing) announce(t('live.online'));
  } else {
    inbox.offline();
    if (before === 'online') announce(t('live.offline'));
  }
}

function showPlans() {
  const all = plans.all();
  planList.show(all);
  byId('plans-empty').hidden = all.length > 0;
}

/** Shows what the address names. @param {boolean} moved Whether the person went there just now. */
function showPlace(moved) {
  if (inbox.store.me === '') return;
  const place = readPlace(location.hash);
  const view = place.view === 'session' || place.view === 'question' ? 'inbox' : place.view;
  for (const name of ['inbox', 'plans', 'history']) byId(name).hidden = name !== view;
  for (const link of byId('nav').querySelectorAll('a')) {
    if (link.dataset.view === place.view) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const alone = place.view === 'session' || place.view === 'question';
  byId('alone').hidden = !alone;
  byId('recent').hidden = alone;
  byId('past').hidden = !alone;
  if (place.view === 'session') label(byId('alone-text'), 'group.session', { session: place.id });
  else if (place.view === 'question') label(byId('alone-text'), 'alone.question');
  if (alone && moved) pastList.clear();
  if (view === 'inbox') inbox.goTo(place);
  if (place.view === 'plans') showPlans();
  else if (place.view === 'history') void showHistory(place.query);
  else if (alone) void showPast(place);
  if (!moved) return;
  window.scrollTo({ top: 0, behavior: 'instant' });
  byId(view).querySelector('h1')?.focus({ preventScroll: true });
}

/** @param {URLSearchParams} query */
async function showHistory(query) {
  try {
    // Few begin there: it is loaded when somebody goes there.
    const { HistoryView } = await import('./history.js');
    history ??= new HistoryView(pastActions);
    if (readPlace(location.hash).view === 'history') history.show(query);
  } catch {
    label(byId('history-state'), 'history.unreachable');
  }
}

let leaving = false;

async function signOut() {
  if (leaving) return;
  leaving = true;
  label(byId('sign-out'), 'sign_out.saving');
  const isOpen = (/** @type {string} */ id) => {
    const entry = inbox.store.get(id);
    return entry !== undefined && entry.outcome === null && !entry.kept && entry.state !== 'late';
  };
  try {
    const { leave } = await import('./leaving.js');
    if (await leave({ drafts, outbox, teller, isOpen })) {
      left?.postMessage(owner);
      location.reload();
    }
  } catch {
    notice(t('sign_out.unreachable'));
  }
  leaving = false;
  label(byId('sign-out'), 'app.sign_out');
  byId('settings').querySelector('summary')?.focus();
}

/** What is over, below what waits: of a session its last questions, of a question itself. @param {import('./routes.js').Place} place */
async function showPast(place) {
  /** @type {import('./past.js').Past[]} */
  let items = [];
  if (place.view === 'session') {
    const page = await readHistory(new URLSearchParams({ session: place.id, limit: String(PAST) }));
    // Of what the service does not say nobody knows that there is nothing.
    if (page === null) return;
    items = page.items;
  } else if (place.view === 'question') {
    const answer = await request(`/api/clarifications/${encodeURIComponent(place.id)}?html=1`).catch(() => null);
    const found = answer?.ok ? readPast((await answer.json()).clarification) : null;
    if (found !== null) items = [found];
    else if (answer?.status === 404 || answer?.status === 400) {
      pastList.say('alone.unknown');
      return;
    }
  }
  if (JSON.stringify(readPlace(location.hash)) !== JSON.stringify(place)) return;
  if (items.length === 0 && place.view === 'session' && !inbox.knows(place.id)) pastList.say('alone.unknown_session');
  else pastList.show(items, place.view === 'question');
}

function wirePage() {
  for (const node of document.querySelectorAll('[data-key]')) {
    label(node, /** @type {import('./i18n.js').Key} */ (node.getAttribute('data-key') ?? ''));
  }
  for (const [id, key] of /** @type {const} */ ([
    ['filter-text', 'filter.text'], ['filter-whose', 'filter.whose'], ['filter-session', 'filter.session'],
    ['filter-agent', 'filter.agent'], ['nav', 'nav.title'], ['history-text', 'filter.text'],
    ['history-reason', 'history.reason'], ['history-session', 'filter.session'], ['history-asker', 'filter.agent'],
  ])) {
    label(byId(id), key, {}, 'aria-label');
    if (byId(id).getAttribute('type') === 'search') label(byId(id), key, {}, 'placeholder');
  }
  labelFilters();
  wireSettings(teller);
  onLanguage(() => {
    for (const card of inbox.cards.values()) card.tick(clock.now());
    if (inbox.store.me !== '') inbox.show();
  });
  byId('filters').addEventListener('submit', (event) => event.preventDefault());
  byId('skip').addEventListener('click', (event) => {
    // The address names the view; it stays.
    event.preventDefault();
    byId('main').focus();
  });
  byId('retry').addEventListener('click', () => connection.retryNow());
  byId('notice-close').addEventListener('click', () => {
    byId('notice').hidden = true;
  });
  byId('sign-out').addEventListener('click', () => void signOut());
  window.addEventListener('beforeunload', (event) => {
    if (outbox.holdsAlone || drafts.holdsAlone) event.preventDefault();
  });
  // Who signed in in another tab is here as well.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible' && !byId('sign-in').hidden) void begin();
  });
  // Who signs out in one tab is signed out in all; what one of them alone holds stays there.
  left?.addEventListener('message', ({ data }) => {
    if (data === owner && !outbox.holdsAlone && !drafts.holdsAlone) location.reload();
  });
  window.addEventListener('hashchange', () => showPlace(true));
  wireSignIn(() => void begin());
  setInterval(() => {
    for (const card of inbox.cards.values()) card.tick(clock.now());
  }, TICK_MS);
}

/** Another person than before: nothing of the first may stay in this page. @param {import('./sign-in.js').Me} who */
function isAnother(who) {
  return inbox.store.me !== '' && (inbox.store.me !== who.person || tenant !== who.tenant);
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
  const { store } = inbox;
  if (isAnother(who)) {
    location.reload();
    return;
  }
  showSignIn(false);
  if (store.me === '') {
    store.me = who.person;
    tenant = who.tenant;
    speakFor(tenant, who.person);
    owner = `${encodeURIComponent(tenant)}.${encodeURIComponent(who.person)}`;
    outbox.start(owner);
    teller.start(owner);
    await drafts.start(owner);
    label(byId('who'), 'app.signed_in', { person: who.person, tenant });
  }
  showPlace(false);
  connection.start();
}

applyTheme();
await startLanguage();
wirePage();
void begin();
