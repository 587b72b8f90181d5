//! Files that the settings name, looked at before anything starts, so that one that cannot be used is told together
//! with everything else.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use super::problem::{Problem, Problems, Warning};
use super::raw::RawConfig;
use super::settings::Settings;

/// Files that are read once, at start.
const READ_AT_START: [&str; 4] =
    ["INFOBLOX_CA_FILE", "INFOBLOX_CLIENT_CERT_FILE", "INFOBLOX_CLIENT_KEY_FILE", "CHANGE_LOG_HMAC_KEY_FILE"];
/// Files that are read before each log-in: one that is not there yet may come.
const READ_LATER: [&str; 2] = ["INFOBLOX_WAPI_USERNAME_FILE", "INFOBLOX_WAPI_PASSWORD_FILE"];
const APPENDED_TO: &str = "CHANGE_LOG_FILE";

/// The settings, or all that is wrong with them and with the files that they name.
///
/// # Errors
/// Everything that is wrong, at once.
pub fn load(raw: &RawConfig) -> Result<Settings, Problems> {
    let (problems, warnings) = check(raw);
    match Settings::resolve(raw) {
        Ok(mut settings) if problems.is_empty() => {
            settings.warnings.extend(warnings);
            Ok(settings)
        }
        Ok(_) => Err(Problems::sorted(problems)),
        Err(Problems(others)) => Err(Problems::sorted([others, problems].concat())),
    }
}

/// Everything that is wrong with the named files, and what may become right.
fn check(raw: &RawConfig) -> (Vec<Problem>, Vec<Warning>) {
    let named =
        |name: &'static str| Some((name, raw.written(name)?.trim())).filter(|(_, path)| !path.is_empty());
    let mut problems = Vec::new();
    let idle = |name: &str| name.starts_with("INFOBLOX_") && raw.value("INFOBLOX_GRID_HOST").is_empty();
    let read = READ_AT_START.into_iter().filter(|name| !idle(name));
    for (name, path) in read.filter_map(named) {
        if let Err(error) = std::fs::read(path) {
            let fix = "name a file that this process can read";
            let limit = format!("the file cannot be read ({error})");
            problems.push(Problem::with_value(raw.place(name), path, limit, fix));
        }
    }
    if let Some((name, path)) = named(APPENDED_TO)
        && let Err(error) = appendable(Path::new(path))
    {
        let fix = "name a file in a folder that exists and that this process can write to";
        let limit = format!("the file cannot be written ({error})");
        problems.push(Problem::with_value(raw.place(name), path, limit, fix));
    }
    let later = READ_LATER.into_iter().filter(|name| !idle(name)).filter_map(named);
    let warnings = later.filter_map(|(variable, path)| {
        let error = std::fs::read(path).err()?;
        let text =
            format!("names {path}, which cannot be read ({error}); it is tried again before each log-in");
        Some(Warning { place: raw.place(variable), text })
    });
    (problems, warnings.collect())
}

/// Whether the file can be appended to. One that is not there is made, which alone tells, and removed again.
fn appendable(path: &Path) -> io::Result<()> {
    if path.exists() {
        return OpenOptions::new().append(true).open(path).map(drop);
    }
    OpenOptions::new().append(true).create_new(true).open(path)?;
    std::fs::remove_file(path)
}
