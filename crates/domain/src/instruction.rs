//! What a host appends to the latest input of a turn, so that the agent knows that it may ask (E14) and
//! show its plan (E16).

use crate::late::late_text;
use crate::{Dialect, Language, Turn};

/// The tag around it.
const TAG: &str = "studio_interaction_context";

/// The text for `turn`, whose tools speak `dialect`; empty when the turn may neither ask nor plan
/// (E15).
pub fn instruction(turn: &Turn, language: Language, dialect: Dialect) -> String {
    let plan = plan_tool_of(dialect).filter(|_| turn.scope().plan);
    let words = match (turn.scope().clarify, plan, language) {
        (true, plan, Language::En) => english(dialect, plan),
        (true, plan, Language::Zh) => chinese(dialect, plan),
        (false, Some(plan), Language::En) => english_plan(dialect, plan),
        (false, Some(plan), Language::Zh) => chinese_plan(dialect, plan),
        (false, None, _) => return String::new(),
    };
    let mut text = format!("<{TAG}>\ncontext_id: {}\n\n{words}", turn.context_id);
    if !turn.late.is_empty() {
        text.push_str(match language {
            Language::En => {
                "\n\nLate messages from people. Each came after its question had ended, so it settled \
                 nothing then; it is what the person says, and you read it now for the first time."
            }
            Language::Zh => {
                "\n\n以下是迟到的留言。它们在对应的问题结束之后才到达，当时没有决定任何事情；这是对方的\
                 意见，你现在第一次读到。"
            }
        });
        for message in &turn.late {
            text.push_str("\n\n");
            text.push_str(&unclosing(&late_text(message, language)));
        }
    }
    text.push_str("\n</");
    text.push_str(TAG);
    text.push('>');
    text
}

/// The tool that asks, the server that shows it, and a word that finds it.
const fn tool_of(dialect: Dialect) -> (&'static str, &'static str, &'static str) {
    match dialect {
        Dialect::Studio => ("ekko_studio_clarify", "ekko-studio-interaction", "clarify"),
        Dialect::Ask => ("ask_user", "askbus", "ask_user"),
        Dialect::Interaction => ("clarify", "askbus", "clarify"),
    }
}

/// The name that some clients have to show the asking tool under, as a remark in brackets.
const fn other_name(dialect: Dialect, language: Language) -> &'static str {
    match (dialect, language) {
        (Dialect::Ask, Language::En) => {
            "; clients with an `ask_user` of their own show it as `ask_person`"
        }
        (Dialect::Ask, Language::Zh) => "；自带 `ask_user` 的客户端将它显示为 `ask_person`",
        (Dialect::Studio | Dialect::Interaction, _) => "",
    }
}

/// How much is asked in one call, which is not the same for every tool.
const fn how_many(dialect: Dialect, language: Language) -> &'static str {
    match (dialect, language) {
        (Dialect::Ask, Language::En) => {
            "Put all you need to know into one call: short questions, each of which can be understood by \
             itself"
        }
        (Dialect::Ask, Language::Zh) => {
            "把需要了解的内容放在一次调用里问完：问题要简短，单独看也能明白"
        }
        (Dialect::Studio | Dialect::Interaction, Language::En) => {
            "Ask one short question that can be understood by itself"
        }
        (Dialect::Studio | Dialect::Interaction, Language::Zh) => {
            "每次只问一个简短、单独看也能明白的问题"
        }
    }
}

/// The tool that shows the plan, on the same server.
const fn plan_tool_of(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Studio => Some("ekko_studio_update_plan"),
        Dialect::Ask => Some("update_plan"),
        Dialect::Interaction => None,
    }
}

const fn english_context(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Studio => {
            " Pass the context_id above; only the newest one is valid, whatever earlier inputs say."
        }
        Dialect::Ask | Dialect::Interaction => {
            " The context_id above goes along by itself; those of earlier inputs no longer hold."
        }
    }
}

/// How a plan is kept, as the rest of a sentence and more.
const ENGLISH_PLAN: &str = "send the whole plan each time, with the same ids for the same steps and at \
     most one of them in_progress; call a step completed only once you have seen that it is.";

/// The instruction of a turn that plans and may not ask.
fn english_plan(dialect: Dialect, plan: &str) -> String {
    let (_, server, _) = tool_of(dialect);
    let context = english_context(dialect);
    format!(
        "A person can follow your plan during this turn. For work of several steps call `{plan}` (MCP \
         server `{server}`) before you begin, and again whenever a step is done: {ENGLISH_PLAN}\
         {context}\n\
         - If tools are loaded on demand and you do not see it, search for `{server}` or `update_plan`.\n\
         - Nobody can be asked in this turn. The plan asks nothing and approves nothing."
    )
}

fn english(dialect: Dialect, plan: Option<&str>) -> String {
    let (tool, server, searched) = tool_of(dialect);
    let other = other_name(dialect, Language::En);
    let context = english_context(dialect);
    let how_many = how_many(dialect, Language::En);
    let (beside, plan) = match plan {
        None => ("", String::new()),
        Some(name) => (
            " It is on the same server as the plan card.",
            format!(
                "\n- For work of several steps keep the plan card up to date with `{name}`, before you \
                 begin and whenever a step is done: {ENGLISH_PLAN}"
            ),
        ),
    };
    format!(
        "A person can answer you during this turn. When a decision is missing that matters and is \
         theirs to take, call `{tool}` (MCP server `{server}`{other}) and wait for its result.{beside}{context}\n\
         - {how_many}; offer choices where they help. The person may always answer in their own \
         words.\n\
         - It takes the place of any question in the terminal: nobody reads or types there.\n\
         - If tools are loaded on demand and you do not see it, search for `{server}` or `{searched}`.\n\
         - A timeout, a dismissal or a cancellation is not approval. Leave undone what depends on the \
         answer, and say so.\n\
         - Do not call it from a delegated sub-agent or from work in the background.{plan}"
    )
}

const fn chinese_context(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Studio => {
            "调用时传入上面的 context_id；无论之前的输入写了什么，只有最新的一个有效。"
        }
        Dialect::Ask | Dialect::Interaction => {
            "上面的 context_id 会自动带上；之前输入中的 context_id 均已失效。"
        }
    }
}

const CHINESE_PLAN: &str = "每次都发送完整的计划，同一步骤保持同一个 id，最多一个步骤处于 \
     in_progress；只有确认某一步已经完成，才把它标为 completed。";

fn chinese_plan(dialect: Dialect, plan: &str) -> String {
    let (_, server, _) = tool_of(dialect);
    let context = chinese_context(dialect);
    format!(
        "本轮期间有人可以看到你的计划。工作分多个步骤时，请在开始之前以及每完成一步之后调用 `{plan}`\
         （MCP 服务器 `{server}`）：{CHINESE_PLAN}{context}\n\
         - 如果工具是按需加载的而你没有看到它，请搜索 `{server}` 或 `update_plan`。\n\
         - 本轮不能向任何人提问。计划既不是提问，也不代表任何同意。"
    )
}

fn chinese(dialect: Dialect, plan: Option<&str>) -> String {
    let (tool, server, searched) = tool_of(dialect);
    let other = other_name(dialect, Language::Zh);
    let context = chinese_context(dialect);
    let how_many = how_many(dialect, Language::Zh);
    let (beside, plan) = match plan {
        None => ("", String::new()),
        Some(name) => (
            "它与计划卡片在同一个服务器上。",
            format!(
                "\n- 工作分多个步骤时，请在开始之前以及每完成一步之后用 `{name}` 更新计划卡片：\
                 {CHINESE_PLAN}"
            ),
        ),
    };
    format!(
        "本轮期间有人可以回答你的问题。如果缺少一个重要的、应当由对方作出的决定，请调用 `{tool}`\
         （MCP 服务器 `{server}`{other}）并等待结果。{beside}{context}\n\
         - {how_many}；有帮助时给出选项。对方随时可以用自己的话回答。\n\
         - 它代替终端里的任何提问：终端无人查看，也无人输入。\n\
         - 如果工具是按需加载的而你没有看到它，请搜索 `{server}` 或 `{searched}`。\n\
         - 超时、拒绝回答或取消都不等于同意。依赖该回答的事情不要做，并在回复中说明。\n\
         - 不要在委派的子智能体或后台任务中调用它。{plan}"
    )
}

/// `words` with nothing in them that could end the block or begin another one.
fn unclosing(words: &str) -> String {
    let opens = |rest: &str| {
        let name = rest.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
        name.get(..TAG.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(TAG))
    };
    let mut text = String::with_capacity(words.len());
    for (at, c) in words.char_indices() {
        match c {
            '<' if words.get(at + 1..).is_some_and(opens) => text.push_str("&lt;"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobodys_words_end_the_block() {
        for (words, expected) in [
            ("a < b </b>", "a < b </b>"),
            (
                "</studio_interaction_context>",
                "&lt;/studio_interaction_context>",
            ),
            (
                "< / Studio_Interaction_Context >",
                "&lt; / Studio_Interaction_Context >",
            ),
            (
                "<studio_interaction_context>",
                "&lt;studio_interaction_context>",
            ),
            (
                "<<studio_interaction_context",
                "<&lt;studio_interaction_context",
            ),
            ("<界", "<界"),
        ] {
            assert_eq!(unclosing(words), expected);
        }
    }
}
