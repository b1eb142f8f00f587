/**
 * The panel's words. One file per language under `i18n/`, all with the same keys. Switching the
 * language changes labels in place; nothing a person typed is touched.
 */
import en from './i18n/en.js';
import zh from './i18n/zh.js';

/** @typedef {keyof typeof en} Key */
/** @typedef {Record<string, string|number>} Params */
/** @typedef {'en'|'zh'} Language */

/** @type {Record<Language, Record<Key, string>>} */
const TABLES = { en, zh };

/** What the `lang` attribute says. @type {Record<Language, string>} */
const TAGS = { en: 'en', zh: 'zh-Hans' };

const STORED_AS = 'askbus.language';

/** @type {Language} */
let language = 'en';

/** @type {WeakMap<Element, Map<string, {key: Key, params: Params|(() => Params)}>>} */
const labels = new WeakMap();

/** @type {(() => void)[]} */
const listeners = [];

/**
 * The language for a list of preferred tags, the first known one wins.
 * @param {readonly string[]} preferred
 * @returns {Language}
 */
export function pickLanguage(preferred) {
  for (const tag of preferred) {
    const base = tag.toLowerCase().split('-')[0];
    if (base === 'zh' || base === 'en') return base;
  }
  return 'en';
}

/** Takes the stored choice, else the browser's preference. */
export function startLanguage() {
  const stored = readStored();
  use(stored ?? pickLanguage(navigator.languages ?? [navigator.language]));
}

/** @returns {Language} */
export function currentLanguage() {
  return language;
}

/** The tag for `Intl` formatters. */
export function locale() {
  return TAGS[language];
}

/** @param {Language} next */
export function switchLanguage(next) {
  try {
    localStorage.setItem(STORED_AS, next);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  use(next);
}

/** Calls `listener` after each switch. @param {() => void} listener */
export function onLanguage(listener) {
  listeners.push(listener);
}

/**
 * The words for `key` with `{name}` places filled in.
 * @param {Key} key
 * @param {Params} [params]
 */
export function t(key, params = {}) {
  return TABLES[language][key].replace(/\{(\w+)\}/g, (place, name) =>
    Object.hasOwn(params, name) ? String(params[name]) : place,
  );
}

/**
 * The words for a number: `<stem>.one` or `<stem>.other`, as the language counts.
 * @param {string} stem
 * @param {number} count
 */
export function tCount(stem, count) {
  const form = new Intl.PluralRules(locale()).select(count) === 'one' ? 'one' : 'other';
  return t(/** @type {Key} */ (`${stem}.${form}`), { count });
}

/**
 * Gives a node its words and remembers which, so that they follow the language. `params` may be a
 * function where the values are words themselves.
 * @param {Element} node
 * @param {Key} key
 * @param {Params|(() => Params)} [params]
 * @param {string} [attribute] Sets this attribute instead of the text.
 */
export function label(node, key, params = {}, attribute = '') {
  const known = labels.get(node) ?? new Map();
  known.set(attribute, { key, params });
  labels.set(node, known);
  node.setAttribute('data-label', '');
  apply(node);
}

/** Forgets the words of a node and empties it. @param {Element} node */
export function unlabel(node) {
  labels.delete(node);
  node.removeAttribute('data-label');
  node.textContent = '';
}

/** @param {Element} node */
function apply(node) {
  for (const [attribute, { key, params }] of labels.get(node) ?? []) {
    const text = t(key, typeof params === 'function' ? params() : params);
    if (attribute !== '') node.setAttribute(attribute, text);
    else if (node.textContent !== text) node.textContent = text;
  }
}

/** @param {Language} next */
function use(next) {
  language = next;
  document.documentElement.lang = TAGS[next];
  for (const node of document.querySelectorAll('[data-label]')) apply(node);
  for (const listener of listeners) listener();
}

/** @returns {Language|null} */
function readStored() {
  try {
    const stored = localStorage.getItem(STORED_AS);
    return stored === 'en' || stored === 'zh' ? stored : null;
  } catch {
    return null;
  }
}
