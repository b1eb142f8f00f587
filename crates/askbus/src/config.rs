//! Configuration: defaults, then a TOML file, then `ASKBUS_*`, then flags. Parsed whole before
//! anything listens.

use crate::channels::ChannelTable;
use crate::cli::{Cli, Command, LogFormat};
use crate::policy::Policies;
use askbus_mcp_adapter::Toolset;
use figment::providers::{Env, Format as _, Serialized, Toml};
use figment::value::{Dict, Map};
use figment::{Figment, Metadata, Profile, Provider, Source};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Every setting. No name contains KEY, PASSWORD, SECRET or TOKEN: hosts strip such variables from
/// the environment of what they start (P9).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Folder of the single-machine mode.
    pub home: PathBuf,
    /// Form of the log.
    pub log_format: LogFormat,
    /// Where a listener listens.
    pub listen: Option<String>,
    /// NATS server; none: the embedded log.
    pub nats: Option<String>,
    /// User at the NATS server.
    pub nats_user: Option<String>,
    /// File with the pass phrase of that user.
    pub nats_pass_file: Option<PathBuf>,
    /// File with NATS credentials.
    pub nats_creds: Option<PathBuf>,
    /// Servers that must hold each message.
    pub nats_replicas: usize,
    /// The largest the log may grow, in bytes; nearly there, new questions are refused.
    pub log_max_bytes: u64,
    /// Tenants an instance serves.
    pub tenants: String,
    /// Folder with keys and deny list.
    pub signing_dir: Option<PathBuf>,
    /// Name of this process on the bus.
    pub instance: Option<String>,
    /// Where session-binding listens.
    pub session_binding: Option<String>,
    /// Further names a gateway is reached by, comma separated.
    pub host_names: String,
    /// How long an asker or holder may be missing, in milliseconds.
    pub lease_ms: Option<u64>,
    /// How long the MCP client waits for a call, milliseconds; none: what its name says.
    pub call_budget_ms: Option<u64>,
    /// Where a gateway finds the MCP adapter that serves HTTP.
    pub mcp_adapter: Option<String>,
    /// The service to use, `http://host:port`; none: this machine's.
    pub url: Option<String>,
    /// A credential, or a file that holds one.
    pub credential: Option<String>,
    /// The profile to act under.
    pub profile: Option<String>,
    /// The session to ask in.
    pub session: Option<String>,
    /// The turn to ask in, given by a host.
    pub context: Option<String>,
    /// The tools to offer over MCP.
    pub toolset: Option<String>,
    /// Where a service without a public listener shows its figures.
    pub metrics: Option<String>,
    /// The collector that spans are sent to, `http://host:4317`.
    pub otlp_endpoint: Option<String>,
    /// Chats through which people are told that something waits, and answer.
    pub channels: Vec<ChannelTable>,
    /// What becomes of questions that nobody answers or nobody is there for, per tenant, dialect
    /// and profile.
    pub policy: Policies,
}

/// The configuration with the source of each value.
pub(crate) struct Settings {
    pub config: Config,
    figment: Figment,
}

/// The shortest lease: three signs of life have to fit into it.
const SHORTEST_LEASE_MS: u64 = 1_000;

const PREFIX: &str = "ASKBUS_";

fn defaults() -> Config {
    let user_home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("."), PathBuf::from);
    Config {
        home: user_home.join(".askbus"),
        log_format: LogFormat::Text,
        listen: None,
        nats: None,
        nats_user: None,
        nats_pass_file: None,
        nats_creds: None,
        nats_replicas: 1,
        log_max_bytes: 1 << 30,
        tenants: "all".to_owned(),
        signing_dir: None,
        instance: None,
        session_binding: None,
        host_names: String::new(),
        lease_ms: None,
        call_budget_ms: None,
        mcp_adapter: None,
        url: None,
        credential: None,
        profile: None,
        session: None,
        context: None,
        toolset: None,
        metrics: None,
        otlp_endpoint: None,
        channels: Vec::new(),
        policy: Policies::default(),
    }
}

/// Flags that name a setting.
#[derive(Debug, Clone, Default, Serialize)]
struct Flags {
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<LogFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    listen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nats: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenants: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signing_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_binding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_names: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_adapter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    toolset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<String>,
}

fn flags(cli: &Cli) -> Flags {
    let mut flags = Flags {
        home: cli.options.home.clone(),
        log_format: cli.options.log_format,
        ..Flags::default()
    };
    match &cli.command {
        Command::Up(args) => {
            flags.listen.clone_from(&args.listen);
            flags.nats.clone_from(&args.nats);
            flags.host_names.clone_from(&args.host_names);
        }
        Command::Gateway(args) => {
            flags.listen.clone_from(&args.listen);
            flags.session_binding.clone_from(&args.session_binding);
            flags.mcp_adapter.clone_from(&args.mcp_adapter);
            flags.host_names.clone_from(&args.host_names);
            service_flags(&mut flags, &args.service);
        }
        Command::SessionBinding(args) => {
            flags.listen.clone_from(&args.listen);
            flags.lease_ms = args.lease_ms;
            flags.metrics.clone_from(&args.metrics);
            service_flags(&mut flags, &args.service);
        }
        Command::McpAdapter(args) => {
            flags.nats.clone_from(&args.nats);
            flags.session_binding.clone_from(&args.session_binding);
            flags.tenants.clone_from(&args.tenants);
            flags.signing_dir.clone_from(&args.signing_dir);
            flags.host_names.clone_from(&args.host_names);
            flags.instance.clone_from(&args.instance);
            flags.metrics.clone_from(&args.metrics);
            mcp_flags(&mut flags, &args.mcp);
        }
        Command::Mcp(args) => mcp_flags(&mut flags, args),
        Command::Ask(args) => flags.session.clone_from(&args.session),
        Command::Credential(args) => flags.signing_dir.clone_from(&args.signing_dir),
        Command::Turn(args) => match &args.command {
            crate::cli::TurnCommand::Begin {
                session, profile, ..
            } => {
                flags.session.clone_from(session);
                flags.profile.clone_from(profile);
            }
            crate::cli::TurnCommand::End { profile, .. } => flags.profile.clone_from(profile),
        },
        Command::Inbox(_)
        | Command::History(_)
        | Command::Answer(_)
        | Command::Healthcheck(_)
        | Command::Config(_)
        | Command::Bench(_) => {}
    }
    flags
}

fn service_flags(flags: &mut Flags, args: &crate::cli::ServiceArgs) {
    flags.nats.clone_from(&args.nats);
    flags.tenants.clone_from(&args.tenants);
    flags.signing_dir.clone_from(&args.signing_dir);
    flags.instance.clone_from(&args.instance);
}

fn mcp_flags(flags: &mut Flags, args: &crate::cli::McpArgs) {
    flags.toolset = args.toolset.clone().or_else(|| args.launch.clone());
    flags.profile.clone_from(&args.profile);
}

/// Reads everything; the message of an error names the setting and where it stands.
pub(crate) fn load(cli: &Cli) -> Result<Settings, String> {
    let flags = Serialized::from(flags(cli), Profile::Default);
    let outer = Figment::from(Serialized::defaults(defaults()))
        .merge(Variables(Env::prefixed(PREFIX).only(&["home"])))
        .merge(flags.clone());
    let home: PathBuf = outer.extract_inner("home").map_err(|e| e.to_string())?;
    let file = match (&cli.options.config, std::env::var_os("ASKBUS_CONFIG")) {
        (Some(path), _) => Toml::file_exact(path),
        (None, Some(path)) => Toml::file_exact(PathBuf::from(path)),
        (None, None) => Toml::file(home.join("config.toml")),
    };
    let figment = Figment::from(Serialized::defaults(defaults()))
        .merge(file)
        .merge(Variables(
            Env::prefixed(PREFIX).ignore(&["config"]).only(KNOWN),
        ))
        .merge(flags);
    // Lossy: numbers and flags are read from the text of variables.
    let config = figment
        .extract_lossy::<Config>()
        .map_err(|e| describe(&e))?;
    // Checked here, so that no command runs under a policy that a service would refuse.
    config.policy.table()?;
    sound(&config, &cli.command)?;
    Ok(Settings { config, figment })
}

/// Refuses what would be taken and mean nothing.
fn sound(config: &Config, command: &Command) -> Result<(), String> {
    if config
        .lease_ms
        .is_some_and(|lease| lease < SHORTEST_LEASE_MS)
    {
        return Err(format!(
            "setting lease_ms: at least {SHORTEST_LEASE_MS}; who is there is told by signs of life"
        ));
    }
    if config.call_budget_ms == Some(0) {
        return Err("setting call_budget_ms: at least 1; no call is waited for no time".to_owned());
    }
    // What serves the tools says so itself: there it is a slip on the command line.
    if matches!(command, Command::Mcp(_) | Command::McpAdapter(_)) {
        return Ok(());
    }
    let toolset = config.toolset.as_deref().map(str::parse::<Toolset>);
    let checked = toolset.transpose().map(drop);
    checked.map_err(|error| format!("setting toolset: {error}"))
}

/// Variables as they are written: a session named `42` is a name, not a number.
struct Variables(Env);

impl Provider for Variables {
    fn metadata(&self) -> Metadata {
        self.0.metadata()
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let dict = self.0.iter().map(|(k, v)| (k.into_string(), v.into()));
        Ok(Profile::Default.collect(dict.collect()))
    }
}

/// Variables of other purposes may carry the same prefix; only these are settings.
const KNOWN: &[&str] = &[
    "home",
    "log_format",
    "listen",
    "nats",
    "nats_user",
    "nats_pass_file",
    "nats_creds",
    "nats_replicas",
    "log_max_bytes",
    "tenants",
    "signing_dir",
    "instance",
    "session_binding",
    "host_names",
    "lease_ms",
    "call_budget_ms",
    "mcp_adapter",
    "url",
    "credential",
    "profile",
    "session",
    "context",
    "toolset",
    "metrics",
    "otlp_endpoint",
];

fn describe(error: &figment::Error) -> String {
    let mut text = String::new();
    for one in error.clone() {
        let name = one.path.join(".");
        let source = one.metadata.as_ref().map(source_of).unwrap_or_default();
        let _ = write!(text, "setting {name} {source}: {}; ", one.kind);
    }
    text.trim_end_matches("; ").to_owned()
}

fn source_of(metadata: &figment::Metadata) -> String {
    match &metadata.source {
        Some(Source::File(path)) => format!("({})", path.display()),
        _ if metadata.name.contains("environment") => "(environment, ASKBUS_…)".to_owned(),
        _ => String::new(),
    }
}

impl Settings {
    /// Each value with its source, one a line. A credential's text is never shown.
    pub(crate) fn show(&self) -> String {
        let mut text = String::new();
        for name in KNOWN {
            self.show_one(&mut text, name);
        }
        for name in self.policy_names() {
            self.show_one(&mut text, &name);
        }
        for channel in &self.config.channels {
            let _ = writeln!(text, "channel {:<8} {}", channel.name(), channel.shown());
        }
        text
    }

    fn show_one(&self, text: &mut String, name: &str) {
        let Ok(value) = self.figment.find_value(name) else {
            return;
        };
        let shown = match &value {
            figment::value::Value::Empty(..) => "-".to_owned(),
            _ if name == "credential" => "(set)".to_owned(),
            other => other
                .as_str()
                .map(str::to_owned)
                .or_else(|| serde_json::to_string(other).ok())
                .unwrap_or_default(),
        };
        let source = self
            .figment
            .find_metadata(name)
            .map_or("default".to_owned(), |m| match &m.source {
                Some(Source::File(path)) => path.display().to_string(),
                _ if m.name.contains("environment") => {
                    format!("{PREFIX}{}", name.to_uppercase())
                }
                _ if m.name.contains("Flags") => "flag".to_owned(),
                _ => "default".to_owned(),
            });
        let _ = writeln!(text, "{name:<16} {shown:<40} {source}");
    }

    /// Every value of the policy tables that is set, by its whole name.
    fn policy_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut open = vec![("policy".to_owned(), self.figment.find_value("policy").ok())];
        while let Some((name, value)) = open.pop() {
            match value {
                Some(figment::value::Value::Dict(_, table)) => open.extend(
                    table
                        .into_iter()
                        .map(|(key, value)| (format!("{name}.{key}"), Some(value))),
                ),
                Some(_) => names.push(name),
                None => {}
            }
        }
        names.sort_unstable();
        names
    }
}
