//! The words around questions, in each language; questions, labels and people's words stand as they
//! are.

use super::choice::Unclear;
use crate::{GoesOn, Language, Reason};

/// A reply that means one option and nothing else.
pub(super) struct Distinct {
    pub reply: String,
    pub label: String,
}

/// What is said in one language.
pub(super) struct Words {
    pub preferred: &'static str,
    pub several: fn(Option<u8>, Option<u8>) -> String,
    pub reply_open: &'static str,
    pub reply_one: &'static str,
    pub reply_several: &'static str,
    pub ends_at: fn(&str) -> String,
    pub shortened: &'static str,
    pub which: &'static str,
    pub which_of: &'static str,
    pub which_example: fn(&str) -> String,
    pub no_such: fn(&str) -> String,
    pub is_for: fn(&str) -> String,
    pub is_for_others: fn(&str, &str) -> String,
    pub group: fn(&str) -> String,
    pub managers: fn(&str) -> String,
    pub nothing_waits: &'static str,
    pub last_ended: fn(&str) -> String,
    pub waits: &'static str,
    pub over: &'static str,
    pub more: fn(usize) -> String,
    pub help: &'static str,
    pub noted: fn(usize, usize) -> String,
    pub held: &'static str,
    pub unjudged: &'static str,
    pub not_sent: fn(&str) -> String,
    pub refused: fn(&str) -> String,
    pub taken: &'static str,
    pub chose: &'static str,
    pub said: &'static str,
    pub left_out: &'static str,
    pub by: fn(&str) -> String,
    pub ended: fn(Reason) -> &'static str,
    pub kept: &'static str,
    pub goes_on: fn(GoesOn) -> &'static str,
    pub nothing_done: fn(&str) -> String,
    pub still_waits: &'static str,
    pub is_over: &'static str,
    pub unclear: fn(&Unclear, usize, &[Distinct], &str) -> String,
    pub list: fn(&[String]) -> String,
}

pub(super) const fn words(language: Language) -> &'static Words {
    match language {
        Language::En => &EN,
        Language::Zh => &ZH,
    }
}

const EN: Words = Words {
    preferred: " (I would take this one)",
    several: |min, max| match (min, max) {
        (Some(min), Some(max)) if min == max => format!("Choose {min}."),
        (Some(min), Some(max)) => format!("Choose {min} to {max}."),
        (Some(min), None) => format!("Choose at least {min}."),
        (None, Some(max)) => format!("Choose at most {max}."),
        (None, None) => "Several may be chosen.".to_owned(),
    },
    reply_open: "Reply in your own words. More: /help",
    reply_one: "Reply with a number or in your own words. More: /help",
    reply_several: "Reply with numbers, such as 1,3, or in your own words. More: /help",
    ends_at: |at| format!("It ends by itself at {at}."),
    shortened: "(Shortened for this chat. The panel and `askbus inbox` show all of it.)",
    which: "More than one question waits. Nothing was sent. Which one do you mean?",
    which_of: "Your reply could be for more than one question. Nothing was sent. Which one do you mean?",
    which_example: |tag| format!("Put its name first, such as: #{tag} 1"),
    is_for: |who| format!("For {who}"),
    is_for_others: |tag, who| format!("#{tag} is for {who}; nothing was sent."),
    group: |name| format!("group {name}"),
    managers: |room| format!("the managers of {room}"),
    no_such: |tag| format!("No question of this chat is called #{tag}. Nothing was sent."),
    nothing_waits: "No question waits here. Nothing was sent.",
    last_ended: |tag| {
        format!(
            "#{tag} was the last one. To say something to it all the same: #{tag} and your words"
        )
    },
    waits: "These questions wait:",
    over: " (over)",
    more: |count| format!("And {count} more: the panel and `askbus inbox` show all."),
    help: "Reply with the number or the letter of an option, with several where that is allowed \
           (1,3), or in your own words. An option and words: 1: your words\n\
           /text WORDS – your words as they are, also when they look like a number\n\
           /ask WORDS – ask for more information first\n\
           /skip – leave it to the agent, which writes its assumptions down\n\
           /dismiss – decline to answer\n\
           /hold – stop the countdown\n\
           /next – decline this one of several questions · /back – one question back\n\
           /list – what waits\n\
           When several wait, put the name first: #name 1",
    noted: |done, of| format!("Noted, {done} of {of}. Nothing is sent before the last one."),
    held: "The countdown is stopped.",
    unjudged: "It is kept and will be judged as soon as the service can.",
    not_sent: |why| format!("It was not sent: {why}"),
    refused: |why| format!("It was not taken: {why}"),
    taken: "Taken.",
    chose: "Chosen: ",
    said: "In your own words: ",
    left_out: "Left without an answer: ",
    by: |who| format!(" by {who}"),
    ended: |reason| match reason {
        Reason::Response => "It was answered",
        Reason::AskBack => "More information was asked for",
        Reason::Dismissed => "It was declined",
        Reason::Skipped => "It was left to the agent",
        Reason::Timeout => "Its time ran out; nobody answered and nobody agreed to anything",
        Reason::Cancelled => "It was withdrawn; nobody needs to answer any more",
        Reason::Unattended => "Nobody was there; recommendations stand in as assumptions",
        Reason::Deferred => "It goes to the person as the agent's last message",
        Reason::Off => "Asking is switched off",
    },
    kept: "Your reply came too late and settled nothing. It is kept with the question",
    goes_on: |goes_on| match goes_on {
        GoesOn::NextResult => " and reaches the agent with its next result.",
        GoesOn::NextTurn => " and reaches the agent when its next turn begins.",
        GoesOn::Nowhere => "; the agent that asked is gone for good.",
        GoesOn::QueueFull => "; too many late messages wait for the agent already.",
    },
    nothing_done: |tag| {
        format!("Nothing was sent. To say something to it all the same: #{tag} and your words")
    },
    still_waits: "The question still waits.",
    is_over: "The question is over.",
    unclear: |why, options, distinct, state| match why {
        Unclear::Blank => format!("There is no text in it. {state}"),
        Unclear::Outside { said } => format!(
            "There is no option {said}: there are 1 to {options}. {state} If these are your words: \
             /text {said}"
        ),
        Unclear::Ambiguous { said, .. } => {
            let each = distinct
                .iter()
                .map(|d| format!("{} for “{}”", d.reply, d.label));
            let each: Vec<String> = each.collect();
            format!(
                "“{said}” could mean more than one option. {state} Reply with {}.",
                each.join(", ")
            )
        }
        Unclear::OneOnly => format!("Only one option may be chosen. {state}"),
        Unclear::TooFew { min } => {
            format!("At least {min} options are to be chosen. {state} Own words may stand instead.")
        }
        Unclear::TooMany { max } => format!("At most {max} options may be chosen. {state}"),
        Unclear::TooLong => format!(
            "That is longer than {} characters. {state}",
            crate::MAX_ANSWER_CHARS
        ),
        Unclear::CommandWithWords => format!(
            "This command stands alone. {state} If these are your words: /text and the words"
        ),
        Unclear::CommandWithoutWords => {
            format!("What do you need to know? {state} Write: /ask and the words")
        }
        Unclear::NoOtherQuestion => {
            "There is no other question to go to. This one still waits.".to_owned()
        }
        Unclear::NotYet { number } => format!(
            "Question {number} was not put yet; nothing was noted. The one before it still waits."
        ),
    },
    list: |words| words.join(", "),
};

const ZH: Words = Words {
    preferred: "（我倾向于这一项）",
    several: |min, max| match (min, max) {
        (Some(min), Some(max)) if min == max => format!("请选 {min} 项。"),
        (Some(min), Some(max)) => format!("可多选，选 {min} 至 {max} 项。"),
        (Some(min), None) => format!("可多选，至少选 {min} 项。"),
        (None, Some(max)) => format!("可多选，最多选 {max} 项。"),
        (None, None) => "可多选。".to_owned(),
    },
    reply_open: "请直接用文字回复。更多：/帮助",
    reply_one: "请回复数字，或直接用文字回复。更多：/帮助",
    reply_several: "请回复数字（例如 1、3），或直接用文字回复。更多：/帮助",
    ends_at: |at| format!("到 {at} 自动结束。"),
    shortened: "（为适应本聊天已缩短。完整内容见面板或 `askbus inbox`。）",
    which: "有多个问题在等待，尚未发送任何内容。你指的是哪一个？",
    which_of: "你的回复可能针对多个问题，尚未发送任何内容。你指的是哪一个？",
    which_example: |tag| format!("请先写它的名称，例如：#{tag} 1"),
    no_such: |tag| format!("本聊天中没有名为 #{tag} 的问题，未发送任何内容。"),
    is_for: |who| format!("请 {who} 回答"),
    is_for_others: |tag, who| format!("#{tag} 要由 {who} 回答，未发送任何内容。"),
    group: |name| format!("{name} 组"),
    managers: |room| format!("{room} 的管理员"),
    nothing_waits: "这里没有等待回答的问题，未发送任何内容。",
    last_ended: |tag| format!("#{tag} 是最近的一个。如果仍想对它说点什么：#{tag} 加上你的话"),
    waits: "以下问题在等待：",
    over: "（已结束）",
    more: |count| format!("另有 {count} 个：面板和 `askbus inbox` 显示全部。"),
    help: "请回复选项的数字或字母；可多选时回复多个（1、3）；也可以直接用文字回复。选项加文字：1：你的话\n\
           /文字 内容 – 原样作为你的话，即使看起来像数字\n\
           /反问 内容 – 先要求更多信息\n\
           /跳过 – 交给智能体决定，它会写明自己的假设\n\
           /不回答 – 拒绝回答\n\
           /稍等 – 停止倒计时\n\
           /下一题 – 多个问题中不答这一题 · /上一题 – 返回上一题\n\
           /列表 – 查看等待中的问题\n\
           有多个问题等待时，请先写名称：#名称 1",
    noted: |done, of| format!("已记下，{done}/{of}。答完最后一题才会发送。"),
    held: "倒计时已停止。",
    unjudged: "已保存，服务恢复后会立即处理。",
    not_sent: |why| format!("未能发送：{why}"),
    refused: |why| format!("未被采纳：{why}"),
    taken: "已收到。",
    chose: "已选：",
    said: "你的原话：",
    left_out: "未回答：",
    by: |who| format!("（{who}）"),
    ended: |reason| match reason {
        Reason::Response => "问题已有回答",
        Reason::AskBack => "已要求提供更多信息",
        Reason::Dismissed => "问题已被拒绝回答",
        Reason::Skipped => "问题已交给智能体决定",
        Reason::Timeout => "问题已超时；无人回答，也无人同意任何事",
        Reason::Cancelled => "问题已撤回，无需再回答",
        Reason::Unattended => "当时无人在场；推荐项暂作假设",
        Reason::Deferred => "问题将作为智能体的最后一条消息发给用户",
        Reason::Off => "提问已关闭",
    },
    kept: "你的回复来晚了，没有起到决定作用，但已随问题保存",
    goes_on: |goes_on| match goes_on {
        GoesOn::NextResult => "，并会随智能体的下一个结果送达。",
        GoesOn::NextTurn => "，并会在智能体的下一轮开始时送达。",
        GoesOn::Nowhere => "；提问的智能体已不在。",
        GoesOn::QueueFull => "；已有太多迟到的留言在等待智能体。",
    },
    nothing_done: |tag| format!("未发送任何内容。如果仍想对它说点什么：#{tag} 加上你的话"),
    still_waits: "问题仍在等待。",
    is_over: "问题已结束。",
    unclear: |why, options, distinct, state| match why {
        Unclear::Blank => format!("消息里没有文字。{state}"),
        Unclear::Outside { said } => {
            format!("没有选项 {said}：只有 1 到 {options}。{state}如果这就是你的话：/文字 {said}")
        }
        Unclear::Ambiguous { said, .. } => {
            let each = distinct
                .iter()
                .map(|d| format!("{} 选“{}”", d.reply, d.label));
            let each: Vec<String> = each.collect();
            format!(
                "“{said}”可能指多个选项。{state}请回复 {}。",
                each.join("，")
            )
        }
        Unclear::OneOnly => format!("只能选一项。{state}"),
        Unclear::TooFew { min } => format!("至少要选 {min} 项。{state}也可以直接用文字回复。"),
        Unclear::TooMany { max } => format!("最多只能选 {max} 项。{state}"),
        Unclear::TooLong => format!("超过了 {} 个字符。{state}", crate::MAX_ANSWER_CHARS),
        Unclear::CommandWithWords => {
            format!("这个命令要单独使用。{state}如果这就是你的话：/文字 加上内容")
        }
        Unclear::CommandWithoutWords => format!("你需要了解什么？{state}请写：/反问 加上内容"),
        Unclear::NoOtherQuestion => "没有别的问题可以前往。这个问题仍在等待。".to_owned(),
        Unclear::NotYet { number } => {
            format!("第 {number} 题还没有提出，未记下任何内容。前面的这一题仍在等待。")
        }
    },
    list: |words| words.join("、"),
};
