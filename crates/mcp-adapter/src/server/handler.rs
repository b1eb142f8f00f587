//! The MCP server: what it is, what it offers, and calls that reply whatever happens inside.

use super::Panel;
use super::callers::Callers;
use super::lines::no_tool;
use super::offered::Offered;
use super::waiting::client_name;
#[cfg(feature = "conformance")]
use crate::toolset::{Toolset, conformance};
use futures::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, DiscoverResult,
    ErrorData, Implementation, InitializeRequestParams, InitializeResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// What answers the client.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) callers: Arc<Callers>,
    pub(super) offered: Offered,
    pub(super) panel: Panel,
    /// How the context of a host's turn stands over the process (`ASKBUS_CONTEXT`).
    pub(super) has_context: bool,
    /// The client's hard limit for a call, where it is known.
    pub(super) budget: Option<Duration>,
}

impl Handler {
    fn info(&self, client: Option<&str>) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        let server = Implementation::new(self.offered.server_name(), version);
        let info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server);
        match self.offered.instructions(client) {
            Some(text) => info.with_instructions(text),
            None => info,
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.info(None)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.info(Some(&request.client_info.name)).instructions;
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let info = self.info(client_name(&context).as_deref());
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offered.tools(client_name(&context).as_deref());
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.offered.tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        #[cfg(feature = "conformance")]
        if self.offered.toolset == Toolset::Conformance {
            return conformance::call(request, context).await;
        }
        let Some(called) = self.offered.called(&request.name) else {
            return Err(no_tool(&request.name));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = self.call(context);
        // A panic would leave the call without any reply.
        let run = AssertUnwindSafe(self.run(called, arguments, call)).catch_unwind();
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
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // Requests that name their version know no handshake.
        let stateless = context.meta.protocol_version().is_some();
        // A known method comes here when its params have the wrong shape.
        Err(match request.method.as_str() {
            "initialize" if stateless => ErrorData::new(
                rmcp::model::ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ),
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
