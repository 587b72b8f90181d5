//! Documents that must say what the code says.

use std::fs;
use std::path::Path;

use gslb_bridge::config::{VARIABLES, Variable};

const BEGIN: &str = "<!-- variables: begin -->\n";
const END: &str = "<!-- variables: end -->\n";

/// With `UPDATE_DOCS` in the environment the table is written instead.
#[test]
fn the_reference_lists_every_environment_variable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let found = fs::read_to_string(&path).unwrap();
    let (before, rest) = found.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let rows: String = VARIABLES.iter().map(row).collect();
    let head = "| Variable | Default | Meaning |\n|---|---|---|\n";
    let wanted = [before, BEGIN, head, &rows, END, after].concat();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(found == wanted, "docs/configuration.md is out of date: UPDATE_DOCS=1 cargo test --test docs");
}

fn row(variable: &Variable) -> String {
    let Variable { name, default, meaning, secret } = variable;
    let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
    let secret = if *secret { " Never shown." } else { "" };
    format!("| `{name}` | {default} | {meaning}{secret} |\n")
}
