/**
 * Long text folds to a few lines so that everything after it stays in reach. Whether it is long is
 * measured, not guessed, and measured again when the width changes.
 */
import { el, freshId } from './dom.js';
import { label } from './i18n.js';

/** @type {WeakMap<Element, () => void>} */
const measures = new WeakMap();

const observer = new ResizeObserver((changes) => {
  for (const change of changes) measures.get(change.target)?.();
});

/**
 * Makes `node` foldable.
 * @param {HTMLElement} node
 * @param {number} lines How many lines stay visible.
 * @returns {HTMLButtonElement} The switch; hidden while nothing is cut off. Put it after the text.
 */
export function foldable(node, lines) {
  if (node.id === '') node.id = freshId('text');
  const button = el('button', { type: 'button', class: 'link fold', 'aria-controls': node.id, hidden: true });
  let open = false;
  node.classList.add('folds');
  node.style.setProperty('--lines', String(lines));

  const show = () => {
    node.classList.toggle('folded', !open);
    button.setAttribute('aria-expanded', String(open));
    label(button, open ? 'text.less' : 'text.more');
  };
  measures.set(node, () => {
    if (!open) button.hidden = node.scrollHeight <= node.clientHeight + 1;
  });
  button.addEventListener('click', () => {
    open = !open;
    show();
  });
  show();
  observer.observe(node);
  return button;
}
