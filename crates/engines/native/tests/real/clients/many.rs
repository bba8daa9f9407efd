//! Several at once, and lives that end: threads in one client, clients beside each other, restarts.

use super::recorder::Recorder;
use super::rig::{Host, Kind, MIB, Store, agent, plain, range};
use crate::Test;
use moonquake_native::agent::{AgentError, Command, Outcome, Replication, Setup};
use moonquake_net::MetadataServer;
use moonquake_protocol::Rpc;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::thread;

pub(crate) const TESTS: &[Test] = &[
    ("real_client_16_threads_at_the_real_master", || {
        threads(Kind::Real)
    }),
    ("real_client_16_threads_at_the_rust_master", || {
        threads(Kind::Rust)
    }),
    ("real_client_among_others_at_the_real_master", || {
        several(Kind::Real)
    }),
    ("real_client_among_others_at_the_rust_master", || {
        several(Kind::Rust)
    }),
    ("real_client_restarted_at_the_real_master", || {
        client_restart(Kind::Real)
    }),
    ("real_client_restarted_at_the_rust_master", || {
        client_restart(Kind::Rust)
    }),
    (
        "real_client_under_the_name_of_a_dead_one_at_the_real_master",
        || same_name(Kind::Real),
    ),
    (
        "real_client_under_the_name_of_a_dead_one_at_the_rust_master",
        || same_name(Kind::Rust),
    ),
    ("real_client_outlives_the_real_master", || {
        master_restart(Kind::Real)
    }),
    ("real_client_outlives_the_rust_master", || {
        master_restart(Kind::Rust)
    }),
];

const THREADS: u64 = 16;
const ROUNDS: u64 = 8;
const RPC_FAIL: i64 = -900;

fn threads(kind: Kind) {
    let host = Host::start(kind);
    let store = Store::with_segment(host.address(), 256 * MIB);
    store.register(range(0, 2 * THREADS * MIB));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || one_thread(store, thread));
        }
    });
    // The even rounds of each thread have been removed.
    let left = i64::try_from(THREADS * ROUNDS / 2).expect("small");
    assert_eq!(store.number(Command::RemoveAll { force: true }), left);
    store.close();
}

fn one_thread(store: &Store, thread: u64) {
    let (from, into) = (range(2 * thread * MIB, MIB), range((2 * thread + 1) * MIB, MIB));
    for round in 0..ROUNDS {
        let key = format!("t{thread}-{round}");
        let seed = thread * ROUNDS + round;
        store.fill(from, seed);
        let written = if round % 3 == 0 {
            store.put(&key, from)
        } else {
            store.put_from(&key, from)
        };
        assert_eq!(written, 0, "{key}");
        assert_eq!(store.is_exist(&key), 1, "{key}");
        if round % 4 == 0 {
            assert_eq!(store.get(&key, into), MIB, "{key}");
        } else {
            assert_eq!(store.get_into(&key, into), 1 << 20, "{key}");
        }
        assert!(store.has(into, seed), "{key}");
        if round % 2 == 0 {
            assert_eq!(store.remove(&key, true), 0, "{key}");
        }
    }
}

fn several(kind: Kind) {
    let host = Host::start(kind);
    let stores: Vec<Store> = (0..4)
        .map(|_| Store::with_segment(host.address(), 32 * MIB))
        .collect();
    for (seed, store) in (0..).zip(&stores) {
        store.fill(range(0, MIB), seed);
        assert_eq!(store.put(&format!("of-{seed}"), range(0, MIB)), 0);
    }
    for store in &stores {
        store.register(range(4 * MIB, MIB));
        for seed in 0..4 {
            assert_eq!(
                store.get_into(&format!("of-{seed}"), range(4 * MIB, MIB)),
                1 << 20
            );
            assert!(store.has(range(4 * MIB, MIB), seed));
        }
    }
    let twice = Replication {
        replica_num: Some(2),
        ..Replication::default()
    };
    let put = Command::Put {
        key: "twice".to_owned(),
        value: range(0, MIB),
        config: twice,
    };
    assert_eq!(stores[0].number(put), 0);
    let described = stores[1].ask(Command::GetReplicaDesc {
        key: "twice".to_owned(),
    });
    let Outcome::Replicas(replicas) = described else {
        panic!("{described:?}")
    };
    assert_eq!(replicas.len(), 2);
    assert_ne!(replicas[0].place, replicas[1].place);
    // Whoever leaves takes along what lay in its memory only.
    let [first, rest @ ..] = &stores[..] else {
        panic!("four")
    };
    first.close();
    assert_eq!(rest[0].get("twice", range(8 * MIB, MIB)), MIB);
    assert!(rest[0].has(range(8 * MIB, MIB), 0));
    for store in rest {
        store.close();
    }
}

/// What a client is called, and where it hands out its memory: `HOST:PORT` each. The second is read off an object that it stores.
fn addresses_of(store: &Store, key: &str) -> [String; 2] {
    let key = key.to_owned();
    let Outcome::Replicas(replicas) = store.ask(Command::GetReplicaDesc { key }) else {
        panic!("replicas")
    };
    [store.name(), replicas[0].place.clone()]
}

fn put_here(key: &str, name: String) -> Command {
    Command::Put {
        key: key.to_owned(),
        value: range(0, MIB),
        config: Replication {
            preferred_segments: Some(vec![name]),
            ..plain()
        },
    }
}

/// A client that has neither the name nor the address of a dead one: ports are drawn, and who draws such a one takes the dead one's
/// memory for its own. Measured: reading it is a SIGSEGV.
fn somewhere_else(host: &Host, taken: &[String; 2]) -> Store {
    loop {
        let store = Store::with_segment(host.address(), 16 * MIB);
        let name = store.name();
        if name != taken[0] {
            assert_eq!(store.number(put_here("where", name)), 0);
            if addresses_of(&store, "where")[1] != taken[1] {
                return store;
            }
        }
        store.close();
    }
}

/// A client that dies without a word leaves its object listed; another in its place can have the name.
fn client_restart(kind: Kind) {
    let host = Host::start(kind);
    let dead = Store::with_segment(host.address(), 16 * MIB);
    dead.fill(range(0, MIB), 1);
    assert_eq!(dead.put("k", range(0, MIB)), 0);
    let addresses = addresses_of(&dead, "k");
    assert_eq!(dead.agent.kill().expect("killed").signal(), Some(9));

    let store = somewhere_else(&host, &addresses);
    assert_eq!(store.is_exist("k"), 1, "nobody has noticed yet");
    assert_eq!(store.get("k", range(0, MIB)), 0, "its memory is gone");
    assert_eq!(store.remove("k", true), 0);
    store.fill(range(0, MIB), 2);
    assert_eq!(store.number(put_here("k", store.name())), 0);
    assert_eq!(store.get("k", range(2 * MIB, MIB)), MIB);
    assert!(store.has(range(2 * MIB, MIB), 2));
    store.close();
}

/// A node that dies and is started again under its old name, as deployments do that give names and ports: while the master lists what
/// the dead one had, the new one takes those addresses for its own memory, and reading them ends its process (or brings whatever lies there).
fn same_name(kind: Kind) {
    let host = Host::start(kind);
    let metadata = MetadataServer::serve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let name = free.local_addr().expect("its address").to_string();
    drop(free);
    let setup = || Setup {
        local_hostname: name.clone(),
        metadata_server: metadata.url(),
        ..Setup::tcp(host.address().to_string(), 16 * MIB)
    };
    let dead = Store::set_up(setup());
    assert_eq!(dead.put("k", range(0, MIB)), 0);
    assert_eq!(dead.agent.kill().expect("killed").signal(), Some(9));

    let again = agent();
    let refused = again.call(&Command::Setup(setup())).expect("an answer");
    let again = match refused.outcome.number() {
        // What the dead one has left at the metadata server is in the way once, and goes with that.
        Some(-600) => Store::set_up(setup()),
        _ => Store { agent: again },
    };
    assert_eq!(again.is_exist("k"), 1, "nobody has noticed yet");
    let read = Command::Get {
        key: "k".to_owned(),
        into: range(0, MIB),
    };
    match again.agent.call(&read) {
        Err(AgentError::Gone { status, .. }) => {
            assert_eq!(status.and_then(|status| status.signal()), Some(11), "SIGSEGV");
        }
        // Something of its own lies there by chance: it is told as the object.
        lives => assert_eq!(lives.ok().and_then(|reply| reply.outcome.number()), Some(1 << 20)),
    }
}

/// A master that is started anew knows nobody; its clients mount again by themselves.
fn master_restart(kind: Kind) {
    let first = Host::start(kind);
    let recorder = Recorder::before(first.address());
    let store = Store::with_segment(recorder.address(), 16 * MIB);
    store.fill(range(0, MIB), 1);
    assert_eq!(store.put("k", range(0, MIB)), 0);
    // Its first ping is answered so that it mounts again; only the one after that counts.
    let seen = recorder.until(0, Rpc::ReMountSegment);
    drop(first);
    let second = Host::start(kind);
    let broken = recorder.redirect(second.address());
    recorder.until(seen, Rpc::ReMountSegment);
    // Each connection that broke while it was idle costs one call, and the client does not try again.
    let mut failed = 0;
    let there = loop {
        match store.is_exist("k") {
            RPC_FAIL if failed < broken => failed += 1,
            answer => break answer,
        }
    };
    assert_eq!(there, 0, "after {failed} of {broken} connections");
    assert_eq!(store.put("k", range(0, MIB)), 0);
    assert_eq!(store.get("k", range(2 * MIB, MIB)), MIB);
    assert!(store.has(range(2 * MIB, MIB), 1));
    store.close();
}
