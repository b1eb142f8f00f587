/** The clock of one card on the screen. It says something only when that changes. */
import { formatCountdown, phaseAt, remainingAt, URGENT_MS } from './clock.js';
import { el } from './dom.js';
import { label, locale, t, unlabel } from './i18n.js';
import { personName } from './outcome.js';

/** @typedef {import('./types.js').Entry} Entry */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export class ClockView {
  /** When it was asked. */
  asked = el('time', { class: 'asked' });
  element = el('div', { class: 'clock' });
  #gone = el('span', { class: 'gone', hidden: true });
  #text = el('span', { class: 'clock-text' });
  #hold = el('button', { type: 'button', class: 'link', 'data-action': 'hold', hidden: true });
  #entry;
  #me;
  #over = false;
  #shown = '';

  /**
   * @param {Entry} entry
   * @param {() => string} me
   * @param {() => void} hold
   */
  constructor(entry, me, hold) {
    this.#entry = entry;
    this.#me = me;
    const { requested_at } = entry.request;
    this.asked.dateTime = new Date(requested_at).toISOString();
    label(this.asked, 'card.asked', () => ({ time: clockTime(requested_at) }));
    label(this.#hold, 'action.hold');
    label(this.#gone, 'clock.disconnected');
    this.#hold.addEventListener('click', hold);
    this.#text.setAttribute('role', 'timer');
    this.element.append(this.#gone, this.#text, this.#hold);
  }

  /** @param {boolean} over Whether it is settled. */
  update(over) {
    this.#over = over;
    this.#shown = '';
    this.element.hidden = over;
    this.#gone.hidden = this.#entry.request.disconnected !== true;
  }

  /** @param {number} now The server's time. */
  tick(now) {
    if (this.#over) return;
    const { request, state } = this.#entry;
    const phase = phaseAt(request, request.held, now);
    const left = remainingAt(request, request.held, now);
    const time = left >= DAY_MS ? longTime(left) : formatCountdown(left);
    const key = `${phase}|${time}|${request.held}|${state}|${locale()}`;
    if (key === this.#shown) return;
    this.#shown = key;

    this.element.dataset.phase = phase;
    this.element.dataset.held = String(request.held);
    this.element.dataset.urgent = String(phase === 'countdown' && left <= URGENT_MS);
    this.#hold.hidden = request.deadline === null || request.held || phase === 'expired' || state !== 'waiting'
      || request.may_answer === false;
    this.#text.removeAttribute('title');
    if (phase === 'countdown') {
      label(this.#text, 'clock.left', { time });
      this.#text.title = t('clock.settles', { time: clockTime(request.deadline ?? now) });
    } else if (phase === 'expired') label(this.#text, 'clock.expired');
    // A countdown hurries and stays out of sight at first; until when there is time does not.
    else if (phase === 'hidden') label(this.#text, 'clock.until', () => ({ time: clockTime(request.deadline ?? now) }));
    else this.#showWaiting();
  }

  #showWaiting() {
    const { held, held_by, cap } = this.#entry.request;
    const who = () => personName(held_by, this.#me());
    if (held && cap !== null) label(this.#text, 'clock.held', () => ({ who: who(), time: clockTime(cap) }));
    else if (held) label(this.#text, 'clock.held_open', () => ({ who: who() }));
    else if (cap !== null) label(this.#text, 'clock.until', () => ({ time: clockTime(cap) }));
    else unlabel(this.#text);
  }
}

/** Days and hours in words. @param {number} ms */
function longTime(ms) {
  const hours = Math.ceil(ms / HOUR_MS);
  const unit = (/** @type {'day'|'hour'} */ name, /** @type {number} */ n) =>
    new Intl.NumberFormat(locale(), { style: 'unit', unit: name, unitDisplay: 'long' }).format(n);
  const parts = [unit('day', Math.floor(hours / 24)), ...(hours % 24 > 0 ? [unit('hour', hours % 24)] : [])];
  return new Intl.ListFormat(locale(), { style: 'narrow', type: 'unit' }).format(parts);
}

/**
 * A moment as short as it can be: the time today, else the day with it.
 * @param {number} ms
 */
export function clockTime(ms) {
  const moment = new Date(ms);
  const today = moment.toDateString() === new Date().toDateString();
  /** @type {Intl.DateTimeFormatOptions} */
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  return new Intl.DateTimeFormat(locale(), today ? time : { day: 'numeric', month: 'short', ...time }).format(moment);
}
