//! Scratch.
use moonquake_differ::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let setup = Setup::named(&args.next().unwrap_or("defaults".into())).unwrap();
    let count: u64 = args.next().map_or(20, |a| a.parse().unwrap());
    let first: u64 = args.next().map_or(0, |a| a.parse().unwrap());
    let every: usize = args.next().map_or(256, |a| a.parse().unwrap());
    let mut pair = Pair::start(&setup).unwrap();
    if std::env::var("THREADS").is_ok() {
        for t in pair.real().process().threads() {
            println!("{t:?}");
        }
        return;
    }
    let start = std::time::Instant::now();
    let (mut ops, mut bad) = (0, 0);
    for seed in first..first + count {
        match pair.run_seed(seed, usize::MAX, States::Every(every)) {
            Ok(mut ran) => {
                ops += ran.history.operations.len();
                if ran.difference.is_some() {
                    let t = std::time::Instant::now();
                    ran = shrink(&mut pair, ran).unwrap();
                    println!("shrunk to {} in {:?}", ran.history.operations.len(), t.elapsed());
                    if ran.history.operations.len() < 25 {
                        for o in &ran.history.operations {
                            println!("    {}", serde_json::to_string(o).unwrap());
                        }
                    }
                }
                if let Some(d) = ran.difference {
                    bad += 1;
                    println!(
                        "seed {seed}: op {} of {}: {:?}",
                        d.index,
                        ran.history.operations.len(),
                        d.operation
                    );
                    match d.parted {
                        Parted::Outcome { rust, real } => println!("  rust {rust:?}\n  real {real:?}"),
                        Parted::State { rust, real } => {
                            println!(
                                "  rust {} {} {:?}\n  real {} {} {:?}",
                                rust.allocated_bytes,
                                rust.capacity_bytes,
                                rust.segments,
                                real.allocated_bytes,
                                real.capacity_bytes,
                                real.segments
                            );
                            for (k, v) in &rust.keys {
                                if real.keys.get(k) != Some(v) {
                                    println!("  {k}: rust {v:?} real {:?}", real.keys.get(k));
                                }
                            }
                        }
                    }
                    if bad > 5 {
                        break;
                    }
                }
            }
            Err(error) => {
                println!("seed {seed}: {error}");
                bad += 1;
                pair = Pair::start(&setup).unwrap();
                if bad > 5 {
                    break;
                }
            }
        }
    }
    let took = start.elapsed().as_secs_f64();
    println!(
        "{ops} ops, {bad} bad, {took:.2} s, {:.0} ops/s",
        ops as f64 / took
    );
    if std::env::var("COV").is_ok() {
        for (k, v) in &pair.coverage.counts {
            println!("{k}: {v:?}");
        }
    }
}
