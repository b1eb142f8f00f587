//! Everybody who can answer, where that is known: a question for somebody else would wait for nobody.

use crate::{Addressee, InvalidQuestion, PersonId, Rights};
use std::collections::BTreeSet;

/// Names that are told to who named somebody unknown, at most.
const MAX_TOLD: usize = 10;

/// The people who can answer, each with what one of their credentials allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// Who.
    pub people: Vec<(PersonId, Rights)>,
    /// Whether the groups of some of them are not known.
    pub more_groups: bool,
}

impl Roster {
    /// # Errors
    /// The question is for somebody who is not here.
    pub fn check(&self, to: &Addressee) -> Result<(), InvalidQuestion> {
        let known = self
            .people
            .iter()
            .any(|(name, rights)| to.allows(rights, name))
            || self.more_groups && matches!(to, Addressee::Group(_));
        if known {
            return Ok(());
        }
        let people: BTreeSet<&str> = self.people.iter().map(|(name, _)| name.as_str()).collect();
        let groups = self.people.iter().flat_map(|(_, rights)| &rights.groups);
        let groups: BTreeSet<String> = groups.map(|group| format!("group:{group}")).collect();
        if people.len() <= 1 && groups.is_empty() {
            let problem = "names nobody: there is only one person here; leave it out";
            return Err(InvalidQuestion::new("to", problem));
        }
        let names = people.iter().map(ToString::to_string).chain(groups);
        let names: Vec<String> = names.take(MAX_TOLD).collect();
        Err(InvalidQuestion::new(
            "to",
            format!(
                "names nobody who can answer here; take one of {}, or leave it out",
                names.join(", ")
            ),
        ))
    }
}
