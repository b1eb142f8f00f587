/**
 * Being told that a question waits: a sound in the page, a notification of the browser, the number in
 * the title, on the icon and on the application's badge. Once per question, whatever tabs are open.
 */
import { byId } from './dom.js';
import { t, tCount } from './i18n.js';
import { questionPlace } from './routes.js';
import { forget, load, save } from './storage.js';

/** Questions of which it is remembered that somebody was told. */
const REMEMBER = 500;
/** Questions that come together make one sound. */
const CHIME_PAUSE_MS = 1500;
/** By then every tab knows what one of them has written down. */
const KNOWN_MS = 5000;

/** How many wait, in the title, in the header, on the icon. @param {number} count */
export function showCount(count) {
  document.title = count > 0 ? `(${count}) Askbus` : 'Askbus';
  const pill = byId('count');
  pill.textContent = tCount('app.waiting', count);
  if (pill.dataset.count === String(count)) return;
  pill.dataset.count = String(count);
  const wanted = count > 0 ? icon(count) : '/assets/favicon.svg';
  // Said again, the same one would be fetched again.
  if (byId('icon').getAttribute('href') !== wanted) byId('icon').setAttribute('href', wanted);
  const badged = count > 0 ? navigator.setAppBadge?.(count) : navigator.clearAppBadge?.();
  // A browser without a place for it says so.
  badged?.catch(() => {});
}

/** The icon with a number on it. @param {number} count */
function icon(count) {
  const text = count > 99 ? '99+' : String(count);
  const size = text.length > 2 ? 11 : text.length > 1 ? 15 : 18;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path fill="#3b57c4" d="M8 2h16a6 6 0 0 1 6 6v11a6 6 0 0 1-6 6h-8.5l-6.2 5a.8.8 0 0 1-1.3-.6V25a6 6 0 0 1-6-6V8a6 6 0 0 1 6-6z"/>`
    + `<text x="16" y="14" fill="#fff" font-family="system-ui,sans-serif" font-weight="700" font-size="${size}" text-anchor="middle" dominant-baseline="central">${text}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

export class Teller {
  #prefix = '';
  /** @type {AudioContext|null} */
  #audio = null;
  #chimed = Number.NEGATIVE_INFINITY;

  /** @param {string} owner Whose; settings and what was told are theirs. */
  start(owner) {
    this.#prefix = `askbus.told.${owner}`;
  }

  /** Nothing of this person stays in the browser. */
  forgetAll() {
    forget(this.#prefix);
  }

  get sound() {
    return load('askbus.sound') === true;
  }

  /** By a click of the person, so that the browser lets the page make itself heard. @param {boolean} on */
  setSound(on) {
    save('askbus.sound', on);
    if (on) this.#chime();
  }

  /** @returns {'on'|'off'|'denied'|'impossible'} */
  get notifications() {
    // Off a secure origin browsers have none.
    if (typeof Notification === 'undefined' || !isSecureContext) return 'impossible';
    if (Notification.permission === 'denied') return 'denied';
    return Notification.permission === 'granted' && load('askbus.notify') === true ? 'on' : 'off';
  }

  /** By a click of the person: nobody is asked for permission otherwise. @param {boolean} on */
  async setNotifications(on) {
    if (on && typeof Notification !== 'undefined' && Notification.permission === 'default') await Notification.requestPermission();
    save('askbus.notify', on);
  }

  /**
   * A question began to wait.
   * @param {string} id
   * @param {string} asker
   * @param {string} question
   */
  async tell(id, asker, question) {
    if (!(await this.#first(id))) return;
    if (this.sound && performance.now() - this.#chimed > CHIME_PAUSE_MS) this.#chime();
    if (this.notifications !== 'on' || (document.visibilityState === 'visible' && document.hasFocus())) return;
    try {
      const note = new Notification(t('live.new', { asker, question: '' }).replace(/[:：]\s*$/, ''), {
        body: question, tag: id, icon: '/assets/favicon.svg', lang: document.documentElement.lang,
      });
      note.addEventListener('click', () => {
        window.focus();
        location.hash = questionPlace(id);
        note.close();
      });
    } catch {
      // Some phones take notifications from service workers only.
    }
  }

  /** What stands on the screen from the start needs no telling later. @param {string[]} ids */
  seen(ids) {
    this.#remember(ids);
  }

  /** Whether nobody was told of it in any tab. @param {string} id @returns {Promise<boolean>} */
  async #first(id) {
    const claim = () => {
      if (this.#told().includes(id)) return false;
      this.#remember([id]);
      return true;
    };
    if (!navigator.locks) return claim();
    return new Promise((resolve) => {
      navigator.locks
        .request(`${this.#prefix}.${id}`, { ifAvailable: true }, async (lock) => {
          const first = lock !== null && (await navigator.locks.request(this.#prefix, claim));
          resolve(first);
          // What one tab has written down reaches the others a little later.
          if (first) await new Promise((known) => setTimeout(known, KNOWN_MS));
        })
        .catch(() => resolve(claim()));
    });
  }

  /** @returns {string[]} */
  #told() {
    const told = load(this.#prefix);
    return Array.isArray(told) ? told : [];
  }

  /** @param {string[]} ids */
  #remember(ids) {
    const told = this.#told();
    const known = new Set(told);
    const all = [...told, ...ids.filter((id) => !known.has(id))];
    if (all.length > told.length) save(this.#prefix, all.slice(-REMEMBER));
  }

  #chime() {
    this.#chimed = performance.now();
    try {
      this.#audio ??= new AudioContext();
      const { currentTime: now, destination } = this.#audio;
      const volume = this.#audio.createGain();
      volume.gain.setValueAtTime(0.0001, now);
      volume.gain.exponentialRampToValueAtTime(0.15, now + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, now + 0.5);
      volume.connect(destination);
      for (const [hertz, after] of [[660, 0], [880, 0.12]]) {
        const tone = this.#audio.createOscillator();
        tone.frequency.value = hertz;
        tone.connect(volume);
        tone.start(now + after);
        tone.stop(now + 0.5);
      }
      document.documentElement.dataset.chimes = String(Number(document.documentElement.dataset.chimes ?? 0) + 1);
    } catch {
      // No sound device, then.
    }
  }
}
