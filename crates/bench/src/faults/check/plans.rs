//! What the host of a plan was told is stored is in the log, once, and everybody sees the last of it.

use super::{Findings, Kind};
use crate::faults::log::Log;
use crate::faults::planner::SESSION;
use crate::faults::seen::{Seen, Shown};

pub(super) fn check(found: &mut Findings, log: &Log, seen: &Seen) {
    let stored = log.plans.get(SESSION).map_or(&[][..], Vec::as_slice);
    for shown in &seen.planner.shown {
        let name = &shown.update_id;
        let same: Vec<&Shown> = stored.iter().filter(|s| s.update_id == *name).collect();
        match same.as_slice() {
            [] => found.add(
                Kind::Lost,
                format!("{shown:?} was confirmed and is in no log"),
            ),
            [one] if *one == shown => {}
            [one] => found.add(
                Kind::Double,
                format!("its host was told {shown:?}, the log says {one:?}"),
            ),
            many => found.add(
                Kind::Double,
                format!("{name} made more than one revision: {many:?}"),
            ),
        }
    }
    if let Some(refused) = &seen.planner.refused {
        let what = format!("the host of a plan cannot go on with it: {refused}");
        found.add(Kind::Lost, what);
    }
    let confirmed = seen.planner.shown.last().map_or(0, |shown| shown.revision);
    if let Some(listed) = seen.planner.listed
        && listed < confirmed
    {
        let what = format!("the gateway lists revision {listed}, confirmed was {confirmed}");
        found.add(Kind::Lost, what);
    }
}
