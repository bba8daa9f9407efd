//! Writing to standard output and error. A reader that has gone is no fault; a full disk behind a redirection is one.

use crate::error::CliError;
use std::io::{ErrorKind, IsTerminal, Write};

/// Standard output.
#[derive(Debug, Default)]
pub(crate) struct Out {
    is_closed: bool,
    failure: Option<std::io::Error>,
}

impl Out {
    /// Writes a text as it is. Once the reader has gone, texts go nowhere.
    pub(crate) fn text(&mut self, text: &str) {
        if self.is_closed {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            self.is_closed = true;
            self.failure = Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe);
        }
    }

    /// Writes a line. Control characters, which a terminal would obey, become spaces.
    pub(crate) fn line(&mut self, line: &str) {
        self.painted(line, None);
    }

    /// Writes a line in a colour of terminals, given by its number.
    pub(crate) fn painted(&mut self, line: &str, colour: Option<&str>) {
        let clean: String = line
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        self.text(&match colour {
            Some(colour) => format!("\u{1b}[{colour}m{clean}\u{1b}[0m\n"),
            None => format!("{clean}\n"),
        });
    }

    /// Whether everything was written that anybody wanted to read.
    pub(crate) fn finish(self) -> Result<(), CliError> {
        self.failure
            .map_or(Ok(()), |source| Err(CliError::Output { source }))
    }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Writes to standard error; if that fails, nobody is left to be told.
pub(crate) fn complain(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let _nobody_reads = stderr.write_all(text.as_bytes());
}
