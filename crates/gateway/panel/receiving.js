/** What the service says, object by object, and what each means for the inbox. */
import { judgeRefusal } from './delivery.js';
import { whereTo } from './late.js';
import { learnLimits } from './limits.js';
import { readOutcome } from './outcome.js';
import { notice } from './page.js';
import { readPlan } from './plans.js';
import { readRequest } from './store.js';

/**
 * @typedef {object} Receivers Who hears of it.
 * @property {import('./clock.js').ServerClock} clock
 * @property {import('./outbox.js').Outbox} outbox
 * @property {import('./plans.js').PlanBook} plans
 * @property {import('./store.js').Store} store
 * @property {Set<string>} holds Holds asked for and not confirmed.
 * @property {(id: string) => void} holdAgain Asks for a hold again, a little later.
 * @property {import('./recent.js').RecentView|null} recent
 * @property {import('./delivery.js').Delivery|null} delivery
 * @property {(id: string) => void} draft Somebody wrote.
 * @property {() => void} planned A plan changed.
 * @property {() => void} passedOn A late answer was sent on, or was not.
 * @property {(pending: Set<string>, gone: Set<string>|null) => void} ready All that waits was said; and, if
 *   that was said too, of which of them the asker is gone.
 */

/** @param {any} message @param {Receivers} to */
export function receive(message, to) {
  const { clock, outbox, plans, store, holds, recent } = to;
  clock.learn(message.server_now);
  const id = typeof message.clarify_id === 'string' ? message.clarify_id : '';
  switch (message.event) {
    case 'hello':
      learnLimits(message.limits);
      break;
    case 'ready':
      to.ready(ids(message.pending), Array.isArray(message.disconnected) ? ids(message.disconnected) : null);
      break;
    case 'clarify.requested': {
      const request = readRequest(message);
      if (request) store.requested(request, outbox.get(id), outbox.hasLeft(id));
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
      if (message.resolved === false) refused(id, message, to);
      else if (!store.resolved(id, readOutcome({ resolved_at: clock.now(), ...message }))) {
        outbox.drop(id);
        recent?.refreshSoon();
      }
      break;
    case 'clarify.sent':
      store.sent(id, String(message.answer_id ?? ''));
      store.notPassing();
      break;
    case 'clarify.late':
      recent?.refreshSoon();
      break;
    case 'clarify.passed_on':
      store.passedOn(id, message.goes_on ?? null, null);
      // A card shows it itself; a row that says the same as before would say nothing.
      if (message.passed_on === false && !store.get(id)) notice(whereTo(message.goes_on ?? null));
      recent?.refreshSoon();
      to.passedOn();
      break;
    case 'clarify.draft':
      to.draft(id);
      break;
    case 'plan.updated': {
      const plan = readPlan(message);
      if (plan && plans.take(plan)) to.planned();
      break;
    }
    case 'error':
      store.notPassing();
      notice(String(message.error ?? ''));
      break;
    default:
      // A newer server may say more than this panel knows.
      break;
  }
}

/** @param {unknown} list */
function ids(list) {
  return new Set(Array.isArray(list) ? list.map(String) : []);
}

/** @param {string} id @param {any} message @param {Receivers} to */
function refused(id, message, to) {
  const { outbox, store, holds, delivery, recent } = to;
  const submission = outbox.get(id);
  const why = String(message.error ?? message.reason ?? '');
  if (submission === null && store.get(id)?.passing) {
    store.passedOn(id, null, why);
    return;
  }
  if (typeof message.answer_id !== 'string' && submission === null) {
    // About a hold. If it was only the moment, it is asked for again; else the next action does so.
    if (judgeRefusal(message) === 'later' && holds.has(id)) to.holdAgain(id);
    else holds.delete(id);
    return;
  }
  // About another answer of this person, from another tab.
  if (typeof message.answer_id === 'string' && submission !== null && message.answer_id !== submission.answer_id) return;
  const verdict = judgeRefusal(message);
  if (verdict === 'later') {
    delivery?.later(id);
    return;
  }
  delivery?.done(id);
  if (verdict === 'late') {
    store.late(id, submission, message.outcome ? readOutcome(message.outcome) : null, message.goes_on ?? null);
    recent?.refreshSoon();
  } else if (store.get(id)) store.reopen(id, why);
  else notice(why);
}
