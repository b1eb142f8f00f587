/**
 * The clock of a question as a person sees it. Pure functions; moments are Unix milliseconds of the
 * server's clock.
 */

/** How long a countdown stays hidden after the question was issued, unless the server says so. */
export const GRACE_MS = 60_000;

/** From here on the countdown is marked as urgent. */
export const URGENT_MS = 60_000;

const SECOND = 1000;

/**
 * @typedef {{requested_at: number, deadline: number|null, cap: number|null, grace_ms?: number|null}} Timing
 * @typedef {'hidden'|'countdown'|'expired'|'waiting'} Phase
 */

/**
 * When the question settles by itself; null when that is unknown.
 * @param {Timing} timing
 * @param {boolean} held
 * @returns {number|null}
 */
export function expiresAt(timing, held) {
  return timing.deadline !== null && !held ? timing.deadline : timing.cap;
}

/**
 * What to show at `now`.
 * @param {Timing} timing
 * @param {boolean} held
 * @param {number} now
 * @returns {Phase}
 */
export function phaseAt(timing, held, now) {
  const end = expiresAt(timing, held);
  if (end !== null && now >= end) return 'expired';
  if (timing.deadline === null || held) return 'waiting';
  return now < timing.requested_at + (timing.grace_ms ?? GRACE_MS) ? 'hidden' : 'countdown';
}

/**
 * Milliseconds left until the deadline; zero when held or without a deadline.
 * @param {Timing} timing
 * @param {boolean} held
 * @param {number} now
 */
export function remainingAt(timing, held, now) {
  return timing.deadline !== null && !held ? Math.max(0, timing.deadline - now) : 0;
}

/**
 * `4:59` or `1:04:59`. Rounded up, so that zero means over.
 * @param {number} ms
 */
export function formatCountdown(ms) {
  const left = Math.ceil(Math.max(0, ms) / SECOND);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const minutes = Math.floor(left / 60) % 60;
  const hours = Math.floor(left / 3600);
  return hours > 0 ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${minutes}:${two(left % 60)}`;
}

/** The server's clock, as far as the last message told. */
export class ServerClock {
  #offset = 0;

  /** @param {unknown} serverNow */
  learn(serverNow) {
    if (typeof serverNow === 'number' && Number.isFinite(serverNow)) {
      this.#offset = serverNow - Date.now();
    }
  }

  now() {
    return Date.now() + this.#offset;
  }
}
