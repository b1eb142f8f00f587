//! Every command that a text names to a person or an agent is one that there is.

use super::Cli;
use clap::{Command, CommandFactory as _};
use std::path::Path;

// In pieces, so that this page names nothing.
const BEGIN: &str = concat!("`", "askbus ");

/// What stands in backquotes and begins with this program's name, on one line.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split(BEGIN).skip(1).filter_map(|rest| {
        let (command, _) = rest.split_once('`')?;
        // A text in Rust goes on after a backslash, a comment after its slashes.
        let words = command.split_whitespace();
        let words = words.filter(|word| *word != "\\" && !word.starts_with("//"));
        Some(words.collect::<Vec<_>>().join(" "))
    });
    quoted.collect()
}

/// Why this cannot be typed.
fn problem(root: &Command, named: &str) -> Option<String> {
    let mut command = root;
    for word in named.split(' ') {
        let stands_for_another = !word.starts_with(|c: char| c.is_ascii_lowercase() || c == '-');
        if stands_for_another {
            if command.has_subcommands() {
                return None;
            }
            continue;
        }
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split('=').next().unwrap_or_default();
            let known = command.get_arguments().any(|a| a.get_long() == Some(flag));
            if !known && !["help", "version"].contains(&flag) {
                return Some(format!("{} has no --{flag}", command.get_name()));
            }
        } else if command.has_subcommands() {
            match command.find_subcommand(word) {
                Some(below) => command = below,
                None => return Some(format!("{} has no {word}", command.get_name())),
            }
        }
    }
    None
}

fn texts(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_text = path
            .extension()
            .is_some_and(|e| e == "rs" || e == "js" || e == "md");
        if path.is_dir() {
            texts(&path, found);
        } else if is_text {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path.display().to_string(), text));
        }
    }
}

// contract: P6
#[test]
fn every_command_that_a_text_names_is_there() {
    let mut root = Cli::command();
    root.build();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    texts(&workspace.join("docs"), &mut all);
    for entry in std::fs::read_dir(workspace.join("crates")).unwrap() {
        for part in ["src", "panel"] {
            let folder = entry.as_ref().unwrap().path().join(part);
            if folder.is_dir() {
                texts(&folder, &mut all);
            }
        }
    }
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(workspace.join(page)).unwrap();
        all.push((page.to_owned(), text));
    }
    let mut seen = 0;
    for (place, text) in &all {
        for command in named(text) {
            seen += 1;
            let problem = problem(&root, &command);
            assert_eq!(problem, None, "{place}: askbus {command}");
        }
    }
    assert!(seen > 50, "only {seen} are seen");
}

#[test]
fn a_command_that_is_not_there_is_noticed() {
    let mut root = Cli::command();
    root.build();
    let broken = format!("{BEGIN}credential \\\n    issue` and {BEGIN}/// doctor`");
    assert_eq!(named(&broken), ["credential issue", "doctor"]);
    for (command, is_there) in [
        ("credential issue --role operator", true),
        ("answer ID --choose N", true),
        ("NAME ARGS --listen ADDR", true),
        ("up --home DIR", true),
        ("doctor", false),
        ("credential show", false),
        ("answer ID --chose N", false),
    ] {
        assert_eq!(problem(&root, command).is_none(), is_there, "{command}");
    }
}
