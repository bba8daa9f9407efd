//! Each kind of access under each witness: one test a cell. A cell that nobody can try here is listed as ignored, and its kind
//! says why.

use libtest_mimic::{Arguments, Failed, Trial};
use moonquake_witness::AccessKind;
use moonquake_witness::selftest::{Claimed, Finding, Measured, Subject};

fn main() {
    let arguments = Arguments::from_args();
    let trials = Subject::ALL.into_iter().flat_map(|subject| {
        let ready = subject.ready();
        AccessKind::ALL.map(|kind| {
            let reason = match &ready {
                Ok(()) => reason(subject, kind).map(str::to_owned),
                Err(why) => Some(why.to_string()),
            };
            let name = format!("{}::{}", words(subject.name()), words(&kind.to_string()));
            let trial = Trial::test(name, move || cell(subject, kind));
            match reason {
                Some(reason) => trial.with_kind(reason).with_ignored_flag(true),
                None => trial,
            }
        })
    });
    let trials = trials.collect();
    libtest_mimic::run(&arguments, trials).exit();
}

fn words(name: &str) -> String {
    name.replace(", ", "_").replace([' ', '-'], "_")
}

/// Why a cell cannot be tried, whatever machine this is.
fn reason(subject: Subject, kind: AccessKind) -> Option<&'static str> {
    let claimed = Claimed::by(&subject.sight(), kind);
    match (subject, claimed) {
        (_, Claimed::Absent) => Some("nobody can do that to memory of the model"),
        (Subject::SocketLog, _) => Some("needs the real client"),
        _ if kind.way == moonquake_witness::Way::Nic => {
            Some("needs a network card that is told of the memory")
        }
        _ => None,
    }
}

fn cell(subject: Subject, kind: AccessKind) -> Result<(), Failed> {
    let cell = subject.cell(kind);
    match (cell.finding(), &cell.measured) {
        (Finding::Met, _) => Ok(()),
        // Whoever is ruled by a filter of system calls must know that this claim rests on nothing here.
        (Finding::Untried, Measured::NotPlanted { why }) => {
            Err(format!("could not be planted: {why}").into())
        }
        // A page that is seen where none should be means that a claim is out of date.
        (finding, measured) => Err(format!("{finding:?}: claimed {:?}, {measured:?}", cell.claimed).into()),
    }
}
