//! How many files and connections a service may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as this process may. Every panel, agent and script is a connection, and
/// shells commonly start programs with a limit of 1 024.
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, ?current, "the limit of open files was not raised");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_raised_to_the_highest_allowed() {
        let allowed = getrlimit(Resource::Nofile).maximum;
        let low = Rlimit {
            current: Some(allowed.map_or(512, |most| most / 2)),
            maximum: allowed,
        };
        setrlimit(Resource::Nofile, low).unwrap();
        raise_limit();
        assert_eq!(getrlimit(Resource::Nofile).current, allowed);
    }
}
