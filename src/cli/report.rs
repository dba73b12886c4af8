//! `isvd-dist report`: the report of a run written again, or one that compares several; and what
//! every run leaves of it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::{Error, print_text};
use crate::experiment::Outcome;
use crate::report::details::Details;
use crate::report::html;
use crate::report::output::{DETAILS, Folder, REPORT, ResultFile, folder_of, write_text};
use crate::report::shown::Shown;

/// Write the report of a run again, or one that compares several
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Report {
    /// The --out folder of each run
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,

    /// The file to write [default: report.html in the folder of the run; of several, in this
    /// folder]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist report out/demo
  isvd-dist report out/ppi out/ppi-best-rank --out compared.html";

impl Report {
    /// Reads the runs, writes the page, and prints its path.
    pub fn run(&self) -> Result<(), Error> {
        let place = match (&self.out, &self.folders[..]) {
            (Some(out), _) => out.clone(),
            (None, [folder]) => folder.join(REPORT),
            (None, _) => PathBuf::from(REPORT),
        };
        // Before the figures are read, so that a run cannot replace them until the page is written.
        let _folder = Folder::hold(folder_of(&place))?;
        let mut runs = self.folders.iter().map(|folder| Shown::load(folder)).collect::<Result<Vec<_>, _>>()?;
        let page = match &runs[..] {
            [run] => html::report(run),
            _ => {
                Shown::tell_apart(&mut runs, &self.folders);
                html::compare(&runs)
            }
        };
        write_text(&place, &page)?;
        print_text(format!("{}\n", place.display()))
    }
}

/// The report of a run as files: what it shows, and the page.
pub(super) fn files(outcome: &Outcome) -> Vec<ResultFile<'static>> {
    let metrics = outcome.metrics.clone();
    let details = Details::new(outcome, command(), timestamp(SystemTime::now()));
    let shown = Shown { name: metrics.config.clone(), metrics, details };
    let page = html::report(&shown);
    let length = page.len();
    vec![
        ResultFile::new(REPORT, move |file| file.write_all(page.as_bytes())).of_bytes(length),
        ResultFile::new(DETAILS, move |mut file| {
            serde_json::to_writer(&mut file, &shown.details)?;
            writeln!(file)
        }),
    ]
}

/// What was typed, as a shell would take it.
fn command() -> String {
    let mut words: Vec<String> = std::env::args_os().map(|word| quoted(&word.to_string_lossy()).into_owned()).collect();
    if let Some(program) = words.first_mut() {
        *program = "isvd-dist".to_owned();
    }
    words.join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")).into(),
    }
}

/// A moment as `2026-01-31 23:59 UTC`.
fn timestamp(moment: SystemTime) -> String {
    let seconds = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Years begin in March, so that a leap day is the last of its year; 400 of them have 146,097
    // days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + 400 * era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_those_of_the_calendar() {
        let at = |seconds| timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_772_323_200), "2026-03-01 00:00 UTC");
        assert_eq!(at(4_107_542_399), "2100-02-28 23:59 UTC");
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("--set=embedding.rank=4"), "--set=embedding.rank=4");
        assert_eq!(quoted("walk(T, 5)"), "'walk(T, 5)'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
