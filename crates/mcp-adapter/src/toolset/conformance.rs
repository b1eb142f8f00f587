//! Tools for the protocol's own conformance suite, which calls servers by the names of these. Built with
//! the feature `conformance` alone, for tests; no program that people get has them.

mod asking;

use super::object;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ErrorData,
    ProgressNotificationParam, ResourceContents, Tool,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

/// A picture of one point, PNG.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without a sample, WAV.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// Tools that need no more than their name.
const SIMPLE: [&str; 10] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_missing_capability",
    "test_logging_tool",
    "test_reconnection",
];
const SCHEMA: &str = "json_schema_2020_12_tool";
const HEADERS: &str = "test_x_mcp_header";

/// The tools as `tools/list` shows them.
pub fn definitions() -> Vec<Tool> {
    let plain = || json!({"type": "object", "properties": {}});
    let names = SIMPLE.into_iter().chain(asking::names());
    let mut tools: Vec<Tool> = names.map(|name| definition(name, plain())).collect();
    tools.push(definition(SCHEMA, rich_schema()));
    tools.push(definition(HEADERS, header_schema()));
    tools
}

fn definition(name: &'static str, input: Value) -> Tool {
    Tool::new(name, "A tool of the conformance suite.", object(input))
}

/// What a list of tools may not take away from a schema.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// An argument that clients repeat in a header.
fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    })
}

/// Answers a call of one of them.
///
/// # Errors
/// Those that the suite wants, and for any other name.
pub async fn call(
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let said = match request.name.as_ref() {
        "test_simple_text" => vec![ContentBlock::text("A simple text.")],
        "test_image_content" => vec![picture()],
        "test_audio_content" => vec![ContentBlock::audio(SOUND, "audio/wav")],
        "test_embedded_resource" => vec![ContentBlock::embedded_text("test://embedded", "A text.")],
        "test_multiple_content_types" => {
            let resource = ResourceContents::text(r#"{"value": 1}"#, "test://mixed");
            let resource = resource.with_mime_type("application/json");
            let text = ContentBlock::text("Several kinds.");
            vec![text, picture(), ContentBlock::resource(resource)]
        }
        "test_error_handling" => {
            let text = vec![ContentBlock::text("This tool always fails.")];
            return Ok(CallToolResult::error(text).into());
        }
        "test_tool_with_progress" => progress(&context).await?,
        "test_missing_capability" => needs_sampling(&context)?,
        // The suite looks at what comes beside the result: no log unasked, and an event to resume from.
        "test_logging_tool" | "test_reconnection" | SCHEMA | HEADERS => {
            vec![ContentBlock::text("Done.")]
        }
        _ => return asking::call(request, &context).await,
    };
    Ok(CallToolResult::success(said).into())
}

fn picture() -> ContentBlock {
    ContentBlock::image(PICTURE, "image/png")
}

async fn progress(context: &RequestContext<RoleServer>) -> Result<Vec<ContentBlock>, ErrorData> {
    if let Some(token) = context.meta.get_progress_token() {
        for done in [0.0, 50.0, 100.0] {
            let param = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            let sent = context.peer.notify_progress(param).await;
            sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
    }
    Ok(vec![ContentBlock::text("Done.")])
}

/// Works only with clients that let servers use their model.
fn needs_sampling(context: &RequestContext<RoleServer>) -> Result<Vec<ContentBlock>, ErrorData> {
    let declared = context.client_capabilities();
    if declared.is_some_and(|declared| declared.sampling.is_some()) {
        return Ok(vec![ContentBlock::text("Done.")]);
    }
    let needed = json!({"requiredCapabilities": {"sampling": {}}});
    Err(ErrorData::new(
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
        "this tool needs sampling",
        Some(needed),
    ))
}
