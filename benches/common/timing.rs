//! Timing in rounds: every contender runs once per round, so that a slow phase of the machine
//! affects all of them.

use std::time::Instant;

/// The times of one contender, in seconds.
pub struct Times {
    name: String,
    runs: Vec<f64>,
}

impl Times {
    /// The best run.
    pub fn best(&self) -> f64 {
        self.runs.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median run.
    pub fn median(&self) -> f64 {
        let mut runs = self.runs.clone();
        runs.sort_by(f64::total_cmp);
        runs[runs.len() / 2]
    }

    /// Times measured elsewhere.
    pub fn measured(name: &str, runs: Vec<f64>) -> Self {
        Times { name: name.into(), runs }
    }
}

/// A name, and a function that runs once and returns its seconds.
pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> f64 + 'a>);

/// Measures the time of `run`.
pub fn clocked<'a>(mut run: impl FnMut() + 'a) -> Box<dyn FnMut() -> f64 + 'a> {
    Box::new(move || {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    })
}

/// Runs all contenders once to warm up, and then `rounds` times in turns.
pub fn by_turns(rounds: usize, mut contenders: Vec<Contender>) -> Vec<Times> {
    for (_, run) in &mut contenders {
        run();
    }
    let mut times: Vec<Times> = contenders.iter().map(|(name, _)| Times::measured(name, vec![])).collect();
    for _ in 0..rounds {
        for ((_, run), times) in contenders.iter_mut().zip(&mut times) {
            times.runs.push(run());
        }
    }
    times
}

/// Prints a table. Ratios are best times relative to the best time of the first line.
pub fn print(title: &str, times: &[Times]) {
    println!("\n{title}\n{:<44} {:>10} {:>10} {:>8}", "", "best ms", "median ms", "ratio");
    for t in times {
        let ratio = t.best() / times[0].best();
        println!("{:<44} {:>10.1} {:>10.1} {:>8.2}", t.name, 1e3 * t.best(), 1e3 * t.median(), ratio);
    }
}
