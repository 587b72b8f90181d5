//! `gslb-bridge crds`

use std::io::Write;

use clap::Args;

use super::Ending;

#[derive(Debug, Args)]
pub(super) struct CrdsArgs {
    /// Print the optional admission policies for annotations instead (Kubernetes 1.30 and later).
    #[arg(long)]
    admission_policies: bool,
}

pub(super) fn run(arguments: &CrdsArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let yaml = if arguments.admission_policies { gslb_crds::admission::yaml() } else { gslb_crds::yaml() };
    out.write_all(yaml.as_bytes())?;
    Ok(Ending::Fine)
}
