/**
 * Requests in the name of the person whom this page is for. Another tab may sign somebody else in
 * meanwhile; the service then refuses what this page sends.
 */

let me = '';

/** @param {string} tenant @param {string} person */
export function speakFor(tenant, person) {
  me = `${encodeURIComponent(tenant)}/${encodeURIComponent(person)}`;
}

/** The same for an address, where there can be no header. */
export function spokenFor() {
  return me === '' ? '' : `&as=${encodeURIComponent(me)}`;
}

/** @param {string} path @param {RequestInit} [init] */
export function request(path, init = {}) {
  const headers = new Headers(init.headers);
  headers.set('Accept', 'application/json');
  if (me !== '') headers.set('Askbus-As', me);
  return fetch(path, { ...init, headers });
}

/** @param {string} path @param {object} body */
export function post(path, body) {
  return request(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
}
