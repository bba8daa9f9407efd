//! The exit codes, and which of several counts.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every verdict is as its file says.
    Ok,
    /// A verdict, or what fails in it, differs from the file.
    Violated,
    /// An injection could not be proven, and the file does not say so.
    NotReproduced,
    /// Two engines part where the file does not say so.
    Disagree,
    /// The command line or a scenario file is wrong.
    Usage,
    /// An engine that was asked for is not installed.
    NotInstalled,
    /// The harness itself failed.
    Harness,
    /// Ended by Ctrl-C.
    Interrupted,
    /// Ended by a termination signal.
    Terminated,
    /// Its terminal is gone.
    HungUp,
    /// Ended by Ctrl-\.
    Quit,
}

impl Exit {
    /// From what says most about the whole to what says least. An interrupted program has not looked at everything; a
    /// fault of the harness leaves nothing to rely on; wrong results say more than missing ones; and two engines that
    /// part are interesting once each of them is as its file says.
    const PRECEDENCE: [Exit; 11] = [
        Exit::Quit,
        Exit::HungUp,
        Exit::Terminated,
        Exit::Interrupted,
        Exit::Harness,
        Exit::NotInstalled,
        Exit::Usage,
        Exit::Violated,
        Exit::NotReproduced,
        Exit::Disagree,
        Exit::Ok,
    ];

    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Violated => 1,
            Exit::NotReproduced => 2,
            Exit::Disagree => 3,
            Exit::Usage => 64,
            Exit::NotInstalled => 69,
            Exit::Harness => 70,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::HungUp => 129,
            Exit::Quit => 131,
        }
    }

    /// The one of the two that counts, by [`Exit::PRECEDENCE`].
    pub(crate) fn worst(self, other: Exit) -> Exit {
        let rank = |exit: Exit| Exit::PRECEDENCE.iter().position(|one| *one == exit);
        if rank(self) <= rank(other) { self } else { other }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_has_a_place_and_a_code_of_its_own() {
        let mut codes: Vec<u8> = Exit::PRECEDENCE.map(Exit::code).to_vec();
        codes.sort_unstable();
        assert_eq!(codes, [0, 1, 2, 3, 64, 69, 70, 129, 130, 131, 143]);
    }

    #[test]
    fn the_worst_counts_in_either_order() {
        use Exit::*;
        let worse_than = [
            (Disagree, Ok),
            (NotReproduced, Disagree),
            (Violated, NotReproduced),
            (Violated, Disagree),
            (Usage, Violated),
            (NotInstalled, Usage),
            (Harness, NotInstalled),
            (Harness, Violated),
            (Interrupted, Harness),
            (Terminated, Interrupted),
        ];
        for (worse, better) in worse_than {
            assert_eq!(worse.worst(better), worse, "{worse:?} against {better:?}");
            assert_eq!(better.worst(worse), worse, "{better:?} against {worse:?}");
            assert_eq!(worse.worst(worse), worse);
        }
    }
}
