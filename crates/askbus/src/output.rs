//! What a command writes for whoever started it: its results on standard output, remarks on standard error.
//! Nothing else writes there, so that a reader who left and a disk that is full never end it in a panic.

use crate::exit::{Failure, OUTPUT};
use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

/// Whether somebody reads what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// As far as is known.
    There,
    /// It closed its end, as `head` does: what there is to write is wanted by nobody any more.
    Gone,
}

/// Writes one line of a result.
///
/// # Errors
/// When it cannot be written although somebody reads.
pub(crate) fn line(result: impl Display) -> Result<Reader, Failure> {
    text(format_args!("{result}\n"))
}

/// Writes a result as it is.
///
/// # Errors
/// When it cannot be written although somebody reads.
pub(crate) fn text(result: impl Display) -> Result<Reader, Failure> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{result}").and_then(|()| out.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => {
            let said = format!("standard output cannot be written: {error}");
            Err(Failure::new(OUTPUT, said))
        }
    }
}

/// Says something beside the result. Where that cannot be written, there is nobody to tell.
pub(crate) fn remark(remark: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{remark}");
}
