/**
 * The panel's words. Each file under `i18n/` is a language, named by its tag; which there are the
 * service tells. Switching the language changes labels in place; nothing a person typed is touched.
 */
import en from './i18n/en.js';
import { load, save } from './storage.js';
import { visible } from './visible.js';

/** @typedef {keyof typeof en} Key */
/** @typedef {Record<string, string|number>} Params */
/**
 * A language's words: every key, and for what is counted the forms that the language has.
 * @typedef {Omit<Record<Key, string>, `${string}.one`> & Record<string, string>} Words
 */

const STORED_AS = 'askbus.language';

let language = 'en';
/** @type {Record<string, string>} */
let table = en;
/** @type {string[]} */
let known = ['en'];

/** @type {WeakMap<Element, Map<string, {key: Key, params: Params|(() => Params)}>>} */
const labels = new WeakMap();

/** @type {(() => void)[]} */
const listeners = [];

/**
 * The first of the preferred tags that is there, itself or by its language; else English.
 * @param {readonly string[]} preferred
 * @param {readonly string[]} there
 * @returns {string}
 */
export function pickLanguage(preferred, there) {
  for (const tag of preferred) {
    for (let part = tag; part !== ''; part = part.split('-').slice(0, -1).join('-')) {
      const found = there.find((t) => t.toLowerCase() === part.toLowerCase());
      if (found !== undefined) return found;
    }
  }
  return 'en';
}

/** Takes the stored choice, else the browser's preference. */
export async function startLanguage() {
  try {
    const answer = await fetch('/assets/languages.json');
    const found = await answer.json();
    if (Array.isArray(found) && found.includes('en')) known = found.map(String);
  } catch {
    // English is always there.
  }
  await use(chosenLanguage() ?? pickLanguage(navigator.languages ?? [navigator.language], known));
}

/** The languages there are, each by its own name. @returns {{tag: string, name: string}[]} */
export function languages() {
  return known.map((tag) => ({ tag, name: new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag }));
}

/** The language somebody chose here; null follows the browser. @returns {string|null} */
export function chosenLanguage() {
  const stored = load(STORED_AS);
  return typeof stored === 'string' && known.includes(stored) ? stored : null;
}

/** The tag for `Intl` formatters. */
export function locale() {
  return language;
}

/** @param {string|null} next Null follows the browser. */
export function switchLanguage(next) {
  save(STORED_AS, next);
  void use(next ?? pickLanguage(navigator.languages, known));
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
  return (table[key] ?? en[key]).replace(/\{(\w+)\}/g, (place, name) =>
    Object.hasOwn(params, name) ? shown(params[name]) : place,
  );
}

/** @param {string|number} value */
function shown(value) {
  return typeof value === 'number' ? new Intl.NumberFormat(language).format(value) : value;
}

/**
 * The words for a number: `<stem>.one`, `<stem>.few` … or `<stem>.other`, as the language counts.
 * @param {string} stem
 * @param {number} count
 */
export function tCount(stem, count) {
  const form = `${stem}.${new Intl.PluralRules(language).select(count)}`;
  return t(/** @type {Key} */ (form in table ? form : `${stem}.other`), { count });
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
    const text = visible(t(key, typeof params === 'function' ? params() : params));
    if (attribute !== '') node.setAttribute(attribute, text);
    else if (node.textContent !== text) node.textContent = text;
  }
}

/** @param {string} next */
async function use(next) {
  const words = next === 'en' ? en : await import(`./i18n/${next}.js`).then((file) => file.default, () => null);
  language = words === null ? 'en' : next;
  table = words ?? en;
  document.documentElement.lang = language;
  document.documentElement.dir = ['ar', 'fa', 'he', 'ur'].includes(language.split('-')[0]) ? 'rtl' : 'ltr';
  for (const node of document.querySelectorAll('[data-label]')) apply(node);
  for (const listener of listeners) listener();
}
