//! MCP over lines (standard input and output, or any other pair of streams), and over HTTP.

mod callers;
mod calls;
#[cfg(test)]
mod fuzz;
mod handler;
pub mod http;
mod limits;
mod lines;
mod offered;
mod open_ids;
mod origin;
mod progress;
mod waiting;

use crate::asker::{Asker, AskerOptions};
use crate::toolset::{Gate, Toolset};
use askbus_wire::listener::NotListening;
use callers::{Callers, Template};
use handler::Handler;
use lines::Lines;
use offered::Offered;
use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

/// What a server is made of.
pub struct AdapterOptions {
    /// The asking process behind it.
    pub asker: AskerOptions,
    /// Its tools.
    pub toolset: Toolset,
    /// The gate of the studio tools.
    pub gate: Gate,
    /// Where a person answers, for progress messages.
    pub panel: Panel,
    /// The client's hard limit for a call (`ASKBUS_CALL_BUDGET_MS`); none: what its name says.
    pub budget: Option<Duration>,
}

/// Says where a person answers; none: on the panel, whose address is not known. Asked anew for every
/// question, since the service may have started later than this process. May block for a moment.
pub type Panel = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Why a server ended before its client did.
#[derive(Debug, thiserror::Error)]
pub enum AdapterError {
    /// The handshake failed.
    #[error("the handshake with the MCP client failed: {0}")]
    Handshake(String),
    /// It cannot listen there.
    #[error(transparent)]
    Listen(#[from] NotListening),
    /// A fault of the server itself.
    #[error("the MCP server failed: {0}")]
    Internal(String),
}

/// Serves on standard input and output until the input ends or `shutdown` is cancelled, at most
/// one second longer. Nothing else may write to standard output meanwhile.
///
/// Where standard input is not a pipe, a read of it cannot be cancelled and would hold up the end
/// of the runtime: leave with `std::process::exit` or `Runtime::shutdown_background`.
///
/// # Errors
/// [`AdapterError`]; the end of the client is none.
pub async fn serve_stdio(
    options: AdapterOptions,
    shutdown: CancellationToken,
) -> Result<(), AdapterError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    serve(options, reader, writer, shutdown).await
}

/// Serves on any pair of streams, as [`serve_stdio`].
///
/// # Errors
/// [`AdapterError`]; the end of the client is none.
pub async fn serve<R, W>(
    options: AdapterOptions,
    reader: R,
    writer: W,
    shutdown: CancellationToken,
) -> Result<(), AdapterError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let gone = shutdown.child_token();
    let has_context = options.asker.context.is_some();
    let template = Template {
        target: options.asker.target.clone(),
        token: options.asker.token.clone(),
        channels: Vec::new(),
        profile: options.asker.profile.clone(),
        info: options.asker.info.clone(),
        patience: options.asker.patience,
        figures: None,
    };
    let asker = Arc::new(Asker::new(options.asker));
    let callers = Callers::one(Arc::clone(&asker), template);
    let handler = Handler {
        callers: Arc::clone(&callers),
        offered: Offered {
            toolset: options.toolset,
            gate: options.gate,
        },
        panel: options.panel,
        has_context,
        budget: options.budget,
    };
    let lines = Lines::new(reader, writer, gone.clone());
    // The token of every call descends from `gone`, so each of them ends with the client, well
    // before rmcp's own grace of five seconds.
    let serving = Box::pin(handler.serve_with_ct(lines, gone.child_token()));
    let served = match serving.await {
        Ok(running) => match running.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(AdapterError::Internal(error.to_string())),
        },
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(AdapterError::Handshake(error.to_string())),
    };
    gone.cancel();
    asker.close().await;
    callers.leave().await;
    served
}
