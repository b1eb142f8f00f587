//! One step after the other: each tells its figures when it is done, and one that fails leaves the
//! others what they are.

use super::report::{Failed, Rows};
use anyhow::Result;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use std::time::Instant;

/// The steps of a run, as far as it has come.
pub(crate) struct Steps<T> {
    tell: T,
    place: String,
    begun: Instant,
    failed: Vec<Failed>,
}

impl<T: FnMut(&str)> Steps<T> {
    /// Nothing is done yet; `tell` hears one line after the other.
    pub(crate) fn new(tell: T) -> Self {
        Self {
            tell,
            place: String::new(),
            begun: Instant::now(),
            failed: Vec::new(),
        }
    }

    /// What follows is measured there.
    pub(crate) fn place(&mut self, name: &str) {
        name.clone_into(&mut self.place);
        self.begun = Instant::now();
    }

    /// Takes one step and tells what came of it; none when it failed.
    pub(crate) async fn step<R: Rows>(
        &mut self,
        name: &str,
        step: LocalBoxFuture<'_, Result<R>>,
    ) -> Option<R> {
        let step = async { Ok((step.await?, ())) }.boxed_local();
        self.step_with(name, step)
            .await
            .map(|(measured, ())| measured)
    }

    /// The same with something that the next step needs.
    pub(crate) async fn step_with<R: Rows, W>(
        &mut self,
        name: &str,
        step: LocalBoxFuture<'_, Result<(R, W)>>,
    ) -> Option<(R, W)> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let place = &self.place;
        (self.tell)(&format!("{place}, {seconds:.0} s: {name}"));
        match step.await {
            Ok((measured, with)) => {
                for (figure, value) in measured.rows() {
                    (self.tell)(&format!("  {figure}: {value}"));
                }
                Some((measured, with))
            }
            Err(error) => {
                let failed = Failed {
                    place: self.place.clone(),
                    step: name.to_owned(),
                    error: format!("{error:#}"),
                };
                (self.tell)(&format!("failed: {failed}"));
                self.failed.push(failed);
                None
            }
        }
    }

    /// Every step that failed.
    pub(crate) fn failed(self) -> Vec<Failed> {
        self.failed
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Row;
    use super::*;
    use anyhow::{Context as _, anyhow};
    use std::cell::RefCell;

    struct Height(u32);

    impl Rows for Height {
        fn rows(&self) -> Vec<Row> {
            vec![("height".to_owned(), format!("{} m", self.0))]
        }
    }

    fn ready(height: Height) -> LocalBoxFuture<'static, Result<Height>> {
        async { Ok(height) }.boxed_local()
    }

    #[tokio::test]
    async fn a_step_that_fails_leaves_the_others_what_they_are() {
        let told = RefCell::new(Vec::new());
        let mut steps = Steps::new(|line: &str| told.borrow_mut().push(line.to_owned()));
        steps.place("here");
        let first = steps.step("first", ready(Height(1))).await;
        // Before the next step begins.
        assert_eq!(
            told.borrow().last().map(String::as_str),
            Some("  height: 1 m")
        );
        let broken = async { Err(anyhow!("it broke")).context("measuring") };
        let second: Option<Height> = steps.step("second", broken.boxed_local()).await;
        steps.place("there");
        let third = steps.step("third", ready(Height(3))).await;
        let measured = [first, second, third].map(|height| height.map(|h| h.0));
        assert_eq!(measured, [Some(1), None, Some(3)]);
        let failed = Failed {
            place: "here".to_owned(),
            step: "second".to_owned(),
            error: "measuring: it broke".to_owned(),
        };
        assert_eq!(steps.failed(), [failed]);
        assert!(
            told.borrow()
                .contains(&"failed: here, second: measuring: it broke".to_owned())
        );
    }
}
