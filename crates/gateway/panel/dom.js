/** Building and moving nodes. Text only ever goes in as text. */
import { label } from './i18n.js';
import { visible } from './visible.js';

let lastId = 0;

/** An id no other node has. @param {string} stem */
export function freshId(stem) {
  lastId += 1;
  return `${stem}-${lastId}`;
}

/**
 * Makes an element. `class` and `data-…` and other attributes by name; children are nodes or text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string|boolean|null|undefined>} [attributes]
 * @param {...(Node|string|null|undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

/**
 * An element that shows somebody else's words: as text, in their own direction, line breaks kept.
 * Characters that turn the direction of what follows could make a label read as another one; they
 * stand as a visible mark.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} className
 * @param {string} text
 */
export function words(tag, className, text) {
  const node = el(tag, { class: `words ${className}`, dir: 'auto' });
  node.textContent = visible(text);
  return node;
}

/** @param {string} action @param {string} look @param {import('./i18n.js').Key} named */
export function button(action, look, named) {
  const node = el('button', { type: 'button', class: look, 'data-action': action });
  label(node, named);
  return node;
}

/**
 * The element with this id; the page is broken without it.
 * @param {string} id
 */
export function byId(id) {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`the page lacks #${id}`);
  return node;
}

/**
 * Puts `wanted` into `parent` in this order. The child that holds the focus is never taken out of
 * the document: the others move around it. Children that are not wanted are removed.
 * @param {HTMLElement} parent
 * @param {HTMLElement[]} wanted
 */
export function arrange(parent, wanted) {
  const keep = new Set(wanted);
  for (const child of [...parent.children]) {
    if (child instanceof HTMLElement && !keep.has(child)) child.remove();
  }
  const focused = wanted.findIndex((node) => node.contains(document.activeElement));
  const fixed = focused >= 0 && wanted[focused].parentElement === parent ? focused : -1;
  /** @param {HTMLElement} node @param {Element|null} before */
  const place = (node, before) => {
    if (node.parentElement === parent && node.nextElementSibling === before) return;
    parent.insertBefore(node, before);
  };
  /** @type {Element|null} */
  let before = null;
  for (let i = wanted.length - 1; i > fixed; i -= 1) {
    place(wanted[i], before);
    before = wanted[i];
  }
  if (fixed < 0) return;
  before = wanted[fixed];
  for (let i = fixed - 1; i >= 0; i -= 1) {
    place(wanted[i], before);
    before = wanted[i];
  }
}

/**
 * Changes the page so that what the person looks at stays where it is on the screen. At the very
 * top, with nothing focused, new things may push the rest down. Where cards out of sight turn out
 * higher or lower than was estimated later on, the browser's own scroll anchoring sees to it.
 * @param {HTMLElement} root
 * @param {string} selector What may serve as a fixed point.
 * @param {() => void} change
 */
export function steady(root, selector, change) {
  const anchor = fixedPoint(root, selector);
  const top = anchor?.getBoundingClientRect().top;
  change();
  if (anchor === null || top === undefined || !anchor.isConnected) return;
  const shift = anchor.getBoundingClientRect().top - top;
  if (Math.abs(shift) >= 1) window.scrollBy({ top: shift, behavior: 'instant' });
}

/** @param {HTMLElement} root @param {string} selector @returns {Element|null} */
function fixedPoint(root, selector) {
  const focused = document.activeElement?.closest(selector);
  if (focused && root.contains(focused)) return focused;
  if (window.scrollY <= 0) return null;
  for (const node of root.querySelectorAll(selector)) {
    if (node.getBoundingClientRect().bottom > 80) return node;
  }
  return null;
}

/**
 * A version 4 UUID, also where the page is not served over a secure origin.
 * @returns {string}
 */
export function uuid() {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
