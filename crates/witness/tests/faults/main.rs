//! Page faults as a witness: what they tell, and that everybody who waits is let go. Where no such witness can be had the tests
//! are listed as ignored, and their kind says why.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod process;

fn main() {
    #[cfg(target_os = "linux")]
    if std::env::args().nth(1).as_deref() == Some(process::CHILD) {
        return process::obey();
    }
    let arguments = libtest_mimic::Arguments::from_args();
    #[cfg(target_os = "linux")]
    let trials = cases::trials();
    #[cfg(not(target_os = "linux"))]
    let trials = Vec::new();
    libtest_mimic::run(&arguments, trials).exit();
}
