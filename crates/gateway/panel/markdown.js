/** Agents' Markdown, which the service made into harmless HTML, as nodes; and the text as it was written. */
import { el, words } from './dom.js';
import { label } from './i18n.js';
import { copyText } from './copying.js';

/**
 * The one place where HTML becomes nodes. The page's policy lets no other one do so.
 * @type {{createHTML: (html: string) => any}}
 */
const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy('askbus', {
  createHTML: (/** @type {string} */ html) => html,
}) ?? { createHTML: (html) => html };

/**
 * Somebody's text: rendered where the service sent HTML, else as it was written.
 * @template {'p'|'span'|'div'} K
 * @param {K} tag
 * @param {string} className
 * @param {string} text
 * @param {string|undefined} html
 * @returns {HTMLElement}
 */
export function prose(tag, className, text, html) {
  if (html === undefined) return words(tag, className, text);
  const node = el(tag, { class: `prose ${className}`, dir: 'auto', 'data-has-raw': '' });
  const rendered = el(tag === 'span' ? 'span' : 'div', { class: 'rendered' });
  rendered.innerHTML = policy.createHTML(html);
  for (const block of rendered.querySelectorAll('pre')) withCopy(block);
  for (const table of rendered.querySelectorAll('table')) {
    const frame = el('div', { class: 'wide', tabindex: '0' });
    table.replaceWith(frame);
    frame.append(table);
  }
  node.append(rendered);
  raws.set(node, text);
  return node;
}

/** @type {WeakMap<Element, string>} */
const raws = new WeakMap();

/** Whether anything in `root` is rendered. @param {Element} root */
export function hasRaw(root) {
  return root.querySelector('[data-has-raw]') !== null;
}

/** Shows all texts in `root` as they were written, or rendered. @param {Element} root @param {boolean} raw */
export function showRaw(root, raw) {
  for (const node of root.querySelectorAll('[data-has-raw]')) {
    const rendered = node.querySelector('.rendered');
    node.querySelector('.raw')?.remove();
    if (rendered instanceof HTMLElement) rendered.hidden = raw;
    if (raw) node.append(words('span', 'raw', raws.get(node) ?? ''));
  }
}

/** @param {HTMLElement} block */
function withCopy(block) {
  block.tabIndex = 0;
  const copy = el('button', { type: 'button', class: 'quiet tiny', 'data-action': 'copy-code' });
  label(copy, 'action.copy');
  copy.addEventListener('click', () => {
    void copyText(block.textContent ?? '', block).then((done) => done && label(copy, 'action.copied'));
  });
  const frame = el('div', { class: 'code' });
  block.replaceWith(frame);
  frame.append(block, copy);
}
