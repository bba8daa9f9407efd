//! The command line with unmodified clients: what is left when it ends, and what it says of one that ends by itself.
#![allow(
    clippy::disallowed_methods,
    reason = "what processes do among each other happens in real time"
)]

use crate::leaving::signal;
use crate::real::opted_out;
use crate::support::{Place, Said, good};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Its writer dies in its first step. After that come so many calls that the end cannot come first.
fn long_story() -> String {
    let calls = r#"{ who = "r1", do = "exist", key = "none", times = 90000, every = "1ms" },"#;
    let story = good("a").replacen("\n]\n", &format!("\n  {calls}\n]\n"), 1);
    assert!(story.contains(calls), "{story}");
    story
}

/// How often the kernel is asked for what it tells no events of.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A run with processes and folders in a place of its own.
struct Run {
    place: Place,
    child: Child,
}

impl Run {
    fn start(engine: &str) -> Run {
        let place = Place::new();
        place.file("a.scenario.toml", long_story());
        fs::create_dir(place.path().join("temporary")).unwrap();
        let moonquake = place.command(&["run", "a.scenario.toml", "--engine", engine]);
        // In a session of its own, by which everything that it starts is known.
        let child = Command::new("setsid")
            .arg(moonquake.get_program())
            .args(moonquake.get_args())
            .current_dir(place.path())
            .env_remove("MOONQUAKE_NO_REAL")
            .env("TMPDIR", place.path().join("temporary"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Run { place, child }
    }

    /// Waits until so many clients live.
    fn await_clients(&mut self, count: usize) -> Vec<u32> {
        loop {
            let clients = clients(self.child.id());
            if clients.len() == count {
                return clients;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "it ended before {count} clients were there: {ended:?}"
            );
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn end(self) -> (Place, Said) {
        let said = Said::of(self.child.wait_with_output().unwrap());
        (self.place, said)
    }
}

/// Everything of a session, which is everything that a run has started and whoever they have.
fn processes(session: u32) -> Vec<u32> {
    // After the name: state, parent, group, session.
    let is_of_it = |id: &u32| {
        let line = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let (_, rest) = line.rsplit_once(')').unwrap_or_default();
        let fields: Vec<&str> = rest.split_whitespace().collect();
        fields.first().is_some_and(|state| *state != "Z") && fields.get(3) == Some(&&*session.to_string())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(is_of_it).collect()
}

/// When a process was started, in ticks of the kernel: ids begin anew some day.
fn started(id: u32) -> Option<u64> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    line.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// The clients among them, in the order in which they were started.
fn clients(session: u32) -> Vec<u32> {
    let is_client = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("python")
    };
    let mut clients: Vec<u32> = processes(session).into_iter().filter(is_client).collect();
    clients.sort_unstable_by_key(|id| (started(*id), *id));
    clients
}

#[test]
fn cli_real_a_client_that_ends_by_itself_is_named() {
    if opted_out() {
        return;
    }
    for (engine, name) in [("native", "n1"), ("hosted", "r1")] {
        let mut run = Run::start(engine);
        run.await_clients(3);
        // The writer is dead: the steps go on.
        let clients = run.await_clients(2);
        let id = if name == "n1" { clients[0] } else { clients[1] };
        let killed = Command::new("kill").args(["-KILL", &id.to_string()]).status();
        assert!(killed.unwrap().success());
        let (_place, said) = run.end();
        let said = said.exits(70);
        said.says(&format!(
            "the process of {name} has ended, and this run has not ended it"
        ));
    }
}

/// At instants that are drawn anew each time: while processes start, while they work, while they end.
#[test]
fn cli_real_nothing_is_left_whenever_it_is_ended() {
    if opted_out() {
        return;
    }
    let codes = [
        ("-INT", Some(130)),
        ("-TERM", Some(143)),
        ("-HUP", Some(129)),
        ("-KILL", None),
    ];
    for (number, (name, code)) in codes.into_iter().cycle().take(8).enumerate() {
        let engine = if number < 4 { "native" } else { "hosted" };
        let Run { place, mut child } = Run::start(engine);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        // With its first line it listens to signals.
        out.read_line(&mut text).unwrap();
        std::thread::sleep(drawn_below(Duration::from_millis(1_500)));
        signal(&child, name);
        let session = child.id();
        out.read_to_string(&mut text).unwrap();
        let output = child.wait_with_output().unwrap();
        let what = format!("{name} on {engine}: {output:?}\n{text}");
        assert_eq!(output.status.code(), code, "{what}");
        // Who is killed cannot wait for those who end with it.
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            let left = processes(session);
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < limit, "{left:?} are left by {what}");
            std::thread::sleep(LOOK_EVERY);
        }
        let temporary = fs::read_dir(place.path().join("temporary")).unwrap().count();
        assert!(code.is_none() || temporary == 0, "folders are left by {what}");
    }
}

/// Some time below `limit`, by the low digits of the clock.
fn drawn_below(limit: Duration) -> Duration {
    let nanoseconds = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let mixed = (nanoseconds as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    Duration::from_nanos((mixed * limit.as_nanos() as u64) >> 32)
}
