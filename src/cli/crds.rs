//! `gslb-bridge crds`

use std::io::Write;

use super::Ending;

pub(super) fn run(out: &mut impl Write) -> anyhow::Result<Ending> {
    out.write_all(gslb_crds::yaml().as_bytes())?;
    Ok(Ending::Fine)
}
