//! Sketches err as theory says they may, and no more.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../src/random.rs"]
mod random;

use random::SplitMix64;
use sameish::*;

/// What was measured for one size and similarity.
struct Measured {
    jaccard: f64,
    /// Mean error and mean squared error for each number of rows in `ROWS`.
    bias: [f64; 3],
    square: [f64; 3],
    /// Share of trials in which some band of 8 rows out of 16 agreed.
    banded: f64,
    trials: f64,
}

const ROWS: [usize; 3] = [100, 128, 256];

/// A set of `size` features and a subset with the given share of them: their Jaccard similarity is that share, and a row
/// agrees exactly when the smallest value comes from the subset.
fn measure(size: usize, share: f64, trials: usize, random: &mut SplitMix64) -> Measured {
    let common = ((size as f64 * share).round() as usize).clamp(1, size - 1);
    let jaccard = common as f64 / size as f64;
    let hasher = MinHasher::new(256).unwrap();
    let (mut bias, mut square, mut banded) = ([0.0; 3], [0.0; 3], 0.0);
    let mut features = vec![0; size];
    for _ in 0..trials {
        features.fill_with(|| random.next());
        let [whole, part] = [&features[..], &features[..common]].map(|set| hasher.sketch(set).unwrap());
        let equal: Vec<bool> = whole.rows().iter().zip(part.rows()).map(|(a, b)| a == b).collect();
        for (i, rows) in ROWS.into_iter().enumerate() {
            let estimate = equal[..rows].iter().filter(|&&equal| equal).count() as f64 / rows as f64;
            bias[i] += estimate - jaccard;
            square[i] += (estimate - jaccard).powi(2);
        }
        banded += f64::from(u8::from(equal[..128].chunks(8).any(|band| band.iter().all(|&equal| equal))));
    }
    let trials = trials as f64;
    Measured {
        jaccard,
        bias: bias.map(|b| b / trials),
        square: square.map(|s| s / trials),
        banded: banded / trials,
        trials,
    }
}

/// Seed 20261115. With T trials the standard error of the mean is sqrt(J(1-J)/kT) and that of the variance a share
/// sqrt(2/T) of it: 1.3 % for 12,000 trials, so 10 % is nearly eight of them.
#[test]
fn minhash_has_no_bias_and_the_variance_of_independent_rows() {
    let mut random = SplitMix64(20_261_115);
    let mut worst = (0.0f64, 0.0f64);
    for (size, trials) in [(5, 12_000), (20, 12_000), (100, 12_000), (500, 12_000), (5_000, 12_000)] {
        for tenth in 1..=9 {
            let measured = measure(size, f64::from(tenth) / 10.0, trials, &mut random);
            let jaccard = measured.jaccard;
            for (i, rows) in ROWS.into_iter().enumerate() {
                let theory = jaccard * (1.0 - jaccard) / rows as f64;
                let errors = measured.bias[i] / (theory / measured.trials).sqrt();
                let variance = measured.square[i] / theory;
                worst = (worst.0.max(errors.abs()), worst.1.max((variance - 1.0).abs()));
                assert!(
                    errors.abs() < 4.5,
                    "{size} features, J {jaccard}, k {rows}: bias {errors} standard errors"
                );
                assert!(
                    (variance - 1.0).abs() < 0.1,
                    "{size} features, J {jaccard}, k {rows}: variance {variance}"
                );
            }
        }
    }
    println!("largest bias {:.1} standard errors, largest deviation of variance {:.3}", worst.0, worst.1);
}

/// Rows that were independent in pairs only could still fail in bands: 1 - (1 - J^8)^16 must hold too.
#[test]
fn bands_meet_as_often_as_theory_says() {
    let mut random = SplitMix64(7);
    for size in [5, 20, 500] {
        for tenth in [5, 6, 7, 8, 9] {
            let measured = measure(size, f64::from(tenth) / 10.0, 10_000, &mut random);
            let theory = 1.0 - (1.0 - measured.jaccard.powi(8)).powi(16);
            let error = (theory * (1.0 - theory) / measured.trials).sqrt().max(0.001);
            let off = (measured.banded - theory) / error;
            assert!(
                off.abs() < 4.5,
                "{size} features, J {}: {} for {theory}",
                measured.jaccard,
                measured.banded
            );
        }
    }
}

/// Each bit of a SimHash of two texts differs with probability arccos(cosine)/pi (Charikar 2002): with half of the
/// features in common 1/3 of the bits, about 21.3 of 64.
#[test]
fn simhash_distance_follows_the_angle() {
    let mut random = SplitMix64(9);
    for (common, expected) in
        [(0, 32.0), (250, 64.0 / 3.0), (450, 64.0 * 0.9f64.acos() / std::f64::consts::PI)]
    {
        let trials = 2_000;
        let mut sum = 0.0;
        for _ in 0..trials {
            let shared: Vec<u64> = (0..common).map(|_| random.next()).collect();
            let mut print = || {
                let own = (common..500).map(|_| random.next());
                let features: Vec<u64> = shared.iter().copied().chain(own).collect();
                SimHasher.sketch(&features)
            };
            sum += f64::from(print().distance(print()));
        }
        let mean = sum / f64::from(trials);
        // The standard error is below 4 / sqrt(2000) = 0.09 bits; ties, which give 0, pull a little.
        assert!((mean - expected).abs() < 0.6, "{common} in common: {mean} bits for {expected}");
    }
}
