//! What `askbus answer` says about each question: options, own words or a refusal, in the order in
//! which they stand on the command line.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};

/// What is said of one question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Which question; none is the first.
    pub question: Option<String>,
    /// Options, by number or label.
    pub choose: Vec<String>,
    /// Own words.
    pub texts: Vec<String>,
    /// Notes beside the answer.
    pub notes: Vec<String>,
    /// Whether it is declined.
    pub dismiss: bool,
}

impl Group {
    /// Whether anything is chosen or written.
    pub(crate) fn answers(&self) -> bool {
        !self.choose.is_empty() || !self.texts.is_empty() || !self.notes.is_empty()
    }
}

/// Everything that is said, question by question.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// In order. Without any `--question` there is one group for the first.
    pub groups: Vec<Group>,
    /// What stands before the first of several `--question`.
    pub astray: bool,
}

enum Piece {
    Question(String),
    Choose(String),
    Text(String),
    Note(String),
    Dismiss,
}

impl Said {
    fn of(pieces: Vec<Piece>) -> Self {
        let questions = |p: &&Piece| matches!(p, Piece::Question(_));
        let named = pieces.iter().filter(questions).count();
        let mut said = Self::default();
        let mut current = Group::default();
        // One question may be named before or after what is said of it.
        let mut begun = named < 2;
        for piece in pieces {
            match piece {
                Piece::Question(question) if named < 2 => current.question = Some(question),
                Piece::Question(question) => {
                    if begun {
                        said.groups.push(std::mem::take(&mut current));
                    }
                    begun = true;
                    current.question = Some(question);
                }
                _ if !begun => said.astray = true,
                Piece::Choose(choice) => current.choose.push(choice),
                Piece::Text(text) => current.texts.push(text),
                Piece::Note(note) => current.notes.push(note),
                Piece::Dismiss => current.dismiss = true,
            }
        }
        said.groups.push(current);
        said
    }

    /// Whether the whole clarification is declined.
    pub(crate) fn declines_all(&self) -> bool {
        let all = |g: &Group| g.question.is_none() && g.dismiss;
        self.groups.iter().any(all)
    }
}

/// What makes a piece of its text.
type Make = fn(String) -> Piece;

impl FromArgMatches for Said {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut pieces: Vec<(usize, Piece)> = Vec::new();
        let texts: [(&str, Make); 4] = [
            ("question", Piece::Question),
            ("choose", Piece::Choose),
            ("text", Piece::Text),
            ("note", Piece::Note),
        ];
        for (id, make) in texts {
            let values = matches.get_many::<String>(id).into_iter().flatten();
            let places = matches.indices_of(id).into_iter().flatten();
            pieces.extend(places.zip(values).map(|(at, v)| (at, make(v.clone()))));
        }
        let declined = matches.indices_of("dismiss").into_iter().flatten();
        pieces.extend(declined.map(|at| (at, Piece::Dismiss)));
        pieces.sort_by_key(|(at, _)| *at);
        let pieces = pieces.into_iter().map(|(_, piece)| piece);
        Ok(Self::of(pieces.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Said {
    fn augment_args(command: Command) -> Command {
        let text = |id: &'static str, name: &'static str, help: &'static str| {
            Arg::new(id)
                .long(id)
                .value_name(name)
                .action(ArgAction::Append)
                .help(help)
        };
        command
            .arg(text(
                "question",
                "Q",
                "Which question, by number counted from 1 or by id; what follows is about it, and it \
                 may be given again for another [default: the first]",
            ))
            .arg(text(
                "choose",
                "N|LABEL",
                "An option: its exact label, or its number counted from 1; may be given several times",
            ))
            .arg(text("text", "T", "An answer in your own words"))
            .arg(text("note", "T", "A note to your answer"))
            .arg(
                // A flag forgets where it stood; an option without a value does not.
                Arg::new("dismiss")
                    .long("dismiss")
                    .action(ArgAction::Append)
                    .num_args(0)
                    .value_parser(value_parser!(bool))
                    .default_missing_value("true")
                    .group("instead")
                    .help("Decline to answer; after --question, that question alone"),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(args: &[&str]) -> Said {
        let command = Said::augment_args(Command::new("answer").no_binary_name(true));
        Said::from_arg_matches(&command.try_get_matches_from(args).unwrap()).unwrap()
    }

    fn group(question: Option<&str>, choose: &[&str], texts: &[&str], dismiss: bool) -> Group {
        let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
        Group {
            question: question.map(str::to_owned),
            choose: owned(choose),
            texts: owned(texts),
            notes: Vec::new(),
            dismiss,
        }
    }

    #[test]
    fn what_follows_a_question_is_about_it() {
        assert_eq!(said(&[]).groups, [Group::default()]);
        let one = [group(Some("2"), &["a", "b"], &[], false)];
        assert_eq!(
            said(&["--question", "2", "--choose", "a", "--choose", "b"]).groups,
            one
        );
        assert_eq!(
            said(&["--choose", "a", "--question", "2", "--choose", "b"]).groups,
            one
        );
        let all = said(&["--dismiss", "--choose", "a"]);
        assert_eq!(all.groups, [group(None, &["a"], &[], true)]);
        assert!(all.declines_all());
        let noted = said(&["--choose", "a", "--note", "not before noon"]);
        let mut with_note = group(None, &["a"], &[], false);
        with_note.notes = vec!["not before noon".to_owned()];
        assert_eq!(noted.groups, [with_note]);
        let several = said(&[
            "--question",
            "q3",
            "--dismiss",
            "--question",
            "1",
            "--text",
            "x",
            "--choose",
            "a",
            "--question",
            "2",
            "--dismiss",
        ]);
        let expected = [
            group(Some("q3"), &[], &[], true),
            group(Some("1"), &["a"], &["x"], false),
            group(Some("2"), &[], &[], true),
        ];
        assert_eq!(several.groups, expected);
        assert!(!several.declines_all() && !several.astray);
        let astray = said(&[
            "--choose",
            "a",
            "--question",
            "1",
            "--question",
            "2",
            "--text",
            "b",
        ]);
        assert!(astray.astray);
    }
}
