//! The one table of reason codes: what each means on gRPC, HTTP, MCP and the command line.

use askbus_domain::Rejection;
use std::fmt;
use tonic_types::{ErrorDetails, StatusExt as _};

/// The error domain in `google.rpc.ErrorInfo`.
pub const DOMAIN: &str = "askbus";

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $grpc:ident, $http:literal, $exit:literal;)*) => {
        /// A stable reason code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name,)*];
            /// The code as it stands on every transport.
            pub const fn as_str(self) -> &'static str { match self { $(ErrorCode::$name => $text,)* } }
            /// Its gRPC status.
            pub const fn grpc(self) -> tonic::Code { match self { $(ErrorCode::$name => tonic::Code::$grpc,)* } }
            /// Its HTTP status.
            pub const fn http(self) -> u16 { match self { $(ErrorCode::$name => $http,)* } }
            /// Its exit status on the command line.
            pub const fn exit(self) -> u8 { match self { $(ErrorCode::$name => $exit,)* } }
        }
    };
}

codes! {
    /// The context is unknown, expired, or another profile's (E6).
    ContextExpired = "CONTEXT_EXPIRED", FailedPrecondition, 409, 64;
    /// The context's turn is over (E6).
    NoActiveTurn = "NO_ACTIVE_TURN", FailedPrecondition, 409, 64;
    /// Somebody else's turn of the session is on (E11).
    SessionTaken = "SESSION_TAKEN", FailedPrecondition, 409, 69;
    /// Another question is pending where only one may be (E6).
    Busy = "BUSY", FailedPrecondition, 409, 69;
    /// The session has as many questions waiting as it may.
    TooManyPending = "TOO_MANY_PENDING", ResourceExhausted, 429, 69;
    /// The questions cannot be shown (E4).
    InvalidQuestion = "INVALID_QUESTION", InvalidArgument, 400, 64;
    /// The plan cannot be shown (E16).
    InvalidPlan = "INVALID_PLAN", InvalidArgument, 400, 64;
    /// The request cannot be read.
    InvalidRequest = "INVALID_REQUEST", InvalidArgument, 400, 64;
    /// The answer does not fit the questions.
    InvalidAnswer = "INVALID_ANSWER", InvalidArgument, 400, 64;
    /// The question is meant for somebody else.
    NotAddressed = "NOT_ADDRESSED", PermissionDenied, 403, 77;
    /// Unknown here, or not the caller's.
    UnknownClarification = "UNKNOWN_CLARIFICATION", NotFound, 404, 64;
    /// No such route or thing.
    NotFound = "NOT_FOUND", NotFound, 404, 64;
    /// Larger than it may be.
    TooLarge = "TOO_LARGE", InvalidArgument, 413, 64;
    /// No credential, or none that holds.
    Unauthenticated = "UNAUTHENTICATED", Unauthenticated, 401, 77;
    /// The credential's role or profile may not do this.
    Forbidden = "FORBIDDEN", PermissionDenied, 403, 77;
    /// A page of another site made the request (D14).
    CrossSite = "CROSS_SITE", PermissionDenied, 403, 77;
    /// The Host header names another machine (D14).
    WrongHost = "WRONG_HOST", PermissionDenied, 403, 77;
    /// This instance does not serve the tenant.
    WrongInstance = "WRONG_INSTANCE", FailedPrecondition, 409, 69;
    /// The session holds events of a newer version.
    UpgradeNeeded = "UPGRADE_NEEDED", FailedPrecondition, 409, 78;
    /// The log or a service cannot be reached now; what was sent is kept by its sender.
    Unavailable = "UNAVAILABLE", Unavailable, 503, 69;
    /// The service is there, the log is not; certainly nothing was written.
    LogUnavailable = "LOG_UNAVAILABLE", Unavailable, 503, 69;
    /// The log is full.
    Full = "FULL", ResourceExhausted, 503, 69;
    /// Too many requests.
    RateLimited = "RATE_LIMITED", ResourceExhausted, 429, 69;
    /// A fault of the service.
    Internal = "INTERNAL", Internal, 500, 70;
}

impl ErrorCode {
    /// Reads a code.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|c| c.as_str() == text)
    }
}

/// An error as every transport carries it: a stable code and a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    /// The stable code.
    pub code: ErrorCode,
    /// What happened, what was kept, what to do next.
    pub message: String,
}

impl WireError {
    /// An error with this code and sentence.
    pub fn new(code: ErrorCode, message: impl fmt::Display) -> Self {
        Self {
            code,
            message: message.to_string(),
        }
    }

    /// As a gRPC status with `google.rpc.ErrorInfo`.
    pub fn to_status(&self) -> tonic::Status {
        let details = ErrorDetails::with_error_info(self.code.as_str(), DOMAIN, []);
        tonic::Status::with_error_details(self.code.grpc(), self.message.clone(), details)
    }

    /// From a gRPC status: by its reason if it carries one, else by its status code.
    pub fn from_status(status: &tonic::Status) -> Self {
        let details = status.get_error_details();
        let reason = details.error_info().filter(|info| info.domain == DOMAIN);
        let code = reason
            .and_then(|info| ErrorCode::parse(&info.reason))
            .unwrap_or_else(|| match status.code() {
                tonic::Code::Unavailable
                | tonic::Code::DeadlineExceeded
                | tonic::Code::Cancelled
                | tonic::Code::Unknown => ErrorCode::Unavailable,
                tonic::Code::Unauthenticated => ErrorCode::Unauthenticated,
                tonic::Code::PermissionDenied => ErrorCode::Forbidden,
                tonic::Code::NotFound => ErrorCode::NotFound,
                tonic::Code::InvalidArgument => ErrorCode::InvalidRequest,
                tonic::Code::OutOfRange | tonic::Code::ResourceExhausted => ErrorCode::TooLarge,
                _ => ErrorCode::Internal,
            });
        Self::new(code, status.message())
    }
}

impl From<Rejection> for WireError {
    fn from(rejection: Rejection) -> Self {
        let code = ErrorCode::parse(rejection.code()).unwrap_or(ErrorCode::Internal);
        Self::new(code, rejection)
    }
}

impl From<WireError> for tonic::Status {
    fn from(error: WireError) -> Self {
        error.to_status()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbus_domain::{InvalidAnswer, InvalidPlan, Whose, parse_arguments};

    // contract: E6
    #[test]
    fn every_rejection_has_its_code_in_the_table() {
        let invalid = parse_arguments(askbus_domain::Dialect::Ask, &serde_json::json!({}));
        let all = [
            (Rejection::ContextExpired, 409),
            (Rejection::NoActiveTurn, 409),
            (Rejection::Busy, 409),
            (Rejection::TooManyPending { limit: 32 }, 429),
            (
                Rejection::TooManyWaiting {
                    limit: 1_000,
                    whose: Whose::Credential,
                },
                429,
            ),
            (Rejection::InvalidQuestion(invalid.unwrap_err()), 400),
            (Rejection::InvalidPlan(InvalidPlan::NoSteps), 400),
            (Rejection::UnknownClarification, 404),
            (Rejection::NotAddressed, 403),
            (Rejection::InvalidAnswer(InvalidAnswer::EmptyAskBack), 400),
            (Rejection::TooLarge, 413),
            (Rejection::UpgradeNeeded, 409),
        ];
        for (rejection, http) in all {
            let error = WireError::from(rejection.clone());
            assert_eq!(error.code.as_str(), rejection.code());
            assert_eq!(error.code.http(), http, "{rejection:?}");
        }
    }

    #[test]
    fn codes_survive_grpc() {
        for code in ErrorCode::ALL {
            let error = WireError::new(*code, "why");
            assert_eq!(WireError::from_status(&error.to_status()), error);
        }
        let bare = WireError::from_status(&tonic::Status::unavailable("gone"));
        assert_eq!(bare.code, ErrorCode::Unavailable);
    }
}
