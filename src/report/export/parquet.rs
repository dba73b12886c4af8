//! A table in columns.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::Export;

/// Rows whose columns stand together.
const GROUP: usize = 1 << 16;

/// Writes the columns, group of rows after group of rows, plain.
pub(super) fn write(export: &Export<'_>, file: &mut (impl Write + Send)) -> Result<()> {
    let numbers = export.numbers();
    let names = export.column_names();
    let properties = WriterProperties::builder()
        .set_created_by("isvd-dist".to_owned())
        // Entries of vectors hardly repeat, and are not searched by range.
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let schema = schema(numbers.is_some(), &names)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let rows = export.ids.len();
    for first in (0..rows).step_by(GROUP) {
        let group = first..rows.min(first + GROUP);
        let mut columns = vec![Vec::with_capacity(group.len()); names.len()];
        for row in group.clone() {
            columns.iter_mut().zip(export.vectors.row(export.side, row)).for_each(|(column, entry)| column.push(entry));
        }
        let mut group_writer = writer.next_row_group()?;
        if let Some(mut column) = group_writer.next_column()? {
            match &numbers {
                Some(numbers) => column.typed::<Int64Type>().write_batch(&numbers[group], None, None)?,
                None => {
                    let id = |row| ByteArray::from(export.ids.get(row).unwrap_or_default().as_ref());
                    column.typed::<ByteArrayType>().write_batch(&group.map(id).collect::<Vec<_>>(), None, None)?
                }
            };
            column.close()?;
        }
        for entries in &columns {
            if let Some(mut column) = group_writer.next_column()? {
                column.typed::<FloatType>().write_batch(entries, None, None)?;
                column.close()?;
            }
        }
        group_writer.close()?;
    }
    writer.close()?;
    Ok(())
}

/// A column of ids and columns of numbers, none with gaps.
fn schema(are_numbers: bool, names: &[String]) -> Result<TypePtr> {
    let column = |name: &str, physical, logical| {
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let id = match are_numbers {
        true => column("id", Physical::INT64, None)?,
        false => column("id", Physical::BYTE_ARRAY, Some(LogicalType::String))?,
    };
    let mut fields = vec![id];
    for name in names {
        fields.push(column(name, Physical::FLOAT, None)?);
    }
    Type::group_type_builder("nodes").with_fields(fields).build().map(Arc::new)
}
