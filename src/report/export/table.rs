//! A table as text.

use std::io::{self, Write};

use super::Export;
use crate::report::table::quoted;

/// Writes a line of names, then a line a node. Numbers are as short as they can be and still be the
/// same.
pub(super) fn write(export: &Export<'_>, separator: char, file: &mut impl Write) -> io::Result<()> {
    write!(file, "id")?;
    for name in export.column_names() {
        write!(file, "{separator}{name}")?;
    }
    writeln!(file)?;
    for (row, id) in export.ids.iter().enumerate() {
        write!(file, "{}", quoted(&id, separator))?;
        for entry in export.vectors.row(export.side, row) {
            write!(file, "{separator}{entry:?}")?;
        }
        writeln!(file)?;
    }
    Ok(())
}
