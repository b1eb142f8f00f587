/** The browser's storage, which may be missing, full or hold something else than we wrote. */

/** @param {string} key @returns {unknown} */
export function load(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
}

/** @param {string} key @param {unknown} value @returns {boolean} Whether it was kept. */
export function save(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** @param {string} key */
export function forget(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing was stored, then.
  }
}

/** The keys that start with `prefix`. @param {string} prefix @returns {string[]} */
export function keysFrom(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix));
  } catch {
    return [];
  }
}
