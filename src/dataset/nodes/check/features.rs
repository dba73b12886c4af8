use super::NodeDataError;
use crate::dataset::SparseFeatures;
use crate::kernel::elementwise::first_non_finite;

/// Features that are all there, row after row.
pub(super) fn check_dense(values: &[f32], nodes: usize, columns: usize) -> Result<(), NodeDataError> {
    if !values.len().is_multiple_of(columns) {
        return Err(NodeDataError::FeatureLayout { problem: "their number is no multiple of that of the columns" });
    }
    if values.len() / columns != nodes {
        return Err(NodeDataError::FeatureRows { rows: values.len() / columns, nodes });
    }
    if let Some(at) = first_non_finite(values) {
        let (row, column) = (at / columns, at % columns);
        return Err(NodeDataError::FeatureNotFinite { row, column, value: values[at] });
    }
    if values.iter().all(|&value| value == 0.0) {
        return Err(NodeDataError::FeaturesZero);
    }
    // All rows are the same where each is the same as the one before.
    if nodes > 1 && values[columns..] == values[..values.len() - columns] {
        return Err(NodeDataError::FeaturesConstant);
    }
    Ok(())
}

/// Features that are mostly zero.
pub(super) fn check_sparse(features: &SparseFeatures, nodes: usize, columns: usize) -> Result<(), NodeDataError> {
    let layout = |sound: bool, problem| if sound { Ok(()) } else { Err(NodeDataError::FeatureLayout { problem }) };
    let SparseFeatures { rows, feature_count, starts, columns: places, values } = features;
    if *rows != nodes {
        return Err(NodeDataError::FeatureRows { rows: *rows, nodes });
    }
    layout(*feature_count == columns, "two numbers of columns are stated")?;
    layout(starts.len() == rows + 1, "not every row has a start")?;
    layout(places.len() == values.len(), "not every value has a column")?;
    layout(starts.first() == Some(&0) && starts.last() == Some(&values.len()), "rows do not hold all values")?;
    layout(starts.is_sorted(), "rows are out of order")?;
    let row = |entry: usize| starts.partition_point(|&start| start <= entry) - 1;
    if let Some(entry) = places.iter().position(|&column| column as usize >= columns) {
        return Err(NodeDataError::FeatureColumn { row: row(entry), column: places[entry], columns });
    }
    if let Some(entry) = first_non_finite(values) {
        let (row, column) = (row(entry), places[entry] as usize);
        return Err(NodeDataError::FeatureNotFinite { row, column, value: values[entry] });
    }
    if values.iter().all(|&value| value == 0.0) {
        return Err(NodeDataError::FeaturesZero);
    }
    let entries = |row: usize| starts[row]..starts[row + 1];
    let stored_alike =
        |row: usize| (&places[entries(0)], &values[entries(0)]) == (&places[entries(row)], &values[entries(row)]);
    let sums = |row: usize| sums(&places[entries(row)], &values[entries(row)]);
    if *rows > 1 && (1..*rows).all(|row| stored_alike(row) || sums(0) == sums(row)) {
        return Err(NodeDataError::FeaturesConstant);
    }
    Ok(())
}

/// A row in canonical form: entries of one feature are added up, and zeros are left out.
fn sums(columns: &[u32], values: &[f32]) -> Vec<(u32, f32)> {
    let mut entries: Vec<(u32, f32)> = columns.iter().copied().zip(values.iter().copied()).collect();
    entries.sort_by_key(|&(column, _)| column);
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    entries.retain(|&(_, value)| value != 0.0);
    entries
}
