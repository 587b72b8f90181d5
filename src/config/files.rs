//! Files that the settings name, looked at before anything starts, so that one that cannot be used is told together
//! with everything else.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use super::problem::{Problem, Problems, Warning};
use super::raw::RawConfig;
use super::settings::Settings;
use crate::webhook::settings::WebhookSettings;

/// All of a file. A pipe or a device is an error: it would be waited for.
///
/// # Errors
/// It cannot be read, or is no regular file.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::read(path),
        false => Err(io::Error::other("it is no regular file")),
    }
}

/// Files of a grid that are read once, at start.
const READ_AT_START: [&str; 3] =
    ["INFOBLOX_CA_FILE", "INFOBLOX_CLIENT_CERT_FILE", "INFOBLOX_CLIENT_KEY_FILE"];
const HMAC_KEY: &str = "CHANGE_LOG_HMAC_KEY_FILE";
/// Files of a grid that are read before each log-in: one that is not there yet may come.
const READ_LATER: [&str; 2] = ["INFOBLOX_WAPI_USERNAME_FILE", "INFOBLOX_WAPI_PASSWORD_FILE"];
const APPENDED_TO: &str = "CHANGE_LOG_FILE";

/// The settings, or all that is wrong with them and with the files that they name.
///
/// # Errors
/// Everything that is wrong, at once.
pub fn load(raw: &RawConfig) -> Result<Settings, Problems> {
    let (mut settings, warnings) = with_files(raw, Settings::resolve(raw))?;
    settings.warnings.extend(warnings);
    Ok(settings)
}

/// The same for `gslb-bridge webhook`.
///
/// # Errors
/// Everything that is wrong, at once.
pub fn load_webhook(raw: &RawConfig) -> Result<WebhookSettings, Problems> {
    let (mut settings, warnings) = with_files(raw, WebhookSettings::resolve(raw))?;
    settings.warnings.extend(warnings);
    Ok(settings)
}

fn with_files<T>(raw: &RawConfig, read: Result<T, Problems>) -> Result<(T, Vec<Warning>), Problems> {
    let (problems, warnings) = check(raw);
    match read {
        Ok(settings) if problems.is_empty() => Ok((settings, warnings)),
        Ok(_) => Err(Problems::sorted(problems)),
        Err(Problems(others)) => Err(Problems::sorted([others, problems].concat())),
    }
}

/// Everything that is wrong with the named files, and what may become right.
fn check(raw: &RawConfig) -> (Vec<Problem>, Vec<Warning>) {
    let (mut problems, mut warnings) = check_of_grids(raw);
    if let Some(path) = written(raw, HMAC_KEY) {
        problems.extend(unreadable(raw, HMAC_KEY, path));
    }
    if let Some(path) = written(raw, APPENDED_TO)
        && let Err(error) = appendable(Path::new(path))
    {
        let fix = "name a file in a folder that exists and that this process can write to";
        let limit = format!("the file cannot be written ({error})");
        problems.push(Problem::with_value(raw.place(APPENDED_TO), path, limit, fix));
    }
    for (_, instance) in raw.instances().into_iter().flatten() {
        let (of_grid, later) = check_of_grids(&instance);
        problems.extend(of_grid);
        warnings.extend(later);
    }
    (problems, warnings)
}

/// Those of the grid that is selected, if one is.
fn check_of_grids(raw: &RawConfig) -> (Vec<Problem>, Vec<Warning>) {
    if raw.value("INFOBLOX_GRID_HOST").is_empty() {
        return (Vec::new(), Vec::new());
    }
    let named = |name: &'static str| Some((name, written(raw, name)?));
    let read = READ_AT_START.into_iter().filter_map(named);
    let problems = read.filter_map(|(name, path)| unreadable(raw, name, path)).collect();
    let later = READ_LATER.into_iter().filter_map(named);
    let warnings = later.filter_map(|(variable, path)| {
        let error = read_file(Path::new(path)).err()?;
        let text =
            format!("names {path}, which cannot be read ({error}); it is tried again before each log-in");
        Some(Warning { place: raw.place(variable), text })
    });
    (problems, warnings.collect())
}

fn written<'a>(raw: &'a RawConfig, name: &'static str) -> Option<&'a str> {
    raw.written(name).map(str::trim).filter(|path| !path.is_empty())
}

fn unreadable(raw: &RawConfig, name: &'static str, path: &str) -> Option<Problem> {
    let error = read_file(Path::new(path)).err()?;
    let fix = "name a file that this process can read";
    let limit = format!("the file cannot be read ({error})");
    Some(Problem::with_value(raw.place(name), path, limit, fix))
}

/// Whether the file can be appended to. One that is not there is made, which alone tells, and removed again.
fn appendable(path: &Path) -> io::Result<()> {
    if path.exists() {
        return OpenOptions::new().append(true).open(path).map(drop);
    }
    OpenOptions::new().append(true).create_new(true).open(path)?;
    std::fs::remove_file(path)
}
