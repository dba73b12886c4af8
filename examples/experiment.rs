//! Runs the demo experiment and prints the figures of its stages.
//!
//! Run it with `cargo run --release --example experiment`.

use std::error::Error;

use isvd_dist::config::Experiment;

/// Loads, embeds, evaluates.
pub fn main() -> Result<(), Box<dyn Error>> {
    let outcome = Experiment::load("demo".as_ref(), &["embedding.rank=16".to_owned()])?.run()?;
    for stage in &outcome.metrics.stages {
        let scores = stage.test.as_ref().ok_or("the demo holds edges out")?;
        println!("{} in {:.2} s: {:?}", stage.name, stage.seconds, scores.0);
    }
    Ok(())
}
