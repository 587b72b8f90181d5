//! Where commands print.

use std::io::{self, ErrorKind, Write};

/// Passes everything on until the reader has gone, as `head` does; what comes after that nobody wants, so that it is no
/// error.
#[derive(Debug)]
pub(super) struct Printer<W> {
    to: W,
    gone: bool,
}

impl<W> Printer<W> {
    pub(super) fn new(to: W) -> Self {
        Self { to, gone: false }
    }

    /// The result of a call, or `instead` if the reader has gone.
    fn unless_gone<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(instead)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(bytes.len());
        }
        let written = self.to.write(bytes);
        self.unless_gone(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let flushed = self.to.flush();
        self.unless_gone(flushed, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails each call with one kind of error.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_who_has_gone_is_no_error_and_a_full_disk_is_one() {
        for (kind, fails) in [(ErrorKind::BrokenPipe, false), (ErrorKind::StorageFull, true)] {
            let mut printer = Printer::new(Failing(kind));
            let results = [printer.write_all(b"text"), printer.flush(), printer.write_all(b"more")];
            assert!(results.iter().all(|result| result.is_err() == fails), "{results:?}");
        }
    }
}
