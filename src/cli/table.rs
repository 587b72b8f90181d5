//! Columns for people.

use std::io::{self, Write};

/// Prints rows below headers, each column as wide as its widest cell. The last column is not padded.
pub(super) fn print<const N: usize>(
    out: &mut impl Write,
    headers: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headers[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", padded.collect::<Vec<_>>().join("   ").trim_end())
    };
    line(headers)?;
    rows.iter().try_for_each(|row| line(row.each_ref().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut out = Vec::new();
        let rows = [["a", "long cell"], ["wider than its header", ""]].map(|row| row.map(str::to_owned));
        print(&mut out, ["ONE", "TWO"], &rows).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "ONE                     TWO\na                       long cell\nwider than its header\n"
        );
    }
}
