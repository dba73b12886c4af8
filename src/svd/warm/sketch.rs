//! Residuals along a few random directions.

use super::super::along::Directions;
use super::super::certificate::Certificate;
use super::super::options::SvdError;
use super::super::subspace::{Projection, rotate};
use super::Refining;
use super::sides::fresh;
use super::table::Triplets;
use crate::engine::Session;

/// How many there are. The length of a residual is known to an eighth of it then.
pub(super) const COLUMNS: usize = 32;
/// What is added to the length, so that it is seldom more than what is told: two standard deviations.
const MARGIN: f64 = 1.25;

/// What was found with all of the residuals' directions in the basis, and no product with them.
pub(super) struct AtOnce {
    pub(super) projection: Projection,
    pub(super) worst: f64,
}

impl Refining<'_> {
    /// The triplets between U and all of its images. `Mᵀu = σv` holds by construction; Mv − σu is measured along
    /// random directions.
    pub(super) fn at_once(&mut self, session: &mut Session<'_>) -> Result<AtOnce, SvdError> {
        let mut table = self.table.clone();
        let mut right = self.right.vectors().to_vec();
        for images in self.left.images() {
            let block = fresh(session, &right, images.clone(), self.options)?;
            right.push(block);
        }
        let known = self.right.vectors().len();
        for block in &right[known..] {
            let products = self
                .left
                .images()
                .iter()
                .map(|images| Ok((images.cols(), session.gram_against(std::slice::from_ref(block), images)?)));
            table.push_wide_rows(&products.collect::<Result<Vec<_>, SvdError>>()?, block.cols());
        }
        let Triplets { values, left: left_rotation, right: right_rotation } = table.decompose(self.options.rank)?;
        let left = self.left.vectors().to_vec();
        let count = values.len();
        let us = rotate(session, &left.iter().collect::<Vec<_>>(), &left_rotation, count)?;
        let vs = rotate(session, &right.iter().collect::<Vec<_>>(), &right_rotation, count)?;
        let omega = Directions::draw(session, us.total_rows(), COLUMNS, self.options.seed)?;
        let images = session.multiply(self.matrix.transposed, &omega)?;
        self.operator_columns += COLUMNS;
        let directions = Directions { omega, images };
        let squares = directions.residual_squares(session, &vs, &values, &us)?;
        let squares: Vec<f64> = squares.into_iter().map(|square| square * MARGIN * MARGIN).collect();
        let worst = Certificate::new(&squares, &values).worst();
        let projection = Projection {
            left,
            left_rotation,
            right,
            right_rotation,
            singular_values: values,
            total: None,
            iterations: self.rounds,
            operator_columns: self.operator_columns,
            residual_squares: Some(squares),
            looks: Vec::new(),
        };
        Ok(AtOnce { projection, worst })
    }
}
