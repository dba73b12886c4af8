//! Matrices, vectors, sets and numbers by name.

use std::collections::BTreeMap;

use isvd_dist::matrix::Mask;
use isvd_dist::matrix::text::{Formula, Names, Refusal, TextError, Value, Vector};
use isvd_dist::matrix::{Dense, Matrix};

#[derive(Default)]
pub struct World(pub BTreeMap<String, Value>);

impl World {
    /// A, B and C are 2×2, X is 2×3, d is a vector, s a set, k a number.
    pub fn small() -> Self {
        let mut world = Self::default();
        for (name, columns) in [("A", 2), ("B", 2), ("C", 2), ("X", 3)] {
            world.add(name, Value::Matrix(dense(name, 2, columns)));
        }
        world.add("d", Value::Vector(Vector { name: "D".to_owned(), values: vec![4.0, 16.0].into() }));
        world.add("s", Value::Indices([1, 0, 1].into()));
        world.add("far", Value::Indices([0, 7].into()));
        world.add("k", Value::Number(2.0));
        world
    }

    pub fn add(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub fn read(&mut self, text: &str) -> Result<Matrix, TextError> {
        Formula::parse(text)?.evaluate(self)
    }
}

pub fn dense(name: &str, rows: usize, columns: usize) -> Matrix {
    let data = (0..rows * columns).map(|entry| entry as f32 + 1.0).collect();
    Matrix::dense(name, Dense::new(rows, columns, data).unwrap()).unwrap()
}

impl Names for World {
    fn find(&mut self, name: &str) -> Result<Option<Value>, Refusal> {
        match name {
            "test" => Err(Refusal::Absent("there is no split".into())),
            _ => Ok(self.0.get(name).cloned()),
        }
    }

    fn known(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn center(&mut self, matrix: &Matrix) -> Result<Matrix, Refusal> {
        let mean =
            Matrix::dense("meanᵀ", Dense::new(1, matrix.shape().columns, vec![0.5; matrix.shape().columns]).unwrap());
        Ok(matrix - Matrix::ones(matrix.shape().rows, 1) * mean.unwrap())
    }

    fn dropout(&mut self, matrix: &Matrix, rate: f64, copy: u32) -> Result<Matrix, Refusal> {
        matrix.try_dropout(Mask::new(rate, 1, copy)).map_err(|error| Refusal::Absent(error.into()))
    }
}
