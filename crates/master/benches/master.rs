//! How fast the master answers in process, on one core. Run with `cargo bench -p moonquake-master`.

mod rig;

use divan::{Bencher, black_box};
use moonquake_clock::{Span, Thread};
use moonquake_master::Master;
use moonquake_protocol::{ErrorCode, Request, Response};
use rig::{CLIENT, START, filled, key, put, put_of};

fn main() {
    divan::main();
}

/// Keys in an order that no cache foresees.
fn scattered(objects: usize) -> impl Iterator<Item = usize> {
    // A step without a common factor visits all.
    (0..objects)
        .map(move |index| (index * 7_919 + 13) % objects)
        .cycle()
}

fn requests(objects: usize, of: impl Fn(String) -> Request) -> Vec<Request> {
    scattered(objects)
        .take(objects)
        .map(|number| of(key(number)))
        .collect()
}

fn exist(key: String) -> Request {
    let tenant_id = String::new();
    Request::ExistKey { key, tenant_id }
}

fn get(key: String) -> Request {
    let tenant_id = String::new();
    Request::GetReplicaList { key, tenant_id }
}

/// One read a turn, of ever the same key (`1`) or of all keys in turn. The key is written into one request, so that
/// nothing but the master's own memory is scattered.
fn read(bencher: Bencher, keys: usize, of: impl Fn(String) -> Request) {
    let mut master = filled(250_000);
    let keys: Vec<[u8; 32]> = scattered(250_000)
        .take(keys)
        .map(|number| bytes(&key(number)))
        .collect();
    let mut request = of(key(0));
    let mut turn = keys.iter().cycle();
    let mut answer = Response::ExistKey(Err(ErrorCode::InternalError));
    bencher.bench_local(|| {
        if let (Some(next), Some(key)) = (turn.next(), key_of(&mut request)) {
            key.clear();
            key.push_str(str::from_utf8(next).unwrap_or_default());
        }
        master.handle_into(START, black_box(&request), &[], black_box(&mut answer));
    });
}

fn bytes(key: &str) -> [u8; 32] {
    key.as_bytes().try_into().expect("the key has 32 bytes")
}

fn key_of(request: &mut Request) -> Option<&mut String> {
    match request {
        Request::ExistKey { key, .. } | Request::GetReplicaList { key, .. } => Some(key),
        _ => None,
    }
}

/// The floor of a read of scattered keys: reads of lines that follow from one another, in as much memory as 250,000
/// objects take.
#[divan::bench(args = [1, 2, 3], sample_count = 250, sample_size = 1000)]
fn floor_of_dependent_misses(bencher: Bencher, misses: usize) {
    let mut lines = vec![[0_u32; 64]; 250_000];
    for (from, to) in scattered(250_000).zip(scattered(250_000).skip(1)).take(250_000) {
        lines[from][0] = to as u32;
    }
    let mut place = 0;
    bencher.bench_local(|| {
        for _ in 0..misses {
            place = lines[place][0] as usize;
        }
        black_box(place)
    });
}

#[divan::bench(args = [1, 250_000], sample_count = 250, sample_size = 1000)]
fn exist_key(bencher: Bencher, keys: usize) {
    read(bencher, keys, exist);
}

#[divan::bench(args = [1, 250_000], sample_count = 250, sample_size = 1000)]
fn get_replica_list(bencher: Bencher, keys: usize) {
    read(bencher, keys, get);
}

fn remove_request(key: String) -> Request {
    Request::Remove {
        key,
        force: false,
        tenant_id: String::new(),
    }
}

/// New keys, one after the other: the store grows.
#[divan::bench(sample_count = 200, sample_size = 1000)]
fn put_start_and_put_end(bencher: Bencher) {
    let fresh: Vec<String> = (250_000..450_000).map(key).collect();
    put_each(bencher, filled(250_000), &fresh);
}

/// A store in use, as full as it gets: what comes takes the place of what went, all of it scattered.
#[divan::bench(sample_count = 200, sample_size = 1000)]
fn put_start_and_put_end_in_old_places(bencher: Bencher) {
    let mut master = filled(250_000);
    let gone: Vec<String> = scattered(250_000).take(200_000).map(key).collect();
    for key in gone.iter().cloned() {
        master.handle(START + Span::from_secs(3_600), &remove_request(key), &[]);
    }
    put_each(bencher, master, &gone);
}

fn put_each(bencher: Bencher, mut master: Master, keys: &[String]) {
    // To make the requests and to give them up is not the master's work.
    let requests: Vec<[Request; 2]> = keys.iter().map(|key| put(key)).collect();
    let mut turn = requests.iter();
    let mut answer = Response::ExistKey(Err(ErrorCode::InternalError));
    bencher.bench_local(|| {
        for request in turn.next().into_iter().flatten() {
            master.handle_into(START, black_box(request), &[], &mut answer);
        }
    });
}

#[divan::bench(sample_count = 100, sample_size = 1000)]
fn remove(bencher: Bencher) {
    let mut master = filled(250_000);
    let mut turn = requests(250_000, remove_request).into_iter();
    let mut answer = Response::ExistKey(Err(ErrorCode::InternalError));
    let now = START + Span::from_secs(3_600);
    bencher.bench_local(|| {
        if let Some(request) = turn.next() {
            master.handle_into(now, black_box(&request), &[], &mut answer);
        }
    });
}

/// A hundred keys, each put, ended and removed.
#[divan::bench]
fn batch_of_100_put_end_remove(bencher: Bencher) {
    let mut master = filled(100_000);
    let keys: Vec<String> = (0..100).map(|number| format!("another-{number:024}")).collect();
    let [start, end] = put_of(&keys);
    let remove = Request::BatchRemove {
        keys,
        force: true,
        tenant_id: String::new(),
    };
    bencher.bench_local(|| {
        for request in [&start, &end, &remove] {
            black_box(master.handle(START, black_box(request), &[]));
        }
    });
}

#[divan::bench]
fn batch_of_100_get_replica_list(bencher: Bencher) {
    let mut master = filled(250_000);
    let keys: Vec<String> = scattered(250_000).take(100).map(key).collect();
    let tenant_id = String::new();
    let request = Request::BatchGetReplicaList { keys, tenant_id };
    let mut answer = Response::ExistKey(Err(ErrorCode::InternalError));
    bencher.bench_local(|| master.handle_into(START, black_box(&request), &[], &mut answer));
}

/// A round over a million objects, none leased, that takes the oldest twentieth.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn eviction_round_over_a_million(bencher: Bencher) {
    bencher
        .with_inputs(|| {
            let mut master = filled(1_000_000);
            let absent = Request::PutStart {
                client_id: CLIENT,
                key: "too large".to_owned(),
                slice_length: 1 << 40,
                config: Default::default(),
                tenant_id: String::new(),
            };
            // A put that finds no room asks for eviction.
            master.handle(START, &absent, &[]);
            master
        })
        .bench_local_refs(|master| master.tick(START + Span::from_secs(3_600), Thread::Eviction));
}

#[divan::bench(args = [1_000, 100_000])]
fn eviction_tick_without_pressure(bencher: Bencher, objects: usize) {
    let mut master = filled(objects);
    bencher.bench_local(|| master.tick(black_box(START), Thread::Eviction));
}
