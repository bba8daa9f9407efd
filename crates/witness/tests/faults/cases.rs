//! The cases.

use libtest_mimic::Trial;
use moonquake_witness::selftest::Subject;
use moonquake_witness::{FaultMode, FaultWitness, How, Mapping, Witness, WitnessError, page_size};
use std::sync::Arc;

/// One test a case.
pub(crate) fn trials() -> Vec<Trial> {
    let cases: [(&str, fn()); 6] = [
        (
            "the_first_access_of_a_page_is_told_and_a_write_behind_a_read",
            first_access,
        ),
        ("a_new_epoch_forgets_the_old_one_and_tells_all_anew", new_epoch),
        ("neighbouring_pages_of_one_thread_are_told_as_one", neighbours),
        ("many_at_once_on_the_same_pages_are_all_let_go", many_at_once),
        ("only_whole_pages_inside_are_watched", whole_pages),
        (
            "the_memory_of_another_process_is_watched_and_let_go",
            crate::process::another_process,
        ),
    ];
    let ready = Subject::MinorShared.ready();
    let trial = |(name, case): (&str, fn())| {
        let trial = Trial::test(name, move || {
            case();
            Ok(())
        });
        match &ready {
            Ok(()) => trial,
            Err(why) => trial.with_kind(why.to_string()).with_ignored_flag(true),
        }
    };
    cases.map(trial).into()
}

fn watched(mode: FaultMode, pages: u64) -> (Arc<Mapping>, FaultWitness) {
    let memory = Arc::new(Mapping::shared(pages * page_size()).unwrap());
    let witness = FaultWitness::new(memory.clone(), mode).unwrap();
    (memory, witness)
}

fn told(witness: &mut FaultWitness) -> Vec<(bool, u64, u64)> {
    let page = page_size();
    let accesses = witness.accesses().unwrap();
    let in_pages = accesses
        .iter()
        .map(|access| (access.write, access.from / page, access.to / page));
    in_pages.collect()
}

fn first_access() {
    let (memory, mut witness) = watched(FaultMode::Minor, 4);
    let page = page_size();
    witness.arm(0..3 * page).unwrap();
    memory.read(page + 5, &mut [0; 3]).unwrap();
    memory.read(page + 9, &mut [0; 3]).unwrap();
    assert_eq!(told(&mut witness), [(false, 1, 2)]);
    memory.write(page + 7, b"x").unwrap();
    memory.write(page + 8, b"x").unwrap();
    memory.read(page, &mut [0; 3]).unwrap();
    assert_eq!(told(&mut witness), [(true, 1, 2)]);
    memory.write(3 * page, b"beside").unwrap();
    assert_eq!(told(&mut witness), []);
    let mut bytes = [0; 4];
    memory.read(page + 6, &mut bytes).unwrap();
    assert_eq!(&bytes, b"\0xx\0");
}

fn new_epoch() {
    for mode in [FaultMode::WriteProtect, FaultMode::Minor] {
        let (memory, mut witness) = watched(mode, 2);
        let page = page_size();
        for epoch in 0_u8..3 {
            witness.arm(0..2 * page).unwrap();
            memory.write(3, &[epoch]).unwrap();
            memory.write(4, &[epoch]).unwrap();
            assert_eq!(told(&mut witness), [(true, 0, 1)], "{mode:?} {epoch}");
            memory.write(page, &[epoch]).unwrap();
        }
        witness.disarm().unwrap();
        assert_eq!(
            told(&mut witness),
            [(true, 1, 2)],
            "what was seen stays to be told"
        );
        memory.write(page, &[9]).unwrap();
        assert_eq!(told(&mut witness), []);
    }
}

fn neighbours() {
    let (memory, mut witness) = watched(FaultMode::WriteProtect, 64);
    witness.arm(0..memory.len()).unwrap();
    memory.write(page_size() / 2, &vec![7; 40 * 4096]).unwrap();
    let seen = witness.accesses().unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].write, seen[0].from), (true, 0));
    assert!(seen[0].to > 40 * 4096);
    let How::Fault { thread } = seen[0].how else {
        panic!("{seen:?}")
    };
    let own = format!("/proc/self/task/{thread}");
    assert!(
        std::path::Path::new(&own).exists(),
        "the thread is one of this process"
    );
}

fn many_at_once() {
    let (memory, mut witness) = watched(FaultMode::Minor, 64);
    witness.arm(0..memory.len()).unwrap();
    let page = usize::try_from(page_size()).unwrap();
    std::thread::scope(|scope| {
        for writer in 0_u8..4 {
            let memory = &memory;
            scope.spawn(move || {
                for at in (0..memory.len()).step_by(page) {
                    if writer % 2 == 0 {
                        memory.read(at, &mut [0]).unwrap();
                    } else {
                        memory.write(at + u64::from(writer), &[writer]).unwrap();
                    }
                }
            });
        }
    });
    let seen = told(&mut witness);
    let written = |page: u64| {
        seen.iter()
            .any(|(write, from, to)| *write && (*from..*to).contains(&page))
    };
    assert!((0..64).all(written), "{seen:?}");
    let mut both = [0; 4];
    memory.read(63 * page_size(), &mut both).unwrap();
    assert_eq!(both, [0, 1, 0, 3]);
}

fn whole_pages() {
    let (memory, mut witness) = watched(FaultMode::WriteProtect, 2);
    for wrong in [0..1, 1..4096, 0..0, 0..memory.len() + page_size()] {
        assert!(witness.arm(wrong.clone()).is_err(), "{wrong:?}");
    }
    let private = Arc::new(Mapping::anonymous(1).unwrap());
    assert!(matches!(
        FaultWitness::new(private, FaultMode::Minor),
        Err(WitnessError::Nonsense(_))
    ));
}
