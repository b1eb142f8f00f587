/** Where in the panel somebody is, as the address says. */

/**
 * @typedef {{view: 'inbox'} | {view: 'plans'} | {view: 'history', query: URLSearchParams}
 *   | {view: 'session', id: string} | {view: 'question', id: string}} Place
 */

/**
 * @param {string} hash The part of the address from `#` on.
 * @returns {Place}
 */
export function readPlace(hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = path.split('/');
  const id = decode(rest.join('/'));
  if (view === 'history') return { view, query: new URLSearchParams(query ?? '') };
  if (view === 'plans') return { view };
  if ((view === 'session' || view === 'question') && id !== '') return { view, id };
  return { view: 'inbox' };
}

/** @param {string} session */
export function sessionPlace(session) {
  return `#/session/${encodeURIComponent(session)}`;
}

/** @param {string} id */
export function questionPlace(id) {
  return `#/question/${encodeURIComponent(id)}`;
}

/** The whole address of a place, to be given to others. @param {string} hash */
export function addressOf(hash) {
  return `${location.origin}/${hash}`;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
