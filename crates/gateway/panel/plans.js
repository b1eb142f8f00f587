/** What agents plan to do: the last plan of each session, as the service keeps it. */
import { askerParts } from './circumstances.js';
import { clockTime } from './clock-view.js';
import { arrange, el, words } from './dom.js';
import { label, t } from './i18n.js';
import { sessionPlace } from './routes.js';
import { visible } from './visible.js';

/**
 * @typedef {{id: string, step: string, status: 'pending'|'in_progress'|'completed'}} Step
 * @typedef {object} Plan
 * @property {string} plan_id
 * @property {string} session_id
 * @property {number} revision
 * @property {number} seq Where in the log it stands.
 * @property {'running'|'ended'|'interrupted'|'failed'} execution_state
 * @property {string} [explanation]
 * @property {import('./types.js').Asker|null} asker
 * @property {Step[]} plan
 * @property {number} created_at
 * @property {number} updated_at
 *
 * @typedef {'nobody'|'agent'|'agent and session'} Named Whom a plan names: where it stands may say it already.
 */

const STATES = /** @type {const} */ (['running', 'ended', 'interrupted', 'failed']);
const STATUSES = /** @type {const} */ (['pending', 'in_progress', 'completed']);
const MARKS = { pending: '○', in_progress: '▸', completed: '✓' };

/** @param {any} message @returns {Plan|null} */
export function readPlan(message) {
  if (typeof message?.plan_id !== 'string' || typeof message.session_id !== 'string') return null;
  if (typeof message.revision !== 'number' || !Array.isArray(message.plan)) return null;
  return {
    plan_id: message.plan_id,
    session_id: message.session_id,
    revision: message.revision,
    seq: Number(message.seq) || 0,
    execution_state: STATES.find((s) => s === message.execution_state) ?? 'ended',
    explanation: typeof message.explanation === 'string' ? message.explanation : undefined,
    plan: message.plan.map((/** @type {any} */ s) => ({
      id: String(s?.id ?? ''),
      step: String(s?.step ?? ''),
      status: STATUSES.find((x) => x === s?.status) ?? 'pending',
    })),
    asker: typeof message.asker === 'object' ? message.asker : null,
    created_at: Number(message.created_at) || 0,
    updated_at: Number(message.updated_at) || 0,
  };
}

/** The plans; of each session the newest, of each plan the highest revision, whatever comes when. */
export class PlanBook {
  /** @type {Map<string, Plan>} */
  #plans = new Map();

  /** @param {Plan} plan @returns {boolean} Whether it is news. */
  take(plan) {
    const known = this.#plans.get(plan.session_id);
    if (known) {
      const older = known.plan_id === plan.plan_id ? plan.revision <= known.revision : plan.seq <= known.seq;
      if (older) return false;
    }
    this.#plans.set(plan.session_id, plan);
    return true;
  }

  /** @param {string} session @returns {Plan|undefined} */
  of(session) {
    return this.#plans.get(session);
  }

  /** Those that run first; of each the one that began last first, so that none moves because it goes on. */
  all() {
    const running = (/** @type {Plan} */ p) => (p.execution_state === 'running' ? 0 : 1);
    const begun = (/** @type {Plan} */ a, /** @type {Plan} */ b) =>
      b.created_at - a.created_at || (a.plan_id < b.plan_id ? 1 : -1);
    return [...this.#plans.values()].sort((a, b) => running(a) - running(b) || begun(a, b));
  }
}

/** One plan on the screen; its nodes stay while revisions come. */
export class PlanView {
  element = el('details', { class: 'plan' });
  #who = el('span', { class: 'asker plan-asker' });
  #title = el('span', { class: 'plan-title' });
  #state = el('span', { class: 'pill' });
  #now = el('span', { class: 'plan-now', dir: 'auto' });
  #bar = el('progress', { max: '1' });
  #why = el('p', { class: 'words hint', dir: 'auto', hidden: true });
  #steps = el('ol', { class: 'steps' });
  #updated = el('time', { class: 'hint' });
  #shown = '';

  /** @param {Plan} plan @param {boolean} open @param {Named} named */
  constructor(plan, open, named) {
    this.element.open = open;
    this.element.dataset.planOf = plan.session_id;
    label(this.#bar, 'plan.bar', {}, 'aria-label');
    this.#who.hidden = named === 'nobody';
    const head = el('summary', { class: 'plan-head' }, this.#who, this.#title, this.#state, this.#bar, this.#now);
    const foot = el('p', { class: 'plan-foot' }, this.#updated);
    if (named === 'agent and session') {
      const link = el('a', { class: 'link', href: sessionPlace(plan.session_id) });
      label(link, 'group.session', { session: plan.session_id });
      foot.append(' ', link);
    }
    this.element.append(head, this.#why, this.#steps, foot);
    this.show(plan);
  }

  /** @param {Plan} plan */
  show(plan) {
    const shown = `${plan.plan_id} ${plan.revision}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#who.replaceChildren(...askerParts(plan.asker));
    const done = plan.plan.filter((s) => s.status === 'completed').length;
    const total = plan.plan.length;
    label(this.#title, 'plan.title', { done, total });
    label(this.#state, `plan.${plan.execution_state}`);
    this.#state.dataset.state = plan.execution_state;
    this.#bar.max = Math.max(1, total);
    this.#bar.value = done;
    this.#now.textContent = visible(plan.plan.find((s) => s.status === 'in_progress')?.step ?? '');
    this.#why.textContent = visible(plan.explanation ?? '');
    this.#why.hidden = !plan.explanation;
    this.#steps.replaceChildren(...plan.plan.map((step) => {
      const status = el('span', { class: 'unseen' });
      label(status, `plan.${step.status}`);
      return el('li', { 'data-status': step.status },
        el('span', { class: 'step-mark', 'aria-hidden': 'true' }, MARKS[step.status]), status, words('span', 'step', step.step));
    }));
    this.#updated.dateTime = new Date(plan.updated_at).toISOString();
    label(this.#updated, 'text.plain', () => ({ text: t('plan.updated', { time: clockTime(plan.updated_at) }) }));
  }
}

/** A list of plans that keeps the nodes of those it shows. */
export class PlanList {
  #root;
  #open;
  #named;
  /** @type {Map<string, PlanView>} */
  #views = new Map();

  /** @param {HTMLElement} root @param {boolean} open @param {Named} named */
  constructor(root, open, named) {
    this.#root = root;
    this.#open = open;
    this.#named = named;
  }

  /** @param {Plan[]} plans */
  show(plans) {
    const wanted = plans.map((plan) => {
      const view = this.#views.get(plan.session_id) ?? new PlanView(plan, this.#open, this.#named);
      this.#views.set(plan.session_id, view);
      view.show(plan);
      return view.element;
    });
    arrange(this.#root, wanted);
  }
}
