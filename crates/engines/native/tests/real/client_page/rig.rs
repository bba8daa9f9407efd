//! An unmodified Python process with the release's client library in it, under a client's page, which evaluates what it is told.

use crate::rig::START;
use moonquake_clock::{Clocks, Span};
use moonquake_native::process::{ClientPage, Release, SleepKind, Sleeper, library};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Real time after which a wait is a hang.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

const SCRIPT: &str = r#"
import ctypes, os, sys
sys.path.insert(0, sys.argv[1])
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from mooncake.store import MooncakeDistributedStore
s = MooncakeDistributedStore()
buf = None
def setup(master, segment):
    return s.setup("127.0.0.1", "P2PHANDSHAKE", segment, 16 << 20, "tcp", "", master)
def buffer(size):
    global buf
    buf = ctypes.create_string_buffer(size)
    address = ctypes.addressof(buf)
    return address if s.register_buffer(address, size) == 0 else 0
for line in sys.stdin:
    try:
        answer = repr(eval(line))
    except BaseException as error:
        answer = "raised " + repr(error)
    out.write(answer + "\n")
    out.flush()
"#;

pub(crate) struct Python {
    pub(crate) page: ClientPage,
    pub(crate) child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
}

impl Python {
    pub(crate) fn start() -> Python {
        Python::with(&[])
    }

    /// With these environment variables.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Python {
        let release = Release::locate().unwrap_or_else(|error| panic!("{error}"));
        let folder = std::env::var_os("MOONQUAKE_CLIENT_DIR")
            .map_or_else(|| release.root().to_owned(), PathBuf::from);
        let interpreter = std::env::var_os("MOONQUAKE_PYTHON").unwrap_or_else(|| "/usr/bin/python3".into());
        let page = ClientPage::create(START).expect("a page");
        let mut command = Command::new(interpreter);
        command
            .args(["-E", "-s", "-c", SCRIPT])
            .arg(folder)
            .env_clear()
            .env("TMPDIR", std::env::temp_dir())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        if let Some(folder) = release.system_libraries() {
            command.env("LD_LIBRARY_PATH", folder);
        }
        let library = library::locate().expect("the preload library");
        let mut child = page.spawn(command, &library).expect("python starts");
        let stdin = child.stdin.take().expect("its input");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Python {
            page,
            child,
            stdin,
            answers,
        }
    }

    /// Started, and its store set up with a segment of so many bytes.
    pub(crate) fn set_up(master: &str, segment_bytes: u64) -> Python {
        let mut python = Python::start();
        assert_eq!(python.eval(&format!("setup({master:?}, {segment_bytes})")), "0");
        python
    }

    /// Lets it begin to evaluate an expression.
    pub(crate) fn begin(&mut self, expression: &str) {
        writeln!(self.stdin, "{expression}").expect("python reads");
    }

    /// What it came to.
    pub(crate) fn finish(&self) -> String {
        self.answers.recv_timeout(LIMIT).expect("python answers")
    }

    pub(crate) fn eval(&mut self, expression: &str) -> String {
        self.begin(expression);
        self.finish()
    }

    pub(crate) fn number(&mut self, expression: &str) -> u64 {
        let answer = self.eval(expression);
        answer
            .parse()
            .unwrap_or_else(|_| panic!("{expression} came to {answer}"))
    }

    /// The gated threads of a store that was set up: both of them, asleep.
    pub(crate) fn gated(&self) -> Vec<Sleeper> {
        let both = |sleepers: &[Sleeper]| sleepers.iter().filter(|sleeper| is_gated(sleeper)).count() == 2;
        let sleepers = self
            .page
            .await_sleepers(both, LIMIT)
            .unwrap_or_else(|error| panic!("{error}"));
        sleepers.into_iter().filter(is_gated).collect()
    }

    /// Steps both clocks to so long after the start, and waits until what was due has been fired.
    pub(crate) fn at(&self, since_start: Span) {
        self.page.set_clocks(Clocks {
            realtime: START.realtime + since_start,
            monotonic: START.monotonic + since_start,
        });
        self.page
            .await_timers(LIMIT)
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

fn is_gated(sleeper: &Sleeper) -> bool {
    sleeper.kind == SleepKind::Sleep && sleeper.requested == Span::from_secs(1)
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
