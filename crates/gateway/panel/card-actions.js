/** What a card asks for, carried out: kept, sent, and shown. */
import { uuid } from './dom.js';
import { says } from './drafts.js';
import { t } from './i18n.js';
import { passOnMessage } from './late.js';
import { isBlank } from './limits.js';
import { notice } from './page.js';

/** @typedef {import('./types.js').Entry} Entry */

/**
 * @typedef {object} Means What it is carried out with.
 * @property {import('./connection.js').Connection} connection
 * @property {import('./drafts.js').Drafts} drafts
 * @property {import('./outbox.js').Outbox} outbox
 * @property {import('./store.js').Store} store
 * @property {Set<string>} holds Holds asked for and not confirmed.
 * @property {() => import('./delivery.js').Delivery|null} delivery
 * @property {(work: () => void) => void} change Runs a change and shows it.
 * @property {(entry: Entry) => void} closed The person closed a card that is over.
 * @property {(id: string, folded: boolean) => void} folded
 */

/** @param {Means} means @returns {import('./card.js').CardActions} */
export function cardActions({ connection, drafts, outbox, store, holds, delivery, change, closed, folded }) {
  return {
    submit: (entry, action, content) => {
      const { session_id, clarify_id } = entry.request;
      const submission = {
        session_id, clarify_id, answer_id: uuid(), action,
        answers: content.answers.filter(says),
        text: isBlank(content.text) ? null : content.text,
      };
      if (!outbox.put(entry.request, submission)) notice(t('state.only_here'));
      drafts.hush(clarify_id);
      change(() => delivery()?.send(submission));
    },
    hold: ({ request: { session_id, clarify_id } }) => {
      if (holds.has(clarify_id)) return;
      holds.add(clarify_id);
      connection.send({ event: 'clarify.hold', session_id, clarify_id });
    },
    takeBack: ({ request }) => {
      delivery()?.done(request.clarify_id);
      change(() => store.reopen(request.clarify_id, null));
    },
    close: (entry) => {
      drafts.drop(entry.request.clarify_id);
      change(() => closed(entry));
    },
    passOn: ({ request: { session_id, clarify_id }, submission }) => {
      if (submission && connection.send(passOnMessage(session_id, clarify_id, submission.answer_id))) {
        change(() => store.passing(clarify_id));
      }
    },
    edited: (entry, content) => drafts.keep(entry.request, content),
    folded,
    me: () => store.me,
    online: () => connection.online,
  };
}
