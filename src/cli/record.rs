//! `gslb-bridge record`: what a grid answers, for those who have none.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use gslb_provider_contract::Scope;
use gslb_provider_infoblox::install_crypto_provider;
use gslb_provider_infoblox::recording::{Recording, record};

use super::Ending;
use super::configuration::{self, Configuration};
use crate::config::{self, BadConfiguration, InfobloxSettings, ProviderChoice};
use crate::{provision, telemetry};

/// Settings are those of `run`.
#[derive(Debug, Args)]
pub(super) struct RecordArgs {
    #[command(flatten)]
    configuration: Configuration,
    /// Which of the configured providers, where there are several
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Folder to make; it must not exist, or be empty
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Reads, and writes files here; never at the grid.
pub(super) async fn run(arguments: RecordArgs, out: &mut impl Write) -> anyhow::Result<Ending> {
    let raw = arguments.configuration.read();
    let settings = configuration::settled(config::load(&raw))?;
    if arguments.configuration.print_config {
        configuration::print(&raw, config::Readers::Run, &settings.warnings, out)?;
        return Ok(Ending::Fine);
    }
    telemetry::init(&settings.log).context("cannot start the log")?;
    configuration::warn(&settings.warnings);
    let infoblox = grid(&settings.provider, arguments.provider.as_deref())?;
    if settings.zones.is_empty() {
        bail!(BadConfiguration("no zone is named; set DNS_ZONES to the zones to ask for"));
    }
    install_crypto_provider();
    let grid = provision::grid(infoblox).context(BadConfiguration("the provider cannot be set up"))?;
    let folder = &arguments.folder;
    make(folder)?;
    let scopes: Vec<_> = settings.zones.iter().map(Scope::from).collect();
    let recording = record(grid, &scopes).await?;
    save(&recording, folder)?;
    tell(&recording, folder, out)?;
    Ok(Ending::Fine)
}

/// The grid to record.
fn grid<'a>(choice: &'a ProviderChoice, name: Option<&str>) -> anyhow::Result<&'a InfobloxSettings> {
    match (choice, name) {
        (ProviderChoice::Infoblox(grid), None) => Ok(grid),
        (ProviderChoice::Listed(grids), _) => {
            let mut fits = grids.iter().filter(|(listed, _)| name.is_none_or(|name| name == *listed));
            match (fits.next(), fits.next()) {
                (Some((_, grid)), None) => Ok(grid),
                _ => bail!(BadConfiguration("name one of the configured providers with --provider")),
            }
        }
        (ProviderChoice::Infoblox(_), Some(_)) => {
            bail!(BadConfiguration("the configuration lists no providers, so leave --provider out"))
        }
        (ProviderChoice::None | ProviderChoice::ExternalDns | ProviderChoice::Webhook(_), _) => {
            bail!(BadConfiguration("only Infoblox can be recorded; set INFOBLOX_GRID_HOST"))
        }
    }
}

/// Nothing that is there already is mixed with a recording. Before the grid is asked, so that nothing is asked in vain.
fn make(folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))?;
    let mut entries = fs::read_dir(folder).with_context(|| format!("cannot read {shown}"))?;
    if entries.next().is_some() {
        bail!("{shown} is not empty; name a folder that does not exist yet");
    }
    Ok(())
}

fn save(recording: &Recording, folder: &Path) -> anyhow::Result<()> {
    for (name, content) in &recording.files {
        let path = folder.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn tell(recording: &Recording, folder: &Path, out: &mut impl Write) -> anyhow::Result<()> {
    for finding in &recording.findings {
        writeln!(out, "{finding}").context("cannot print")?;
    }
    let (count, folder) = (recording.files.len(), folder.display());
    writeln!(
        out,
        "\n{count} files are in {folder}. Names, addresses and words of yours stand there under other ones; look through\nthem before you send them. Nothing was written at the grid."
    )
    .context("cannot print")
}
