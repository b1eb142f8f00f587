//! What a line that cannot be read asks for, and under which id: whoever sent it waits for a reply that
//! names it.

use rmcp::model::RequestId;

/// The longest name or value that is looked at, in bytes; longer ones are read as neither.
const MAX_TOKEN: usize = 1024;

/// Reads the outermost fields of one line as it comes, however long or broken the rest of it is.
#[derive(Default)]
pub(super) struct Envelope {
    /// How deep in objects and lists.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// What stands at the outermost level since the last sign between fields.
    token: Vec<u8>,
    /// The name of the field whose value comes.
    field: Option<Field>,
    id: Option<RequestId>,
    has_method: bool,
    /// The object is over, or there was none.
    over: bool,
}

#[derive(Clone, Copy)]
enum Field {
    Id,
    Method,
}

impl Envelope {
    /// Of a line that is all there.
    pub(super) fn of(line: &[u8]) -> Self {
        let mut envelope = Self::default();
        envelope.read(line);
        envelope
    }

    /// Goes on with the next bytes of the line.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.over {
                return;
            }
            self.take(*byte);
        }
    }

    /// The id of the request that this is; none when it is none, or when that cannot be told.
    pub(super) fn request_id(self) -> Option<RequestId> {
        self.id.filter(|_| self.has_method)
    }

    fn take(&mut self, byte: u8) {
        if self.depth == 0 {
            self.over = byte != b'{' && !byte.is_ascii_whitespace();
            self.depth = usize::from(byte == b'{');
            return;
        }
        if self.in_string {
            self.keep(byte);
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_field();
                    self.over = true;
                }
                self.depth -= 1;
            }
            b':' if self.depth == 1 => {
                self.field = match self.token.trim_ascii() {
                    b"\"id\"" => Some(Field::Id),
                    b"\"method\"" => Some(Field::Method),
                    _ => None,
                };
                self.token.clear();
            }
            b',' if self.depth == 1 => self.end_field(),
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        // What is cut here is no JSON any more, and so no id.
        if self.depth == 1 && self.token.len() < MAX_TOKEN {
            self.token.push(byte);
        }
    }

    fn end_field(&mut self) {
        match self.field.take() {
            Some(Field::Id) => self.id = serde_json::from_slice(&self.token).ok(),
            Some(Field::Method) => {
                self.has_method = self.token.trim_ascii().starts_with(b"\"");
            }
            None => {}
        }
        self.token.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<RequestId> {
        let whole = Envelope::of(line.as_bytes()).request_id();
        // As it comes in pieces of any size.
        let mut pieces = Envelope::default();
        for byte in line.as_bytes().chunks(3) {
            pieces.read(byte);
        }
        assert_eq!(whole, pieces.request_id(), "{line}");
        whole
    }

    // contract: E13
    #[test]
    fn the_id_of_a_broken_request_is_found_wherever_it_stands() {
        let seven = Some(RequestId::Number(7));
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"\x","b":[[[{"#,
            // The order in which clients in JavaScript write.
            r#"{"method":"tools/call","params":{"a":"\ud83d } ] , \" \\","id":1},"jsonrpc":"2.0","id":7}"#,
            r#" { "id" : 7 , "params" : nonsense , "method" : "ping" } and more"#,
            r#"{"id":7,"method":"a","id":7,"params":}"#,
            r#"{"id":7,"method":"a"}{"id":8,"method":"b"}"#,
        ] {
            assert_eq!(id(line), seven, "{line}");
        }
        let text = r#"{"id":"a-\"b","method":"m","params":[}"#;
        assert_eq!(id(text), Some(RequestId::String("a-\"b".into())));
        let long = format!(
            r#"{{"params":"{}","id":7,"method":"m"}}"#,
            "x".repeat(5_000)
        );
        assert_eq!(id(&long), seven);
    }

    /// An error that names an id ends what waits under it: a guess would end somebody else's.
    // contract: E13
    #[test]
    fn what_is_no_request_has_no_id() {
        let long = format!(r#"{{"id":"{}","method":"m"}}"#, "x".repeat(5_000));
        for line in [
            "",
            "garbage",
            r#"[{"id":7,"method":"m"}]"#,
            r#"{"id":7,"result":{}}"#,
            r#"{"method":"notifications/cancelled","params":{"id":7}}"#,
            r#"{"method":"m","params":{"id":7}}"#,
            r#"{"id":7.5,"method":"m"}"#,
            r#"{"id":7 8,"method":"m"}"#,
            r#"{"id":null,"method":"m"}"#,
            r#"{"id":{"id":7},"method":"m"}"#,
            r#"{"method":"m","note":"never ends, "id":7"#,
            // Seven, or the beginning of seventy.
            r#"{"method":"m","id":7"#,
            &long,
        ] {
            assert_eq!(id(line), None, "{line}");
        }
    }
}
