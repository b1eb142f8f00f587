/**
 * The shapes that travel between gateway and panel. Types only: no code runs here.
 *
 * @typedef {{id: string, label: string, description?: string|null, plain?: string}} Option `plain`: its
 *   label as plain words, where it is written otherwise.
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {string} [header] May be empty; cut where it is shown.
 * @property {string} question
 * @property {string} [plain] The question as plain words, where it is written otherwise.
 * @property {string|null} [explanation] Why it is asked, or what one has to know.
 * @property {boolean} multi_select
 * @property {{min?: number|null, max?: number|null}|null} [select] How many options may be chosen.
 * @property {Option[]} options
 * @property {string|null} [recommended] Id of the option the agent would take.
 *
 * @typedef {object} QuestionHtml What the service rendered of a question's texts; absent: as it is written.
 * @property {string} [question]
 * @property {string} [explanation]
 * @property {Record<string, {label?: string, description?: string}>} [options] By the option's id.
 *
 * @typedef {{person: string, surface: string}} Actor
 * @typedef {{client?: string|null, host?: string|null, cwd?: string|null, branch?: string|null}} Asker
 *
 * @typedef {object} Request What a card is made from (`clarify.requested`).
 * @property {string} session_id
 * @property {string} clarify_id
 * @property {Question[]} questions
 * @property {Record<string, QuestionHtml>} [html] By the question's id.
 * @property {number} requested_at Unix milliseconds.
 * @property {number|null} deadline Unix milliseconds; null means never.
 * @property {number|null} cap Unix milliseconds; when it settles in any case.
 * @property {number|null} [grace_ms] How long the countdown stays hidden.
 * @property {boolean} [disconnected] Whether nothing has been heard of the asker lately.
 * @property {boolean} held
 * @property {Actor|null} held_by
 * @property {{person?: string, group?: string}|null} [to] Whom it is meant for; null is everybody.
 * @property {boolean} [may_answer] Whether this person may; absent is yes.
 * @property {{session_id: string, name?: string}|null} [parent] Whose sub-agent asks.
 * @property {Asker|null} asker
 *
 * @typedef {object} AnswerEntry One question's answer as it is sent.
 * @property {string} question_id
 * @property {string[]} option_ids
 * @property {string|null} text
 * @property {string|null} note
 * @property {boolean} [dismissed] Whether the person declines this question.
 *
 * @typedef {object} ResolvedAnswer One question's answer as it comes back.
 * @property {string} question_id
 * @property {{id: string, label: string}[]} [options]
 * @property {string[]} [option_ids]
 * @property {string|null} [text]
 * @property {string|null} [note]
 *
 * @typedef {object} Outcome How a clarification ended.
 * @property {string} reason
 * @property {string|null} [decided_by]
 * @property {Actor|null} [actor]
 * @property {ResolvedAnswer[]} [answers] What a person agreed to.
 * @property {ResolvedAnswer[]} [partial] What was filled in when it was not an answer.
 * @property {{question_id: string, option_id: string, label: string}[]} [assumptions] What the agent went on
 *   with where nobody chose.
 * @property {string[]} [dismissed_questions] Questions declined one by one.
 * @property {string|null} [text]
 * @property {number|string|null} [resolved_at]
 *
 * @typedef {object} LateAnswer An answer that came after the end, as the history tells it.
 * @property {string} answer_id
 * @property {Actor} actor
 * @property {string} action
 * @property {ResolvedAnswer[]} [answers]
 * @property {string|null} [text]
 * @property {string|null} [goes_on]
 * @property {boolean} [may_pass_on]
 *
 * @typedef {'answer'|'ask_back'|'dismiss'|'skip'} Action
 *
 * @typedef {object} Submission An answer on its way; repeating it with the same id is harmless.
 * @property {string} session_id
 * @property {string} clarify_id
 * @property {string} answer_id
 * @property {Action} action
 * @property {AnswerEntry[]} answers
 * @property {string|null} text
 *
 * @typedef {'waiting'|'sending'|'sent'|'settled'|'late'} CardState
 *
 * @typedef {object} Entry What the store knows of one clarification.
 * @property {Request} request
 * @property {CardState} state
 * @property {Outcome|null} outcome
 * @property {Submission|null} submission The answer in flight, or the one that came late.
 * @property {boolean} transmitted Whether the submission left over the present connection.
 * @property {boolean} left Whether it ever left: then it cannot be taken back.
 * @property {string|null} error Why the last answer was refused.
 * @property {boolean} kept Settled, but text of this person is still unsent.
 * @property {string|null} [goesOn] Where the answer goes that came late; null: nowhere unless its author sends it on; absent while that is not known.
 * @property {boolean} passing Whether it is being sent on.
 *
 * @typedef {{answers: AnswerEntry[], text: string}} DraftContent
 */
export {};
