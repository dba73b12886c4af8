//! Many clients at a time.

use super::world::Results;
use crate::support::load::load;

#[test]
fn two_hundred_clients_are_answered_without_an_error() {
    let results = Results::demo();
    let server = results.serve(&[]);
    let seen = load(server.address, 200, 20, |client, question| {
        let node = (client * 31 + question * 7) % 5000;
        match question % 5 {
            0 => format!("/api/score?source=n{node}&target=n{client}"),
            1 => format!("/api/embedding?node=n{node}"),
            2 => format!("/api/search?prefix=n{client}"),
            3 => format!("/api/neighbors?node=n{node}&by=score"),
            _ => format!("/api/neighbors?node=n{node}"),
        }
    });
    assert_eq!((seen.errors.len(), seen.times.len()), (0, 4000), "{:?}", seen.errors.first());
    let [half, most] = [0.5, 0.99].map(|share| seen.quantile(share).as_secs_f64() * 1e3);
    println!(
        "200 clients: {:.0} answers a second, half within {half:.1} ms, 99 of 100 within {most:.1} ms",
        seen.rate()
    );
}
