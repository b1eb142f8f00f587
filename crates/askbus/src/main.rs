//! The one binary: reads the command line, hands over to the part that does the work, and turns its
//! result into an exit status.

// What a command says goes through `output`, which takes a reader that left for granted.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agent_guard;
mod allocator;
mod answer;
mod ask;
mod bench;
mod channels;
mod cli;
mod config;
mod credential;
mod deployment;
mod exit;
#[cfg(test)]
mod fuzz;
mod healthcheck;
mod history;
mod home;
mod identity;
mod inbox;
mod logging;
mod mcp;
mod mcp_http;
mod micro;
mod open_files;
mod output;
mod panel;
mod parent;
mod pass_on;
mod policy;
mod roster;
mod said;
mod services;
mod signals;
mod telemetry;
mod terminal;
mod turn;
mod up;

use cli::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let settings = match config::load(&cli) {
        Ok(settings) => settings,
        Err(error) => return exit::fail(exit::CONFIG, &error),
    };
    // Nothing is printed to standard output but what a command promises; logs go to standard error.
    logging::start(settings.config.log_format, cli.command.default_log());
    match run(cli.command, &settings) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command, settings: &config::Settings) -> Result<ExitCode, exit::Failure> {
    let config = &settings.config;
    match command {
        Command::Up(args) => services_runtime()?.block_on(up::run(config, &args)),
        Command::SessionBinding(args) => {
            services_runtime()?.block_on(services::session_binding(config, &args))
        }
        Command::Gateway(args) => services_runtime()?.block_on(services::gateway(config, &args)),
        Command::Mcp(args) => run_on_input(mcp::run(config, &args)),
        Command::McpAdapter(args) => run_on_input(mcp::run_on_bus(config, &args)),
        Command::Ask(args) => light_runtime()?.block_on(ask::run(config, &args)),
        Command::Inbox(args) => light_runtime()?.block_on(inbox::inbox(config, &args)),
        Command::History(args) => light_runtime()?.block_on(history::run(config, &args)),
        Command::Answer(args) => light_runtime()?.block_on(answer::run(config, &args)),
        Command::Turn(args) => light_runtime()?.block_on(turn::run(config, &args)),
        Command::Credential(args) => credential::run(config, &args),
        Command::Healthcheck(args) => light_runtime()?.block_on(healthcheck::run(config, &args)),
        Command::Bench(args) => services_runtime()?.block_on(bench::run(&args)),
        Command::Config(_) => {
            output::text(settings.show())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn services_runtime() -> Result<tokio::runtime::Runtime, exit::Failure> {
    open_files::raise_limit();
    Ok(tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?)
}

/// Runs a command that reads standard input. A read of a terminal or a socket cannot be cancelled,
/// so after a signal the runtime is left without waiting for it.
fn run_on_input(
    command: impl Future<Output = Result<ExitCode, exit::Failure>>,
) -> Result<ExitCode, exit::Failure> {
    let runtime = light_runtime()?;
    let result = runtime.block_on(command);
    runtime.shutdown_background();
    result
}

/// One thread is enough for a caller that mostly waits, and takes a third of the memory.
fn light_runtime() -> Result<tokio::runtime::Runtime, exit::Failure> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}
