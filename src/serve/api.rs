//! Questions and their answers.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::Answer;
use super::counters::Endpoint;
use super::query::Query;
use super::state::State;
use crate::kernel::elementwise::largest;
use crate::matrix::Dense;
use crate::model::neighbours::Neighbour;
use crate::report::saved::{SavedError, UnknownNode};
use crate::report::table::shortest;

/// The page, with everything that it needs.
const PAGE: &str = include_str!("page.html");
/// More neighbours than this are not for a page: `isvd-dist neighbors` lists them all.
const MOST_NEIGHBOURS: usize = 1000;
const USUAL_NEIGHBOURS: usize = 10;
/// The most ids of a search.
const MOST_FOUND: usize = 100;
const USUAL_FOUND: usize = 12;

/// What a client asks.
pub(super) struct Question {
    pub endpoint: Endpoint,
    pub query: String,
    /// If it was posted.
    pub body: Option<Bytes>,
}

/// Answers a question. Long computations run on other threads.
pub(super) async fn answer(state: &Arc<State>, question: Question) -> Answer {
    let plain = |answer: &dyn Fn() -> Answer| match Query::parse(&question.query, &[]) {
        Ok(_) => answer(),
        Err(refused) => refused,
    };
    match question.endpoint {
        // The page reads what follows.
        Endpoint::Page => Answer::page(PAGE),
        Endpoint::Health => plain(&|| health(state)),
        Endpoint::Metrics => plain(&|| Answer::metrics(state.counters.text(state.model.ids.len()))),
        Endpoint::Nothing => {
            let paths: Vec<&str> = Endpoint::PATHS.iter().map(|(_, path)| *path).collect();
            Answer::error(StatusCode::NOT_FOUND, format!("there is nothing here: ask for {}", paths.join(", ")))
        }
        Endpoint::Map => match state.map().await {
            Some(map) => plain(&|| Answer::ready(map.clone())),
            None => failed(),
        },
        Endpoint::Neighbors => neighbours(state, &question).await.unwrap_or_else(|refused| refused),
        _ => {
            let state = state.clone();
            let found =
                tokio::task::spawn_blocking(move || compute(&state, &question).unwrap_or_else(|refused| refused));
            found.await.unwrap_or_else(|_| failed())
        }
    }
}

fn failed() -> Answer {
    Answer::error(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be computed")
}

fn compute(state: &State, question: &Question) -> Result<Answer, Answer> {
    let query = |known: &[&str]| Query::parse(&question.query, known);
    match question.endpoint {
        Endpoint::Classify => classify(state, &query(&["node"])?),
        Endpoint::Embedding => embedding(state, &query(&["node"])?),
        Endpoint::Search => search(state, &query(&["prefix", "top"])?),
        _ => match &question.body {
            None => score(state, &query(&["source", "target"])?),
            Some(body) => {
                query(&[])?;
                scores(state, body)
            }
        },
    }
}

fn health(state: &State) -> Answer {
    let model = &state.model;
    Answer::json(&json!({
        "status": "ok",
        "version": env!("CARGO_PKG_VERSION"),
        "config": model.summary.config,
        "dataset": model.summary.dataset,
        "nodes": model.ids.len(),
        "edges": model.summary.edges,
        "directed": model.summary.directed,
        "rank": model.vectors.as_ref().map(|vectors| vectors.left.columns()),
        "scores": state.by_score.is_some(),
        "classes": model.classes.as_ref().map(|classes| classes.names.len()),
    }))
}

/// The row of the node that a parameter names.
fn row(state: &State, query: &Query<'_>, name: &str) -> Result<u32, Answer> {
    state.model.row(query.need(name)?).map_err(|unknown| Answer::unknown(&unknown))
}

/// An answer for data that these results lack.
fn lacking(why: impl ToString) -> Answer {
    Answer::error(StatusCode::NOT_FOUND, why.to_string())
}

async fn neighbours(state: &Arc<State>, question: &Question) -> Result<Answer, Answer> {
    let query = Query::parse(&question.query, &["node", "top", "by"])?;
    let is_by_score = query.choice("by", &[("cosine", false), ("score", true)])?;
    let top = query.count("top", USUAL_NEIGHBOURS, MOST_NEIGHBOURS)?;
    let id = query.need("node")?;
    let Some(row) = state.model.ids.row(id) else {
        let (state, id) = (state.clone(), id.to_owned());
        // Finding the nearest known id takes time.
        let unknown = tokio::task::spawn_blocking(move || UnknownNode::new(&state.model.ids, &id));
        return unknown.await.map_or_else(|_| Err(failed()), |unknown| Err(Answer::unknown(&unknown)));
    };
    let neighbours = match is_by_score {
        false => state.by_cosine.as_ref().ok_or_else(|| lacking(no_vectors(state)))?,
        true => state.by_score.as_ref().ok_or_else(|| lacking(no_links(state)))?,
    };
    let found = neighbours.of(row as u32, top).await.ok_or_else(failed)?;
    let class = |row: u32| {
        let classes = state.model.classes.as_ref()?;
        classes.names.get(largest(classes.probabilities.row(row as usize)))
    };
    let one = |neighbour: &Neighbour| {
        let mut value = json!({ "node": state.model.id(neighbour.row), "score": shortest(neighbour.score) });
        if let Some(class) = class(neighbour.row) {
            value["class"] = json!(class);
        }
        value
    };
    let found: Vec<Value> = found.iter().map(one).collect();
    let by = if is_by_score { "score" } else { "cosine" };
    Ok(Answer::json(&json!({ "node": state.model.id(row as u32), "by": by, "neighbors": found })))
}

fn score(state: &State, query: &Query<'_>) -> Result<Answer, Answer> {
    let is_directed = state.model.links_are_directed().map_err(lacking)?;
    let vectors = state.model.vectors().map_err(lacking)?;
    let (source, target) = (row(state, query, "source")?, row(state, query, "target")?);
    let score = shortest(vectors.score(source, target, is_directed));
    Ok(Answer::json(&json!({ "source": state.model.id(source), "target": state.model.id(target), "score": score })))
}

/// Many pairs to score.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairs {
    pairs: Vec<[Id; 2]>,
}

/// An id as text, or as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(u64),
}

fn scores(state: &State, body: &[u8]) -> Result<Answer, Answer> {
    let is_directed = state.model.links_are_directed().map_err(lacking)?;
    let vectors = state.model.vectors().map_err(lacking)?;
    let expected = |error| Answer::refused(format!("expected {{\"pairs\": [[\"source\", \"target\"], …]}}: {error}"));
    let Pairs { pairs } = serde_json::from_slice(body).map_err(expected)?;
    let row = |id: &Id| {
        let found = match id {
            Id::Text(id) => state.model.row(id),
            Id::Number(id) => state.model.row(&id.to_string()),
        };
        found.map_err(|unknown| Answer::unknown(&unknown))
    };
    let score = |[source, target]: &[Id; 2]| Ok(shortest(vectors.score(row(source)?, row(target)?, is_directed)));
    let scores = pairs.iter().map(score).collect::<Result<Vec<f64>, Answer>>()?;
    Ok(Answer::json(&json!({ "scores": scores })))
}

fn classify(state: &State, query: &Query<'_>) -> Result<Answer, Answer> {
    let Some(classes) = &state.model.classes else {
        return Err(lacking("these results are an embedding, which knows no classes: serve a run with [classifier]"));
    };
    let row = row(state, query, "node")?;
    let probabilities = classes.probabilities.row(row as usize);
    let best = largest(probabilities);
    let mut all: Vec<(&String, f32)> = classes.names.iter().zip(probabilities.iter().copied()).collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    let all: Vec<Value> = all
        .iter()
        .map(|(class, probability)| json!({ "class": class, "probability": shortest(*probability) }))
        .collect();
    Ok(Answer::json(&json!({
        "node": state.model.id(row),
        "class": classes.names.get(best),
        "probability": probabilities.get(best).copied().map(shortest),
        "probabilities": all,
    })))
}

fn embedding(state: &State, query: &Query<'_>) -> Result<Answer, Answer> {
    let vectors = state.model.vectors().map_err(lacking)?;
    let row = row(state, query, "node")?;
    let entries = |side: &Dense| side.row(row as usize).iter().copied().map(shortest).collect::<Vec<f64>>();
    let mut value = json!({ "node": state.model.id(row), "left": entries(&vectors.left) });
    // Columns of a matrix of one's own may be something else than its rows.
    if vectors.right.rows() == vectors.left.rows() {
        value["right"] = json!(entries(&vectors.right));
    }
    Ok(Answer::json(&value))
}

fn search(state: &State, query: &Query<'_>) -> Result<Answer, Answer> {
    let top = query.count("top", USUAL_FOUND, MOST_FOUND)?;
    let found = state.search(query.need("prefix")?, top);
    Ok(Answer::json(&json!({ "nodes": found })))
}

fn no_vectors(state: &State) -> String {
    state.model.vectors().err().map_or_else(String::new, |error| error.to_string())
}

fn no_links(state: &State) -> String {
    state.model.links_are_directed().err().map_or_else(String::new, |error: SavedError| error.to_string())
}
