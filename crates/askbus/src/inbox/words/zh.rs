//! Chinese.

use super::Words;
use crate::inbox::wrap::columns;
use askbus_domain::{GoesOn, Reason};
use unicode_segmentation::UnicodeSegmentation as _;

/// A name with a space after it where it does not end in Chinese itself.
fn beside(who: &str) -> String {
    let wide = who
        .graphemes(true)
        .next_back()
        .is_some_and(|last| columns(last) > 1);
    if wide {
        who.to_owned()
    } else {
        format!("{who} ")
    }
}

pub(super) static ZH: Words = Words {
    waiting: |n| format!("{n} 个待回答"),
    connecting: "连接中",
    online: "已连接",
    offline: "已断开",
    offline_banner: "连接已断开。你写的内容会保留，恢复连接后自动发送回答。",
    offline_here: "如果服务已停止，请启动它：askbus up",
    back_online: "已重新连接。",
    nothing_waits: "暂时没有问题。",
    nothing_waits_more: "智能体需要你决定时，问题会出现在这里。",
    an_agent: "智能体",
    session: "会话",
    sub_agent: |name| {
        if name.is_empty() {
            "此会话的子智能体".to_owned()
        } else {
            format!("此会话的子智能体 {name}")
        }
    },
    for_person: |name| format!("此问题发给 {name}。"),
    for_group: |name| format!("此问题发给 {name} 组。"),
    not_yours: "只有对方可以回答。",
    not_yours_short: "非你回答",
    asked: |ago| match ago {
        Some(ago) => format!("{ago}前提出"),
        None => "刚刚提出".to_owned(),
    },
    left: |time| format!("剩余 {time}"),
    expired: "时间已到",
    open_for: |time| format!("还可等待 {time}"),
    held: |who, time| format!("{}已停止计时 · 还可等待 {time}", beside(who)),
    held_short: "已停表",
    disconnected: "智能体已断开",
    progress: |done, total| format!("已回答 {done} / {total}"),
    recommended: "（推荐）",
    own_words: "你的回答",
    own_words_also: "或者用自己的话回答",
    note: "备注",
    noted: |note| format!("备注：{note}"),
    assumed: |label| format!("智能体的假设（并非有人选择）：{label}"),
    field: |name| format!("{name}："),
    decline: "不回答此题",
    declined: "已拒绝回答",
    ask_back_label: "你需要先了解什么？",
    stays_open: "留空的问题将视为未回答。",
    too_long: "内容超过 20000 个字符，未发送。",
    out_of_bounds: "所选项数不符合要求，未发送。",
    nothing_filled_in: "请先选择或填写，未发送。",
    nothing_asked: "请先写下需要了解的内容，未发送。",
    nothing_recommended: "此处没有推荐选项。",
    not_now: "当前没有连接，请在恢复后重试。",
    paste_nowhere: "请先进入输入框（t），未粘贴。",
    writing: |who| format!("{}正在输入……", beside(who)),
    other_draft: "你在别处写了不同的内容。",
    draft_short: "草稿",
    submit: "发送回答",
    submit_recommended: "按推荐发送",
    submit_all_recommended: "全部按推荐发送",
    ask_back: "需要更多信息",
    ask_back_send: "向智能体追问",
    skip: "跳过",
    dismiss: "不予回答",
    dismiss_all: "全部不予回答",
    hold: "停止计时",
    take_back: "撤回",
    pass_on: "转交给智能体",
    use_other: "改用那份内容",
    close: "关闭",
    sending: "正在发送……",
    queued: "已保存，恢复连接后立即发送。",
    sent: "已送达，等待确认。",
    refused: |error| format!("未被接受：{error}"),
    late: "你的回答来晚了。",
    late_unknown: "这个问题此前已有结果。",
    late_other: |who| format!("{}的回答也来晚了。", beside(who)),
    kept: "你写的内容保留在下方。",
    gone: "这个问题已关闭。",
    your_answer: "你的回答：",
    goes_on: |goes_on| match goes_on {
        Some(GoesOn::NextResult) => "它会随智能体的下一个结果送达。",
        Some(GoesOn::NextTurn) => "它会在智能体下一轮开始时送达。",
        Some(GoesOn::Nowhere) => "它不会再送达：提问的智能体已不在。",
        Some(GoesOn::QueueFull) => "它暂时不会送达：等待智能体的迟到消息太多。",
        None => "除非你转交，否则智能体不会得知。",
    },
    passing: "正在转交……",
    not_passed_on: |error| format!("未能转交：{error}"),
    you: "你",
    someone: "他人",
    surface: |word| match word {
        "web" => "（网页）".to_owned(),
        "terminal" => "（终端）".to_owned(),
        "http" => "（HTTP）".to_owned(),
        other => format!("（{other}）"),
    },
    ended: |reason, who| match reason {
        Some(Reason::Response) => format!("{}已回答", beside(who)),
        Some(Reason::AskBack) => format!("{}要求补充信息", beside(who)),
        Some(Reason::Dismissed) => format!("{}选择不予回答", beside(who)),
        Some(Reason::Skipped) => format!("{}已跳过", beside(who)),
        Some(Reason::Timeout) => "超时，无人回答".to_owned(),
        Some(Reason::Cancelled) => "已撤回，智能体不再等待".to_owned(),
        Some(Reason::Unattended) => "无人在场，智能体按推荐选项继续".to_owned(),
        Some(Reason::Deferred) => "已作为智能体的回复转交".to_owned(),
        Some(Reason::Off) => "提问功能已关闭".to_owned(),
        None => "已结束".to_owned(),
    },
    editor_failed: |error| format!("编辑器失败（{error}），你的内容保持不变。"),
    editor_kept: |error, path| format!("编辑器失败（{error}），其内容保存在 {path}"),
    too_small: "请放大此窗口。",
    days: |days, hours| format!("{days} 天 {hours} 小时"),
    about: |minutes| match minutes {
        0..60 => format!("{minutes} 分钟"),
        60..1_440 => format!("{} 小时", minutes / 60),
        _ => format!("{} 天", minutes / 1_440),
    },
    tag_late: "来晚",
    tag_over: "已结束",
    tag_sending: "发送中",
    tag_sent: "已送达",
    choose: |min, max| match (min, max) {
        (None, None) => "可多选".to_owned(),
        (Some(min), None) => format!("至少选择 {min} 项"),
        (None, Some(max)) => format!("最多选择 {max} 项"),
        (Some(min), Some(max)) if min == max => format!("选择 {min} 项"),
        (Some(min), Some(max)) => format!("选择 {min} 到 {max} 项"),
    },
    keys_list: &["↑↓ 选择", "Enter 打开", "q 离开", "? 按键"],
    keys_card: &[
        "↑↓ 移动",
        "空格 选择",
        "t 填写",
        "s 发送",
        "Esc 列表",
        "? 按键",
    ],
    keys_field: &[
        "Enter 换行",
        "Tab 下一处",
        "Ctrl-G 编辑器",
        "Esc 离开输入框",
    ],
    keys_button: &["Enter 执行", "←→ 其他按钮", "Esc 列表", "? 按键"],
    keys_over: &["Enter 执行", "Esc 列表", "? 按键"],
    keys_help: &["↑↓ 滚动", "其他任意键返回"],
    keys_help_whole: &["按任意键返回"],
    help_title: "按键",
    help: &[
        ("↑ ↓", "逐处移动；Tab 到下一题，然后到按钮"),
        ("1 … 9、空格", "选择选项；不会发送"),
        ("t  n", "自己的话、备注"),
        ("e、Ctrl-G", "在你的编辑器中填写（$VISUAL 或 $EDITOR）"),
        ("c", "清除选择"),
        ("d", "多题时，不回答此题"),
        ("s", "到“发送回答”；Enter 发送"),
        ("r", "到“按推荐发送”"),
        ("b", "追问：写下需要先了解的内容"),
        ("k  D", "到“跳过”、到“不予回答”"),
        ("h", "停止计时；在问题中按任意键也会停止"),
        ("p", "回答来晚时，到“转交给智能体”"),
        ("u", "到你在别处写的内容"),
        ("x", "关闭已结束的问题"),
        ("PgUp PgDn", "滚动"),
        ("Esc、q", "回到列表；在列表中则离开"),
        ("Ctrl-Z Ctrl-L", "挂起、重绘"),
        ("Ctrl-C", "立即离开，不作任何回答"),
    ],
    not_sent: "未发送，服务也未保存：",
};
