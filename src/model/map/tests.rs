use std::collections::HashSet;
use std::time::Instant;

use super::neighbours::nearest;
use super::*;
use crate::kernel::random::normal;

/// Points around centres that point every way, and the centre of each.
fn bundles(count: usize, centres: usize, rank: usize) -> (Vec<f32>, Vec<usize>) {
    let of = |point: usize| point * 7 % centres;
    let entry = |row: usize, column: usize| normal(9, stream::SYNTHETIC, row as u64, column as u32);
    let row =
        |point: usize| (0..rank).map(move |column| entry(1_000_000 + of(point), column) + 0.6 * entry(point, column));
    ((0..count).flat_map(row).collect(), (0..count).map(of).collect())
}

/// The share of the ten nearest neighbours of every point that are also among its ten nearest in
/// the plane.
fn kept_neighbours(points: &Points, places: &[[f32; 2]]) -> f64 {
    let near = nearest(points, 10);
    let kept = |point: usize| {
        let distance = |other: usize| (places[other][0] - places[point][0]).hypot(places[other][1] - places[point][1]);
        let mut others: Vec<usize> = (0..places.len()).filter(|&other| other != point).collect();
        others.sort_by(|&one, &other| distance(one).total_cmp(&distance(other)));
        let found: HashSet<usize> = others[..10].iter().copied().collect();
        near[point].iter().filter(|one| found.contains(&(one.point as usize))).count()
    };
    (0..places.len()).map(kept).sum::<usize>() as f64 / (10 * places.len()) as f64
}

/// Points on sheets: each centre has two directions of its own in which its points differ.
fn sheets(count: usize, centres: usize, rank: usize) -> Vec<f32> {
    let random = |row: usize, column: usize| normal(4, stream::SYNTHETIC, row as u64, column as u32);
    let row = |point: usize| {
        let centre = 1_000_000 + 3 * (point % centres);
        let [along, across] = [0, 1].map(|column| 0.5 * random(point, rank + column));
        (0..rank).map(move |column| {
            let noise = 0.05 * random(point, column);
            random(centre, column) + along * random(centre + 1, column) + across * random(centre + 2, column) + noise
        })
    };
    (0..count).flat_map(row).collect()
}

#[test]
fn it_keeps_twice_the_neighbours_that_two_principal_components_keep() {
    let vectors = sheets(1200, 15, 24);
    let found = map(&vectors, 24, 1200, &Options::new(SAMPLE, 1));
    let points = Points::new(1200, &vectors, 24);
    let (plain, kept) = (kept_neighbours(&points, &points.principal_places()), kept_neighbours(&points, &found.places));
    println!("neighbours kept: {kept:.3}, by principal components {plain:.3}");
    assert!(kept > 0.7 && kept > 1.9 * plain, "{kept} for {plain}");
}

#[test]
fn its_groups_are_the_bundles_that_are_there() {
    let (vectors, bundle) = bundles(1500, 12, 16);
    let found = map(&vectors, 16, 1500, &Options::new(SAMPLE, 1));
    assert_eq!(found.group_count, 12);
    let mut shared = [[0; 12]; 12];
    found.groups.iter().zip(bundle).for_each(|(&group, bundle)| shared[group as usize][bundle] += 1);
    let alike: usize = shared.iter().map(|bundles| bundles.iter().max().unwrap()).sum();
    assert!(alike > 1485, "{alike} of 1500 points are where most of their group are from");
}

#[test]
fn a_seed_gives_one_map_and_another_seed_another() {
    let (vectors, _) = bundles(700, 6, 8);
    let of = |seed| map(&vectors, 8, 700, &Options::new(300, seed));
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).rows, of(2).rows);
}

#[test]
fn a_sample_has_the_size_asked_for_and_every_row_the_same_chance() {
    let mut chosen = [0usize; 50];
    for seed in 0..400 {
        let rows = sample(50, 20, seed);
        assert!(rows.len() == 20 && rows.is_sorted() && rows.windows(2).all(|pair| pair[0] < pair[1]));
        rows.iter().for_each(|&row| chosen[row as usize] += 1);
    }
    assert!(chosen.iter().all(|count| (110..=210).contains(count)), "{chosen:?}");
    assert_eq!(sample(5, 5, 1), [0, 1, 2, 3, 4]);
    assert!(sample(5, 0, 1).is_empty());
}

#[test]
fn whatever_is_mapped_lies_in_the_square() {
    let options = Options::new(SAMPLE, 3);
    let odd: [(&[f32], usize, usize); 7] = [
        (&[], 3, 0),
        (&[], 0, 4),
        (&[1.0, 2.0, 3.0], 3, 1),
        (&[1.0, 2.0], 1, 2),
        (&[5.0; 40], 2, 20),
        (&[f32::NAN, 1.0, f32::INFINITY, 0.0, 1.0, 2.0], 2, 3),
        (&[1e30, -1e30, 1e-30, 0.0, f32::MAX, f32::MIN], 1, 6),
    ];
    for (vectors, rank, rows) in odd {
        let found = map(vectors, rank, rows, &options);
        assert_eq!((found.rows.len(), found.places.len(), found.groups.len()), (rows, rows, rows));
        let inside = |place: &[f32; 2]| place.iter().all(|coordinate| (-1.0..=1.0).contains(coordinate));
        assert!(found.places.iter().all(inside), "{found:?}");
        assert!(found.groups.iter().all(|&group| (group as usize) < found.group_count));
    }
}

/// Prints what a full map takes; says nothing of it, since machines differ.
#[test]
fn a_full_sample_is_mapped() {
    let (vectors, _) = bundles(6000, 30, 64);
    let start = Instant::now();
    let found = map(&vectors, 64, 6000, &Options::new(SAMPLE, 1));
    println!("{} points in {:.3} s", found.rows.len(), start.elapsed().as_secs_f64());
    assert_eq!(found.rows.len(), SAMPLE);
}
