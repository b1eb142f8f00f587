//! `askbus inbox --watch` on the whole screen, in a real terminal.

use crate::support::{BINARY, ask, choose, id, one_question};
use anyhow::Result;
use askbus_testkit::{Askbus, AskbusUp, Balancer, McpStdio, Signal, Tmux};
use serde_json::json;

/// The view, open and connected.
async fn watch(program: &Askbus) -> Result<Tmux> {
    let tmux = Tmux::open(program, 80, 24).await?;
    tmux.command("$askbus inbox --watch").await?;
    tmux.shows("me · local · live").await?;
    assert!(tmux.is_full_screen().await?);
    Ok(tmux)
}

/// Out of the field and to the button that sends. Esc and a letter that come as one would be Alt and that
/// letter, as in every terminal.
async fn to_send(tmux: &Tmux) -> Result<()> {
    tmux.keys(&["Escape"]).await?;
    tmux.shows("s send").await?;
    tmux.types("s").await?;
    tmux.shows("> Send answer <").await.map(drop)
}

/// Whether any of it has a colour other than the terminal's own.
fn has_colour(screen: &str) -> bool {
    let mut colours = (30..=37).chain(40..=47).chain(90..=97).chain(100..=107);
    colours.any(|code: u32| screen.contains(&format!("\u{1b}[{code}m")))
        || screen.contains("[38;")
        || screen.contains("[48;")
}

// contract: E9 E12
#[tokio::test]
async fn a_person_chooses_and_writes_and_the_agent_has_the_answer() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let tmux = watch(up.askbus()).await?;
    tmux.shows("Nothing waits for you.").await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    agent
        .call(
            1,
            "ask_user",
            one_question("部署到哪里？", &["staging", "生产环境"]),
        )
        .await?;
    tmux.shows("> 部署到哪里？").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("( ) 1. staging").await?;
    tmux.keys(&["2"]).await?;
    tmux.shows("(*) 2. 生产环境").await?;
    tmux.types("t").await?;
    tmux.types("但是要先备份 first").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.types("second line").await?;
    tmux.shows("│ second line").await?;
    // Nothing went out by choosing or by Enter in a field.
    let person = up.person().await?;
    assert_eq!(person.pending().await?.len(), 1);
    to_send(&tmux).await?;
    tmux.keys(&["Enter"]).await?;
    let reply = agent.reply(1).await?;
    let answer = &reply["result"]["structuredContent"]["answers"][0];
    assert_eq!(answer["options"][0]["label"], "生产环境", "{reply:#}");
    assert_eq!(
        answer["text"], "但是要先备份 first\nsecond line",
        "{reply:#}"
    );
    tmux.shows("Answered by you (terminal)").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("Nothing waits for you.").await?;
    tmux.types("q").await?;
    tmux.until("the shell again", |screen| {
        !screen.contains("Nothing waits")
    })
    .await?;
    assert!(!tmux.is_full_screen().await?);
    Ok(())
}

// contract: E9
#[tokio::test]
async fn answered_elsewhere_closes_it_here_and_says_by_whom() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let tmux = watch(up.askbus()).await?;
    let (mut script, clarify) = ask(up.askbus(), &person, "Where?", &["--choice", "here"]).await?;
    tmux.shows("> Where?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.types("t").await?;
    tmux.types("mine").await?;
    tmux.shows("│ mine").await?;
    person.answer(&clarify, &choose("o1")).await?;
    let screen = tmux.shows("Answered by you (web)").await?;
    assert!(screen.contains("What you wrote is kept below."), "{screen}");
    assert!(screen.contains("→ mine"), "{screen}");
    assert_eq!(script.end().await?.code, 0);
    // Who leaves without closing it takes their words along.
    tmux.keys(&["C-c"]).await?;
    let shell = tmux
        .shows("Not sent, and not saved by the service:")
        .await?;
    assert!(shell.contains("→ mine"), "{shell}");
    Ok(())
}

// contract: E12
#[tokio::test]
async fn the_connection_is_cut_and_comes_back_and_what_was_typed_is_there() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let way = Balancer::start(&[up.url()]).await?;
    let tmux = watch(&up.askbus().clone().env("ASKBUS_URL", way.url())).await?;
    let (mut script, _) = ask(up.askbus(), &person, "Notes?", &[]).await?;
    tmux.shows("> Notes?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.types("before").await?;
    tmux.shows("│ before").await?;
    // Nobody takes a connection any more, and the one that was is gone.
    way.cut(true);
    tmux.shows("Connection lost.").await?;
    tmux.types(" and during").await?;
    tmux.shows("│ before and during").await?;
    to_send(&tmux).await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("It is sent as soon as the connection is back.")
        .await?;
    way.cut(false);
    tmux.shows("Answered by you (terminal)").await?;
    let done = script.end().await?;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(done.stdout.trim(), "before and during");
    Ok(())
}

#[tokio::test]
async fn a_draft_is_there_again_and_what_was_never_saved_is_left_on_the_terminal() -> Result<()> {
    let mut up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (_script, _) = ask(up.askbus(), &person, "Notes?", &[]).await?;
    let tmux = watch(up.askbus()).await?;
    tmux.shows("> Notes?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.types("half an answer").await?;
    tmux.shows("│ half an answer").await?;
    tmux.keys(&["C-c"]).await?;
    tmux.until("the shell again", |screen| !screen.contains("Notes?"))
        .await?;
    assert_eq!(person.pending().await?.len(), 1, "leaving answers nothing");
    tmux.command("$askbus inbox --watch").await?;
    tmux.shows("draft").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("│ half an answer").await?;
    up.kill9().await?;
    tmux.shows("Connection lost.").await?;
    tmux.types(" and more").await?;
    tmux.shows("half an answer and more").await?;
    tmux.keys(&["C-c"]).await?;
    let screen = tmux
        .shows("Not sent, and not saved by the service:")
        .await?;
    assert!(screen.contains("→ half an answer and more"), "{screen}");
    assert!(!tmux.is_full_screen().await?);
    Ok(())
}

#[tokio::test]
async fn the_terminal_is_given_back_however_the_view_ends_or_pauses() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (_script, _) = ask(up.askbus(), &person, "Where?", &["--choice", "here"]).await?;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let tmux = watch(up.askbus()).await?;
        tmux.shows("> Where?").await?;
        tmux.signal(signal).await?;
        let screen = tmux
            .until("the shell", |screen| screen.matches("ready>").count() == 2)
            .await?;
        assert!(!tmux.is_full_screen().await?, "{screen}");
        // Keys are lines again, and are shown.
        tmux.command("echo still $((20 + 22))").await?;
        tmux.shows("still 42").await?;
    }
    let tmux = watch(up.askbus()).await?;
    tmux.shows("> Where?").await?;
    for (times, stop) in [(1, "key"), (2, "signal")] {
        match stop {
            "key" => tmux.keys(&["C-z"]).await?,
            _ => tmux.signal(Signal::TSTP).await?,
        }
        // The shell has seen it stop: what is typed is the shell's.
        tmux.until("a stopped job", |screen| {
            screen.matches("Stopped").count() == times
        })
        .await?;
        assert!(!tmux.is_full_screen().await?);
        tmux.command("fg").await?;
        tmux.shows("> Where?").await?;
        assert!(tmux.is_full_screen().await?);
    }
    tmux.resize(120, 40).await?;
    tmux.until("list and card side by side", |screen| {
        screen.contains("> Where?") && screen.contains("( ) 1. here")
    })
    .await?;
    assert_eq!(person.pending().await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn the_persons_editor_writes_and_a_failing_one_loses_nothing() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (mut script, _) = ask(up.askbus(), &person, "Notes?", &[]).await?;
    let home = up.askbus().home();
    let (good, bad) = (home.join("good"), home.join("bad"));
    std::fs::write(&good, "#!/bin/sh\nprintf ' and 编辑器\\n' >> \"$2\"\n")?;
    std::fs::write(&bad, "#!/bin/sh\nprintf 'rescued' > \"$2\"\nexit 3\n")?;
    let editor = |script: &std::path::Path| format!("/bin/sh {} --wait", script.display());
    let program = up
        .askbus()
        .clone()
        .env("VISUAL", editor(&bad))
        .env("EDITOR", editor(&good));
    let tmux = watch(&program).await?;
    tmux.shows("> Notes?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.types("typed").await?;
    tmux.keys(&["C-g"]).await?;
    let screen = tmux.shows("The editor failed (exit status: 3)").await?;
    assert!(screen.contains("│ typed"), "{screen}");
    assert!(screen.contains("kept in"), "{screen}");
    tmux.keys(&["C-c"]).await?;
    tmux.until("the shell", |screen| !screen.contains("typed"))
        .await?;
    tmux.command("VISUAL= $askbus inbox --watch").await?;
    tmux.shows("> Notes?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("│ typed").await?;
    tmux.keys(&["C-g"]).await?;
    tmux.shows("│ typed and 编辑器").await?;
    to_send(&tmux).await?;
    tmux.keys(&["Enter"]).await?;
    assert_eq!(script.end().await?.stdout.trim(), "typed and 编辑器");
    Ok(())
}

#[tokio::test]
async fn the_view_speaks_the_persons_language_and_needs_no_colour() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let hostile = "Deploy?\u{1b}[2J\u{1b}[31m\u{202e}";
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let question =
        json!({"questions": [{"question": hostile, "options": ["yes"], "recommended": 0}]});
    agent.call(1, "ask_user", question).await?;
    let shown = person
        .question(|m| {
            m["question"]
                .as_str()
                .is_some_and(|q| q.starts_with("Deploy?"))
        })
        .await?;
    let tmux = Tmux::open(
        &up.askbus()
            .clone()
            .env("LANG", "zh_CN.UTF-8")
            .env("NO_COLOR", "1"),
        80,
        24,
    )
    .await?;
    tmux.command("$askbus inbox --watch").await?;
    tmux.shows("1 个待回答").await?;
    tmux.shows("> Deploy?").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("( ) 1. yes  （推荐）").await?;
    assert!(!has_colour(&tmux.colored_screen().await?));
    tmux.types("r").await?;
    tmux.shows("> 按推荐发送 <").await?;
    tmux.keys(&["Enter"]).await?;
    let settled = person.until_settled(id(&shown)).await?;
    assert_eq!(
        settled["answers"][0]["options"][0]["label"], "yes",
        "{settled:#}"
    );
    assert_eq!(settled["actor"]["surface"], "terminal");
    Ok(())
}

// contract: D4
#[tokio::test]
async fn a_small_window_without_colour_is_enough_to_answer() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let mut agent = McpStdio::connect(up.askbus(), &["mcp"]).await?;
    let questions = json!({"questions": [
        {"question": "Which of the two databases should the orders service use from now on?",
            "options": [{"label": "PostgreSQL", "description": "One more service to run."}, "SQLite"]},
        {"question": "备份放在哪里？"},
    ]});
    agent.call(1, "ask_user", questions).await?;
    let plain = up.askbus().clone().env("NO_COLOR", "1");
    let tmux = Tmux::open(&plain, 40, 10).await?;
    tmux.command("$askbus inbox --watch").await?;
    tmux.shows("> (+1) Which of the two databases").await?;
    tmux.keys(&["Enter"]).await?;
    tmux.shows("( ) 1. PostgreSQL").await?;
    tmux.types("2").await?;
    tmux.shows("(*) 2. SQLite").await?;
    // To the next question, which was not in sight, and into its field.
    tmux.keys(&["Tab"]).await?;
    tmux.shows("> Your answer").await?;
    tmux.types("放在异地机房里，每天晚上备份一次，保留三十天")
        .await?;
    let screen = tmux.shows("保留三十天").await?;
    // What is too long for a row goes on below, and no row sticks out.
    assert!(screen.contains("│ 放在异地机房里"), "{screen}");
    assert!(screen.lines().count() <= 10, "{screen}");
    assert!(!has_colour(&tmux.colored_screen().await?));
    tmux.keys(&["Escape"]).await?;
    // There is no room for every key; how to see them all is there.
    tmux.shows("? keys").await?;
    tmux.types("s").await?;
    tmux.shows("> Send answer <").await?;
    tmux.keys(&["Enter"]).await?;
    let reply = agent.reply(1).await?;
    let answers = &reply["result"]["structuredContent"]["answers"];
    assert_eq!(answers[0]["options"][0]["label"], "SQLite", "{reply}");
    assert_eq!(
        answers[1]["text"], "放在异地机房里，每天晚上备份一次，保留三十天",
        "{reply}"
    );
    tmux.shows("Answered by you (terminal)").await?;
    assert!(person.pending().await?.is_empty());
    Ok(())
}

// contract: E9
#[tokio::test]
async fn where_no_terminal_is_the_lines_tell_of_late_answers_too() -> Result<()> {
    let up = AskbusUp::start(BINARY).await?;
    let person = up.person().await?;
    let (_script, clarify) = ask(
        up.askbus(),
        &person,
        "Where?",
        &["--choice", "here", "--choice", "there"],
    )
    .await?;
    let text = up.askbus().spawn(&["inbox", "--watch"])?;
    let json = up.askbus().spawn(&["inbox", "--watch", "--json"])?;
    text.stdout
        .clone()
        .find(|line| line.contains("Where?"))
        .await?;
    json.stdout
        .clone()
        .find(|line| line.contains("Where?"))
        .await?;
    person.answer(&clarify, &choose("o1")).await?;
    text.stdout
        .clone()
        .find(|line| line.contains("→ response by me"))
        .await?;
    let late = person.answer(&clarify, &choose("o2")).await?;
    assert_eq!(late.status, 409, "{late:?}");
    text.stdout
        .clone()
        .find(|line| line.contains("too late, by me"))
        .await?;
    let line = json
        .stdout
        .clone()
        .find(|line| line.contains("\"late_answers\":[{"))
        .await?;
    let told: serde_json::Value = serde_json::from_str(&line)?;
    assert_eq!(
        told["late_answers"][0]["answers"][0]["options"][0]["label"],
        "there"
    );
    Ok(())
}
