/** What a person chooses for this browser: language, colours, how they are told. */
import { byId, el } from './dom.js';
import { chosenLanguage, label, languages, onLanguage, switchLanguage, t } from './i18n.js';
import { load, save } from './storage.js';

const THEMES = /** @type {const} */ (['system', 'light', 'dark', 'contrast']);
const STORED_AS = 'askbus.theme';

const moreContrast = matchMedia('(prefers-contrast: more)');

/** Shows the page as it was chosen, else as the system wants it. */
export function applyTheme() {
  const theme = THEMES.find((name) => name === load(STORED_AS)) ?? 'system';
  const root = document.documentElement;
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  else delete root.dataset.theme;
  root.dataset.contrast = theme === 'contrast' || moreContrast.matches ? 'more' : 'normal';
  return theme;
}

/** @param {import('./telling.js').Teller} teller */
export function wireSettings(teller) {
  const language = /** @type {HTMLSelectElement} */ (byId('language'));
  const theme = /** @type {HTMLSelectElement} */ (byId('theme'));
  const sound = /** @type {HTMLInputElement} */ (byId('sound'));
  const notify = /** @type {HTMLInputElement} */ (byId('notify'));
  moreContrast.addEventListener('change', () => applyTheme());

  const system = el('option', { value: '' });
  label(system, 'settings.system_language');
  language.append(system, ...languages().map(({ tag, name }) => {
    const option = el('option', { value: tag, lang: tag });
    option.textContent = name;
    return option;
  }));
  language.value = chosenLanguage() ?? '';
  language.addEventListener('change', () => switchLanguage(language.value === '' ? null : language.value));

  for (const name of THEMES) {
    const option = el('option', { value: name });
    label(option, `settings.theme_${name}`);
    theme.append(option);
  }
  theme.value = applyTheme();
  theme.addEventListener('change', () => {
    save(STORED_AS, theme.value);
    applyTheme();
  });

  sound.checked = teller.sound;
  sound.addEventListener('change', () => teller.setSound(sound.checked));
  const showNotify = () => {
    const state = teller.notifications;
    notify.checked = state === 'on';
    notify.disabled = state === 'denied' || state === 'impossible';
    byId('notify-state').textContent = state === 'denied' || state === 'impossible' ? t(`settings.notify_${state}`) : '';
  };
  notify.addEventListener('change', () => void teller.setNotifications(notify.checked).then(showNotify));
  onLanguage(showNotify);
  showNotify();
  closeByItself(/** @type {HTMLDetailsElement} */ (byId('settings')));
}

/**
 * A list of actions that opens below its name closes when the person leaves it or presses Escape.
 * @param {HTMLDetailsElement} menu
 */
export function closeByItself(menu) {
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
  menu.addEventListener('focusout', (event) => {
    const next = event.relatedTarget;
    if (next instanceof Node && !menu.contains(next)) menu.open = false;
  });
  document.addEventListener('pointerdown', (event) => {
    if (menu.open && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  });
}
