/** Chats that people are told in: which of them cannot be reached now, as the service says. */
import { byId, el, words } from './dom.js';
import { label, tCount } from './i18n.js';
import { announce } from './page.js';
import { request } from './requests.js';

/** @typedef {{name: string, waiting: number, problem: string}} Unreachable */

/** Several reasons to ask again make one request in this time. */
const PAUSE_MS = 15_000;
/** How long a chat may take before it is asked whether a question has arrived there. */
const DELIVERED_MS = 5000;

/**
 * Those to which something could not be delivered.
 * @param {any} body What `/api/channels` answers.
 * @returns {Unreachable[]}
 */
export function unreachable(body) {
  const all = Array.isArray(body?.channels) ? body.channels : [];
  return all.flatMap((/** @type {any} */ channel) => {
    const messages = Array.isArray(channel?.messages) ? channel.messages : [];
    const replies = Array.isArray(channel?.replies) ? channel.replies : [];
    const failed = [channel, ...messages, ...replies].find((/** @type {any} */ one) => typeof one?.problem === 'string');
    if (failed === undefined) return [];
    return [{ name: String(channel.name ?? ''), waiting: Number(channel.undelivered) || messages.length, problem: failed.problem }];
  });
}

export class ChannelsView {
  #root = byId('channels');
  #asked = Number.NEGATIVE_INFINITY;
  #shown = '';
  /** Whether there is a chat at all: which ones there are changes with a new start only. */
  #any = true;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;

  /** The service said something. @param {unknown} event */
  heard(event) {
    if (event === 'hello') this.#any = true;
    if (!this.#any) return;
    if (event === 'hello') void this.#refresh();
    else if (event === 'clarify.requested') this.#timer ??= setTimeout(() => void this.#refresh(), DELIVERED_MS);
    else if (performance.now() - this.#asked > PAUSE_MS && document.visibilityState === 'visible') void this.#refresh();
  }

  async #refresh() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#asked = performance.now();
    try {
      const answer = await request('/api/channels');
      if (!answer.ok) return;
      const body = await answer.json();
      this.#any = Array.isArray(body.channels) && body.channels.length > 0;
      this.#show(unreachable(body));
    } catch {
      // Whether a chat can be reached is not known then, and that the service cannot is said elsewhere.
    }
  }

  /** @param {Unreachable[]} list */
  #show(list) {
    const shown = JSON.stringify(list);
    if (shown === this.#shown) return;
    const before = this.#root.hidden;
    this.#shown = shown;
    this.#root.hidden = list.length === 0;
    const title = () => tCount('channels.title', list.length);
    label(byId('channels-title'), 'text.plain', () => ({ text: title() }));
    byId('channels-list').replaceChildren(...list.map(({ name, waiting, problem }) => {
      const count = el('span');
      label(count, 'text.plain', () => ({ text: tCount('channels.waiting', waiting) }));
      return el('li', {}, words('strong', '', name), ' ', count, words('span', 'hint channel-problem', problem));
    }));
    if (before && list.length > 0) announce(title());
  }
}
