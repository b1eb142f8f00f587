/** Who is behind a question or a plan, whose sub-agent asks, and whom a question is meant for. */
import { el, words } from './dom.js';
import { label, t } from './i18n.js';

/** @typedef {import('./types.js').Request} Request */

/** Agent, machine, folder and branch. @param {import('./types.js').Asker|null|undefined} asker */
export function askerParts(asker) {
  const { client, host, cwd, branch } = asker ?? {};
  const name = client ? words('span', 'asker-client', client) : el('span', { class: 'asker-client' });
  if (!client) label(name, 'group.unknown');
  const parts = [name];
  if (host) parts.push(words('span', 'asker-part', host));
  if (cwd) {
    const path = words('span', 'asker-part asker-path', cwd);
    path.title = cwd;
    parts.push(path);
  }
  if (branch) parts.push(words('span', 'asker-part asker-branch', branch));
  return parts;
}

/** None when the session asks for itself. @param {Request} request */
export function subAgent(request) {
  const { parent } = request;
  if (!parent) return null;
  const line = el('p', { class: 'hint subagent', title: parent.session_id });
  if (parent.name) label(line, 'card.subagent', { name: parent.name });
  else label(line, 'card.subagent_unnamed');
  return line;
}

/** None when it is for everybody. @param {Request} request */
export function addressee(request) {
  const { person, group } = request.to ?? {};
  if (!person && !group) return null;
  const line = el('p', { class: 'hint addressee' });
  const mine = request.may_answer !== false;
  const key = person ? 'card.for_person' : 'card.for_group';
  const name = { name: person ?? group ?? '' };
  label(line, 'text.plain', () => ({ text: mine ? t(key, name) : `${t(key, name)} ${t('card.not_yours')}` }));
  return line;
}
