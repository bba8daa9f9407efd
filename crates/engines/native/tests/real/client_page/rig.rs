//! An unmodified Python process with the release's client library in it, under a client's page, which evaluates what it is told.

use crate::rig::{Rig, START};
use moonquake_clock::{Clocks, Span};
use moonquake_native::process::{
    ClientPage, Direction, PauseRule, Release, SleepKind, Sleeper, SocketAccess, library,
};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

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
        let folder =
            std::env::var_os("MOONQUAKE_CLIENT_DIR").map_or_else(|| release.root().to_owned(), PathBuf::from);
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

    /// What it came to, if it has by then.
    pub(crate) fn finish_within(&self, limit: Duration) -> Option<String> {
        self.answers.recv_timeout(limit).ok()
    }

    /// Processor time of all its threads.
    pub(crate) fn processor_time(&self) -> Duration {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its statistics");
        // After the name, which is in parentheses: user and system time are the 12th and 13th, in hundredths of a second.
        let (_, fields) = stat.rsplit_once(')').expect("a name");
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
        Duration::from_millis(ticks * 10)
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

/// A reader without memory of its own and an owner that holds the object `k`; the reader's log is on.
pub(crate) struct Pair {
    pub(crate) reader: Python,
    pub(crate) owner: Python,
    /// Port at which the owner hands out data.
    pub(crate) data_port: u16,
    /// What the owner sends before the data of a get.
    pub(crate) answer_bytes: u64,
    /// The reader's registered buffer.
    pub(crate) buffer: u64,
    size_bytes: u64,
    _master: Rig,
}

impl Pair {
    pub(crate) fn with_object(size_bytes: u64) -> Pair {
        let master = Rig::with_segments(0);
        let address = master.master.rpc_addr().to_string();
        let mut owner = Python::set_up(&address, 64 << 20);
        assert_eq!(owner.eval(&format!("s.put('k', b'x' * {size_bytes})")), "0");
        let mut reader = Python::set_up(&address, 0);
        reader.page.log_sockets(true);
        let buffer = reader.number(&format!("buffer({size_bytes})"));
        let mut pair = Pair {
            reader,
            owner,
            data_port: 0,
            answer_bytes: 0,
            buffer,
            size_bytes,
            _master: master,
        };
        assert_eq!(pair.get(), size_bytes.to_string());
        // The first transfer tells where the data comes from.
        let accesses = pair.reader.page.drain_sockets();
        let of_data = accesses
            .iter()
            .find(|access| access.direction == Direction::Received && pair.in_buffer(access));
        pair.data_port = of_data.expect("data came by a socket").peer_port;
        // The second how, without what only a new connection needs.
        assert_eq!(pair.get(), size_bytes.to_string());
        let accesses = pair.reader.page.drain_sockets();
        let from_owner = accesses
            .iter()
            .filter(|access| access.direction == Direction::Received && access.peer_port == pair.data_port);
        let received: u64 = from_owner.map(|access| access.length_bytes).sum();
        pair.answer_bytes = received - size_bytes;
        pair
    }

    /// Asks the reader to stand still when so many bytes of the next get's data have come.
    pub(crate) fn pause_received_at(&self, data_bytes: u64) {
        self.reader.page.pause_at(PauseRule {
            direction: Direction::Received,
            local_port: None,
            peer_port: Some(self.data_port),
            at_bytes: self.answer_bytes + data_bytes,
        });
    }

    pub(crate) fn begin_get(&mut self) {
        let size_bytes = self.size_bytes;
        self.reader
            .begin(&format!("s.get_into('k', ctypes.addressof(buf), {size_bytes})"));
    }

    pub(crate) fn get(&mut self) -> String {
        self.begin_get();
        self.reader.finish()
    }

    /// Whether all of an access lies in the buffer.
    pub(crate) fn in_buffer(&self, access: &SocketAccess) -> bool {
        access.address >= self.buffer && access.address + access.length_bytes <= self.buffer + self.size_bytes
    }

    /// Bytes moved from or to the buffer.
    pub(crate) fn within(&self, accesses: &[SocketAccess], direction: Direction) -> u64 {
        accesses
            .iter()
            .filter(|access| access.direction == direction && self.in_buffer(access))
            .map(|access| access.length_bytes)
            .sum()
    }

    /// Waits until so many bytes have come into the buffer, and the thread that received them has gone back to waiting for more: what it
    /// does about them, such as setting its timers anew, is done then.
    pub(crate) fn await_data(&self, data_bytes: u64) {
        let (mut came, mut tid) = (0, 0);
        while came < data_bytes {
            self.reader
                .page
                .await_sockets(LIMIT)
                .unwrap_or_else(|error| panic!("{error}: {came} bytes came"));
            let accesses = self.reader.page.drain_sockets();
            came += self.within(&accesses, Direction::Received);
            tid = accesses.last().map_or(tid, |access| access.tid);
        }
        assert_eq!(came, data_bytes);
        let call = format!("/proc/{}/task/{tid}/syscall", self.reader.child.id());
        let until = Instant::now() + LIMIT;
        // 232 is `epoll_wait`.
        while !std::fs::read_to_string(&call).is_ok_and(|call| call.starts_with("232 ")) {
            assert!(Instant::now() < until, "the thread does not come back");
            std::thread::yield_now();
        }
    }

    /// The reader's buffer, read from outside.
    pub(crate) fn read_buffer(&self) -> Vec<u8> {
        let memory = File::open(format!("/proc/{}/mem", self.reader.child.id())).expect("its memory");
        let mut bytes = vec![0; usize::try_from(self.size_bytes).expect("it fits")];
        memory
            .read_exact_at(&mut bytes, self.buffer)
            .expect("the buffer is mapped");
        bytes
    }
}
