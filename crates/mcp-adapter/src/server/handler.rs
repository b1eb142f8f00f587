//! The MCP server: lists its toolset's tools and carries calls to the asker.

use super::progress::{Progress, Stage};
use super::{Panel, origin};
use crate::asker::{AskCall, Asker, Settled};
use crate::toolset::{CALL_LIMIT, Gate, Toolset, ask, interaction, studio};
use askbus_domain::{Dialect, Rejection, parse_arguments};
use askbus_wire::error::{ErrorCode, WireError};
use askbus_wire::trace::Trace;
use futures::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorData, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::watch;

/// What answers the client.
pub(super) struct Handler {
    pub(super) asker: Arc<Asker>,
    pub(super) toolset: Toolset,
    pub(super) gate: Gate,
    pub(super) panel: Panel,
    /// How the context of a host's turn stands over the process (`ASKBUS_CONTEXT`).
    pub(super) has_context: bool,
}

#[derive(Clone, Copy)]
enum Called {
    AskUser,
    StudioClarify,
    Clarify,
}

impl Handler {
    fn tools(&self) -> Vec<Tool> {
        match self.toolset {
            Toolset::Ask => vec![ask::definition()],
            Toolset::Studio if self.gate.clarify_is_open() => vec![studio::definition()],
            Toolset::Studio => Vec::new(),
            Toolset::Interaction => vec![interaction::definition()],
        }
    }

    fn called(&self, name: &str) -> Option<Called> {
        match (self.toolset, name) {
            (Toolset::Ask, ask::NAME) => Some(Called::AskUser),
            (Toolset::Interaction, interaction::NAME) => Some(Called::Clarify),
            (Toolset::Studio, studio::NAME | studio::ALIAS) if self.gate.clarify_is_open() => {
                Some(Called::StudioClarify)
            }
            _ => None,
        }
    }

    async fn run(
        &self,
        called: Called,
        arguments: Value,
        context: RequestContext<RoleServer>,
    ) -> CallToolResult {
        match called {
            Called::AskUser => {
                let call = match self.read(Dialect::Ask, arguments) {
                    Ok(call) => call,
                    Err(error) => return ask::failed(&error),
                };
                match self.settle(call, context).await {
                    Ok(settled) => ask::settled(&settled),
                    Err(error) => ask::failed(&error),
                }
            }
            Called::Clarify => {
                let mut call = match self.read(Dialect::Interaction, arguments) {
                    Ok(call) => call,
                    Err(error) => return interaction::failed(&error),
                };
                call.limit = Some(CALL_LIMIT);
                match self.settle(call, context).await {
                    Ok(settled) => interaction::settled(&settled),
                    Err(error) => interaction::failed(&error),
                }
            }
            Called::StudioClarify => {
                let context_id = match studio::context_of(&arguments) {
                    Ok(context_id) => context_id,
                    Err(error) => return studio::failed(&error),
                };
                let mut call = AskCall::new(Dialect::Studio, arguments);
                call.context = Some(context_id);
                call.limit = Some(CALL_LIMIT);
                match self.settle(call, context).await {
                    Ok(settled) => studio::settled(&settled),
                    Err(error) => studio::failed(&error),
                }
            }
        }
    }

    /// A call with these arguments. E6 fixes an order of checks for a host's turn, which only the
    /// service can keep; without a host a question that cannot be shown begins no turn.
    fn read(&self, dialect: Dialect, arguments: Value) -> Result<AskCall, WireError> {
        if !self.has_context {
            parse_arguments(dialect, &arguments).map_err(Rejection::from)?;
        }
        Ok(AskCall::new(dialect, arguments))
    }

    /// Asks and waits, until the client cancels or is gone: leaving the wait withdraws the question.
    async fn settle(
        &self,
        mut call: AskCall,
        context: RequestContext<RoleServer>,
    ) -> Result<Settled, WireError> {
        call.client = context
            .client_info()
            .map(|c| format!("{} {}", c.name, c.version));
        call.origin = origin::of(&context.meta);
        call.trace = Trace::continuing(context.meta.get_traceparent());
        let (stage, stages) = watch::channel(Stage::Asking);
        let mut progress = Progress::new(&context, stages, Arc::clone(&self.panel));
        let notices: crate::Notices = Arc::new(move |notice| {
            let now = Stage::from(notice);
            stage.send_if_modified(|stage| std::mem::replace(stage, now) != now);
        });
        let mut settling = std::pin::pin!(self.asker.settle(&call, &notices));
        loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    let gone = "The call was cancelled; the question is withdrawn.";
                    return Err(WireError::new(ErrorCode::Unavailable, gone));
                }
                settled = &mut settling => return settled,
                () = progress.due() => {}
            }
            // Not in the select above: what is half sent may not follow the result.
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {}
                () = progress.send() => {}
            }
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        let (name, instructions) = match self.toolset {
            Toolset::Ask => ("askbus", Some(ask::INSTRUCTIONS)),
            Toolset::Interaction => ("askbus", Some(interaction::INSTRUCTIONS)),
            Toolset::Studio => {
                let open = self.gate.clarify_is_open();
                (studio::SERVER_NAME, open.then_some(studio::INSTRUCTIONS))
            }
        };
        let info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(name, version));
        match instructions {
            Some(text) => info.with_instructions(text),
            None => info,
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(called) = self.called(&request.name) else {
            let problem = format!("there is no tool {:?} here", request.name);
            return Err(ErrorData::invalid_params(problem, None));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        // A panic would leave the call without any reply.
        let run = AssertUnwindSafe(self.run(called, arguments, context)).catch_unwind();
        match run.await {
            Ok(result) => Ok(result.into()),
            Err(_) => Err(ErrorData::internal_error(
                "the call failed inside askbus",
                None,
            )),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A known method comes here when its params have the wrong shape.
        Err(match request.method.as_str() {
            "initialize" | "tools/call" | "tools/list" => ErrorData::invalid_params(
                format!("the params of {} cannot be read", request.method),
                None,
            ),
            _ => ErrorData::new(
                rmcp::model::ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ),
        })
    }
}
