//! Documents that hold a part which the code makes.

use std::fs;
use std::path::Path;

/// The part of the document between the marks of that name is `wanted`. With `UPDATE_DOCS` in the environment it is
/// written instead.
pub(crate) fn assert_says(document: &str, part: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let (begin, end) = (format!("<!-- {part}: begin -->\n"), format!("<!-- {part}: end -->\n"));
    let found = fs::read_to_string(&path).unwrap();
    let (before, rest) = found.split_once(&begin).unwrap();
    let (_, after) = rest.split_once(&end).unwrap();
    let wanted = [before, &begin, wanted, &end, after].concat();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(found == wanted, "{document} is out of date: UPDATE_DOCS=1 cargo test --test docs --test check");
}
