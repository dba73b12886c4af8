//! Results made ready for questions.

use std::sync::Arc;

use hyper::body::Bytes;
use serde_json::json;
use tokio::sync::OnceCell;

use super::batch::Batch;
use super::counters::Counters;
use crate::kernel::elementwise::largest;
use crate::matrix::Dense;
use crate::model::map;
use crate::model::vectors::Side;
use crate::report::saved::{Opened, SavedError};

/// The results that a server answers from.
#[derive(Debug)]
pub struct State {
    pub(super) model: Opened,
    pub(super) by_cosine: Option<Arc<Batch>>,
    /// Where the vectors score links.
    pub(super) by_score: Option<Arc<Batch>>,
    /// How many threads compute.
    pub(super) threads: usize,
    /// All rows in the order of their ids.
    order: Vec<u32>,
    map: OnceCell<Option<Bytes>>,
    pub(super) counters: Counters,
}

impl State {
    /// Prepares results for questions that `threads` threads compute.
    pub fn new(model: Opened, threads: usize) -> Result<Self, SavedError> {
        let by_cosine = model.vectors.is_some().then(|| model.by_cosine(Side::Left)).transpose()?;
        let by_score = model.links_are_directed().is_ok().then(|| model.by_score()).transpose()?;
        let [by_cosine, by_score] = [by_cosine, by_score].map(|one| Some(Batch::new(one?, threads)));
        let mut order: Vec<u32> = (0..model.ids.len() as u32).collect();
        order.sort_by_cached_key(|&row| model.id(row).into_owned());
        let (map, counters) = (OnceCell::new(), Counters::default());
        Ok(Self { model, by_cosine, by_score, threads, order, map, counters })
    }

    /// Ids that begin with some text, in their order.
    pub(super) fn search(&self, prefix: &str, top: usize) -> Vec<std::borrow::Cow<'_, str>> {
        let first = self.order.partition_point(|&row| *self.model.id(row) < *prefix);
        let rest = self.order[first..].iter().map(|&row| self.model.id(row));
        rest.take_while(|id| id.starts_with(prefix)).take(top).collect()
    }

    /// The map, drawn when it is first asked for; `None` if that failed.
    pub(super) async fn map(self: &Arc<Self>) -> Option<Bytes> {
        let state = self.clone();
        let draw = || async move { tokio::task::spawn_blocking(move || state.draw()).await.ok() };
        self.map.get_or_init(draw).await.clone()
    }

    /// Draws vectors, or else probabilities, and colours by class, or else by community.
    fn draw(&self) -> Bytes {
        let classes = self.model.classes.as_deref();
        let nothing = Dense::default();
        let vectors = match (&self.model.vectors, classes) {
            (Some(vectors), _) => &vectors.left,
            (None, Some(classes)) => &classes.probabilities,
            (None, None) => &nothing,
        };
        let options = map::Options::new(map::SAMPLE, self.model.summary.seed);
        let map = map::map(vectors.data(), vectors.columns(), vectors.rows(), &options);
        let rounded = |axis: usize| -> Vec<f64> {
            map.places.iter().map(|place| (f64::from(place[axis]) * 1e4).round() / 1e4).collect()
        };
        let groups: Vec<u32> = match classes {
            Some(classes) => {
                map.rows.iter().map(|&row| largest(classes.probabilities.row(row as usize)) as u32).collect()
            }
            None => map.groups,
        };
        let value = json!({
            "nodes": map.rows.iter().map(|&row| self.model.id(row)).collect::<Vec<_>>(),
            "x": rounded(0),
            "y": rounded(1),
            "groups": groups,
            "classes": classes.map(|classes| &classes.names),
            "all_nodes": self.model.ids.len(),
        });
        Bytes::from(value.to_string())
    }
}
