/** What stands around the cards: the connection, messages, and what is read aloud. */
import { byId } from './dom.js';
import { label } from './i18n.js';
import { visible } from './visible.js';

/** Names of this machine itself, where its person can start the service. */
const LOCAL = ['localhost', '127.0.0.1', '[::1]'];

/** How long a spoken line stays in the document. */
const SPOKEN_MS = 10_000;
/** Lines that wait to be spoken at most. */
const SPOKEN_AT_ONCE = 5;

/**
 * @param {'online'|'offline'} state
 * @returns {string|undefined} What it was before.
 */
export function showConnection(state) {
  const root = document.documentElement;
  const before = root.dataset.connection;
  root.dataset.connection = state;
  byId('banner').hidden = state === 'online';
  byId('banner-local').hidden = !LOCAL.includes(location.hostname);
  label(byId('connection-text'), state === 'online' ? 'app.online' : 'app.offline');
  return before;
}

/**
 * The card after this one, else the one before it.
 * @param {HTMLElement} list
 * @param {HTMLElement|undefined} card
 * @returns {HTMLElement|null}
 */
export function neighbour(list, card) {
  const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('.card')]);
  const at = card ? all.indexOf(card) : -1;
  return at < 0 ? null : (all[at + 1] ?? all[at - 1] ?? null);
}

/** Says something to a screen reader, after whatever it says now. @param {string} text */
export function announce(text) {
  const live = byId('live');
  // Of a crowd that comes at once the count in the title tells.
  if (live.childElementCount >= SPOKEN_AT_ONCE) return;
  const line = document.createElement('p');
  line.textContent = visible(text);
  live.append(line);
  setTimeout(() => line.remove(), SPOKEN_MS);
}

/** @param {string} text */
export function notice(text) {
  if (text === '') return;
  byId('notice-text').textContent = visible(text);
  byId('notice').hidden = false;
}
