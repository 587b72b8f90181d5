//! A daemon of the sandbox ends with the sandbox, however that ends.
//!
//! The sandbox holds the other end of the daemon's standard input and never writes to it: the end of the input is
//! the end of the sandbox. That works on every system and also after a SIGKILL.

use std::io::Read;

/// Set by the sandbox for its children.
pub(super) const VARIABLE: &str = "GSLB_BRIDGE_STOP_WITH_STDIN";

/// Ends this process with its standard input, if the sandbox started it.
pub(in crate::cli) fn watch() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    let wait = || {
        let mut ignored = [0; 64];
        // An error ends it too: then the other end is gone as well.
        while std::io::stdin().read(&mut ignored).is_ok_and(|length| length > 0) {}
        std::process::exit(0);
    };
    // Without the thread the daemon would only live on a little longer.
    drop(std::thread::Builder::new().name("sandbox".to_owned()).spawn(wait));
}
