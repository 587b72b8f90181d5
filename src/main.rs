//! Arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    gslb_bridge::cli::main(std::env::args_os())
}
