/** Who is signed in, and the screen for nobody. */
import { byId } from './dom.js';
import { label } from './i18n.js';

/** How long it may take to learn that. */
const LIMIT_MS = 10_000;

/** @typedef {{person: string, tenant: string}} Me */

/**
 * Asks who this browser is. @returns {Promise<Me|'nobody'|'unreachable'>}
 */
export async function whoAmI() {
  try {
    // In nobody's name: who is signed in is the question.
    const answer = await fetch('/api/me', { headers: { Accept: 'application/json' }, signal: AbortSignal.timeout(LIMIT_MS) });
    if (answer.status === 401 || answer.status === 403) return 'nobody';
    if (!answer.ok) return 'unreachable';
    const body = await answer.json();
    return { person: String(body.person ?? ''), tenant: String(body.tenant ?? '') };
  } catch {
    return 'unreachable';
  }
}

/** Signs this browser out. @returns {Promise<boolean>} False when the service did not hear of it. */
export async function signOut() {
  try {
    const answer = await fetch('/api/sign-out', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return answer.ok || answer.status === 401;
  } catch {
    return false;
  }
}

/**
 * Shows the sign-in screen or takes it away. What stands behind it is kept.
 * @param {boolean} shown
 */
export function showSignIn(shown) {
  const appears = shown && byId('sign-in').hidden === true;
  byId('sign-in').hidden = !shown;
  if (appears) {
    // Nothing is sent by itself now, and what had the focus is out of sight.
    byId('banner').hidden = true;
    byId('credential').focus();
  }
  if (shown) for (const view of ['inbox', 'plans', 'history']) byId(view).hidden = true;
  document.documentElement.classList.toggle('signed-out', shown);
}

/**
 * Wires the screen's form.
 * @param {() => void} signedIn
 */
export function wireSignIn(signedIn) {
  const form = /** @type {HTMLFormElement} */ (byId('sign-in-form'));
  const field = /** @type {HTMLInputElement} */ (byId('credential'));
  const send = /** @type {HTMLButtonElement} */ (byId('sign-in-button'));
  const error = byId('sign-in-error');
  if (new URLSearchParams(location.search).get('link') === 'stale') {
    // Who is signed in sees the panel and nothing of this; a reload shall not say it again.
    window.history.replaceState(null, '', `/${location.hash}`);
    label(error, 'sign_in.stale');
    error.hidden = false;
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const credential = field.value.trim();
    if (credential === '') return;
    send.disabled = true;
    error.hidden = true;
    void attempt(credential).then((result) => {
      send.disabled = false;
      if (result === 'ok') {
        field.value = '';
        signedIn();
        return;
      }
      label(error, `sign_in.${result}`);
      error.hidden = false;
    });
  });
}

/** @param {string} credential @returns {Promise<'ok'|'refused'|'not_a_person'|'unreachable'>} */
async function attempt(credential) {
  try {
    const answer = await fetch('/api/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ credential }),
    });
    if (answer.ok) return 'ok';
    if (answer.status === 403) return 'not_a_person';
    return answer.status >= 500 ? 'unreachable' : 'refused';
  } catch {
    return 'unreachable';
  }
}
