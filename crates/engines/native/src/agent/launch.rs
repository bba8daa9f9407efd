//! Starting an agent.

use super::arena::Arena;
use crate::process::Client;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::Command;

/// The program that the interpreter is given.
const PROGRAM: &str = include_str!("agent.py");

/// How an agent is started.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Bytes of the arena. Pages that nobody writes cost nothing.
    pub arena_size: u64,
    /// Library that is loaded before all others, such as the clock page.
    pub preload: Option<PathBuf>,
    /// Further variables, such as the one that names the page or switches of the store. They win over those set here.
    pub environment: Vec<(String, String)>,
    /// Descriptors that stay open in the agent under their numbers, such as that of the page.
    pub inherit: Vec<RawFd>,
}

impl Default for AgentOptions {
    fn default() -> AgentOptions {
        AgentOptions {
            arena_size: 2 << 30,
            preload: None,
            environment: Vec::new(),
            inherit: Vec::new(),
        }
    }
}

/// The command that starts an agent. Its environment is what is set here and nothing else.
pub(crate) fn command(client: &Client, options: &AgentOptions, arena: &Arena) -> Command {
    let told = serde_json::json!({
        "packages": client.packages(),
        "arena": arena.descriptor(),
        "arena_size": arena.size(),
    });
    let mut command = Command::new(client.interpreter());
    command
        // Isolated from variables and packages of the user, without `site`, and without writing what it has compiled.
        .args(["-I", "-S", "-B", "-c", PROGRAM])
        .arg(told.to_string())
        .current_dir("/")
        .env_clear()
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        // Into the pipe, not into files of the temporary folder.
        .env("GLOG_logtostderr", "1")
        // Otherwise its listeners take connections from everywhere.
        .env("MC_TCP_BIND_ADDRESS", "127.0.0.1");
    if let Some(folder) = client.system_libraries() {
        command.env("LD_LIBRARY_PATH", folder);
    }
    if let Some(library) = &options.preload {
        command.env("LD_PRELOAD", library);
    }
    command.envs(options.environment.iter().map(|(name, value)| (name, value)));
    command
}
