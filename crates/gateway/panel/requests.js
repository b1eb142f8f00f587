/**
 * Requests in the name of the person whom this page is for. Another tab may sign somebody else in
 * meanwhile; the service then refuses what this page sends.
 */

/** How long a request may take. */
const LIMIT_MS = 15_000;

let me = '';

/** @param {string} tenant @param {string} person */
export function speakFor(tenant, person) {
  me = `${encodeURIComponent(tenant)}/${encodeURIComponent(person)}`;
}

/** The same for an address, where there can be no header. */
export function spokenFor() {
  return me === '' ? '' : `&as=${encodeURIComponent(me)}`;
}

/**
 * A network may swallow what is sent without a word: no request waits for ever.
 * @param {string} path
 * @param {RequestInit} [init]
 * @param {number} [limit] How long it may take, in milliseconds.
 */
export function request(path, init = {}, limit = LIMIT_MS) {
  const headers = new Headers(init.headers);
  headers.set('Accept', 'application/json');
  if (me !== '') headers.set('Askbus-As', me);
  const limited = AbortSignal.timeout(limit);
  const signal = init.signal ? AbortSignal.any([init.signal, limited]) : limited;
  return fetch(path, { ...init, headers, signal });
}

/** @param {string} path @param {object} body */
export function post(path, body) {
  return request(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}
