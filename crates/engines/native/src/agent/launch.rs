//! Starting an agent.

use std::os::fd::RawFd;
use std::path::PathBuf;

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
