//! Path and query, refused in the same words as everything else.

use crate::reply::Refusal;
use askbus_domain::Rejection;
use askbus_wire::error::{ErrorCode, WireError};
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use serde::de::DeserializeOwned;

/// The parameters of a query.
pub(crate) struct Params<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        Query::from_request_parts(parts, state)
            .await
            .map(|Query(query)| Self(query))
            .map_err(|rejection| {
                let whole = rejection.body_text();
                let problem = whole.split_once(": ").map_or("", |(_, problem)| problem);
                let message = format!("the query cannot be read: {problem}; nothing was done");
                Refusal::new(ErrorCode::InvalidRequest, message)
            })
    }
}

/// The id in a path; what cannot be read is as unknown as any other.
pub(crate) struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let unknown = |_| Refusal(WireError::from(Rejection::UnknownClarification));
        path.map(|Path(id)| Self(id)).map_err(unknown)
    }
}

/// The context in a path; what cannot be read is as unknown as any other (E6).
pub(crate) struct Context(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Context {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let unknown = |_| Refusal(WireError::from(Rejection::ContextExpired));
        path.map(|Path(context)| Self(context)).map_err(unknown)
    }
}
