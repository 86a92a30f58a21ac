//! Statistical tests: the errors of sketches agree with theory.
use crate::random::SplitMix64;
use sameish::sketch::{MinHasher, SimHasher};

/// Measurements for one set size and similarity.
struct Measured {
    jaccard: f64,
    /// Mean error for each number of rows in `ROWS`.
    bias: [f64; 3],
    /// Mean squared error for each number of rows in `ROWS`.
    square: [f64; 3],
    /// Fraction of trials in which at least one of 16 bands of 8 rows was equal.
    banded: f64,
    trials: f64,
}

const ROWS: [usize; 3] = [100, 128, 256];

/// Compares random sets of `size` features with subsets that contain the given fraction of them. The Jaccard similarity is
/// that fraction, and a row is equal exactly if its minimum comes from the subset.
fn measure(size: usize, fraction: f64, trials: usize, random: &mut SplitMix64) -> Measured {
    let common = ((size as f64 * fraction).round() as usize).clamp(1, size - 1);
    let jaccard = common as f64 / size as f64;
    let hasher = MinHasher::new(256).unwrap();
    let mut bias = [0.0; 3];
    let mut square = [0.0; 3];
    let mut banded = 0.0;
    let mut features = vec![0; size];
    for _ in 0..trials {
        features.fill_with(|| random.next());
        let [full, part] = [&features[..], &features[..common]].map(|set| hasher.sketch(set).unwrap());
        let equal: Vec<bool> = full.rows().iter().zip(part.rows()).map(|(a, b)| a == b).collect();
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

/// Random seed 20261115. With T trials the standard error of the mean is sqrt(J(1-J)/kT) and the relative standard error of
/// the variance is sqrt(2/T): 1.3 % for 12,000 trials, so the tolerance of 10 % is nearly eight standard errors.
#[test]
fn minhash_is_unbiased_with_the_variance_of_independent_rows() {
    let mut random = SplitMix64(20_261_115);
    let mut largest_bias = 0.0f64;
    let mut largest_deviation = 0.0f64;
    for (size, trials) in [(5, 12_000), (20, 12_000), (100, 12_000), (500, 12_000), (5_000, 12_000)] {
        for tenth in 1..=9 {
            let measured = measure(size, f64::from(tenth) / 10.0, trials, &mut random);
            let jaccard = measured.jaccard;
            for (i, rows) in ROWS.into_iter().enumerate() {
                let theory = jaccard * (1.0 - jaccard) / rows as f64;
                let errors = measured.bias[i] / (theory / measured.trials).sqrt();
                let variance = measured.square[i] / theory;
                largest_bias = largest_bias.max(errors.abs());
                largest_deviation = largest_deviation.max((variance - 1.0).abs());
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
    println!(
        "largest bias {largest_bias:.1} standard errors, largest deviation of variance {largest_deviation:.3}"
    );
}

/// Pairwise independence of rows does not imply the probability of equal bands, 1 - (1 - J^8)^16, which is tested here.
#[test]
fn bands_are_equal_with_the_predicted_probability() {
    let mut random = SplitMix64(7);
    for size in [5, 20, 500] {
        for tenth in [5, 6, 7, 8, 9] {
            let measured = measure(size, f64::from(tenth) / 10.0, 10_000, &mut random);
            let theory = 1.0 - (1.0 - measured.jaccard.powi(8)).powi(16);
            let error = (theory * (1.0 - theory) / measured.trials).sqrt().max(0.001);
            let off = (measured.banded - theory) / error;
            assert!(
                off.abs() < 4.5,
                "{size} features, J {}: {}, expected {theory}",
                measured.jaccard,
                measured.banded
            );
        }
    }
}

/// Each bit of the SimHashes of two texts differs with probability arccos(cosine)/pi (Charikar 2002). If half of the
/// features are common, 1/3 of the bits differ: about 21.3 of 64.
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
        // The standard error is below 4 / sqrt(2000) = 0.09 bits. Ties, which give 0, cause a small bias.
        assert!((mean - expected).abs() < 0.6, "{common} common features: {mean} bits, expected {expected}");
    }
}
