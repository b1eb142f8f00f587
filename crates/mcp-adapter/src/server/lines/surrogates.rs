//! Text of a client that was cut in the middle of a character.

pub(in crate::server) use askbus_wire::surrogates::replaced;
