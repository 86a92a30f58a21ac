//! `fingerprint_pairs` and `fingerprint_groups`: a whole corpus of fingerprints in one call.

use crate::error::{engine_error, setting_error};
use crate::interrupt::{Progress, Task, run_detached};
use crate::numbers::{self, at_least, in_range};
use numpy::PyArray1;
use pyo3::prelude::*;
use sameish::Fingerprint;
use sameish::cluster::greedy_stars;
use sameish::index::{DocNumber, HammingIndex, Pair};

/// Arrays of the first documents, the second documents and the distances of pairs.
type Pairs<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// Finds all pairs of fingerprints within a Hamming distance.
///
/// The search is exact. Fingerprint zero is treated like any other value: leave out texts without
/// words before. Nothing is verified on texts, because there are none.
///
/// Args:
///     hashes: Fingerprints: a list of integers, or an array of uint64.
///     radius: Maximum number of differing bits, inclusive; 0 to 64, default 3.
///     limit_pairs: Maximum number of pairs, the first ones of the order below; default None, no
///         limit. If there are as many, there may be more.
///
/// Returns:
///     Three arrays of uint32: the positions `a` and `b` of the fingerprints of each pair, with
///     `a < b`, and their distances in bits. Pairs are ordered by `b`, then by `a`.
///
/// Examples:
///     >>> import sameish
///     >>> a, b, distance = sameish.fingerprint_pairs([0b0111, 0b1111_0000, 0b0001])
///     >>> a.tolist(), b.tolist(), distance.tolist()
///     ([0], [2], [2])
#[pyfunction]
#[pyo3(signature = (hashes, radius=3, limit_pairs=None))]
pub(crate) fn fingerprint_pairs<'py>(
    hashes: &Bound<'py, PyAny>,
    radius: i64,
    limit_pairs: Option<i64>,
) -> PyResult<Pairs<'py>> {
    let py = hashes.py();
    let radius = in_range(radius, "radius", 0..=64)?;
    let limit = limit_pairs.map(|limit| at_least(limit, "limit_pairs", 0)).transpose()?;
    let fingerprints = numbers::fingerprints(hashes, "hashes")?.items;
    check_count(fingerprints.len())?;
    let progress = Progress::of_fingerprints(None, fingerprints.len());
    let found = run_detached(py, progress, move |task| {
        pairs(&fingerprints, radius, limit.unwrap_or(usize::MAX), task)
    })?;
    let found = found.map_err(engine_error)?;
    let column = |of: fn(&Pair) -> u32| PyArray1::from_iter(py, found.iter().map(of));
    Ok((column(|pair| pair.a.0), column(|pair| pair.b.0), column(|pair| pair.distance)))
}

/// Groups fingerprints by Hamming distance.
///
/// The first ungrouped fingerprint becomes the center of a group and takes all ungrouped fingerprints
/// within the radius, like the linkage `greedy` of the preset `wire`. Pass the newest first to get the
/// groups of that preset.
///
/// Args:
///     hashes: Fingerprints: a list of integers, or an array of uint64.
///     radius: Maximum distance from the center in bits, inclusive; 0 to 64, default 3.
///
/// Returns:
///     An array of uint32 with the position of the center of each fingerprint. A center has its own
///     position.
///
/// Examples:
///     >>> import sameish
///     >>> sameish.fingerprint_groups([0b0111, 0b1111_0000, 0b0001]).tolist()
///     [0, 1, 0]
#[pyfunction]
#[pyo3(signature = (hashes, radius=3))]
pub(crate) fn fingerprint_groups<'py>(
    hashes: &Bound<'py, PyAny>,
    radius: i64,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let py = hashes.py();
    let radius = in_range(radius, "radius", 0..=64)?;
    let fingerprints = numbers::fingerprints(hashes, "hashes")?.items;
    check_count(fingerprints.len())?;
    let progress = Progress::of_fingerprints(None, fingerprints.len());
    let centers = run_detached(py, progress, move |_| centers(&fingerprints, radius))?;
    Ok(PyArray1::from_vec(py, centers.map_err(engine_error)?))
}

/// Positions are document numbers, which have 32 bits.
fn check_count(count: usize) -> PyResult<()> {
    match u32::try_from(count) {
        Ok(_) => Ok(()),
        Err(_) => Err(setting_error(format!("`hashes` has {count} fingerprints: must have less than 2**32"))),
    }
}

/// Number of fingerprints that are searched between two checks for signals.
const SEARCHED_TOGETHER: usize = 64;

/// Returns the first pairs, ordered by the second document. Stops early if the call was canceled.
fn pairs(fingerprints: &[Fingerprint], radius: u32, limit: usize, task: &Task) -> sameish::Result<Vec<Pair>> {
    let mut index = HammingIndex::with_capacity(radius, fingerprints.len())?;
    let numbered: Vec<(Fingerprint, DocNumber)> =
        fingerprints.iter().copied().zip((0..).map(DocNumber)).collect();
    index.insert_all(&numbered);
    let mut found: Vec<Pair> = Vec::new();
    for (chunk, first) in fingerprints.chunks(SEARCHED_TOGETHER).zip((0..).step_by(SEARCHED_TOGETHER)) {
        if found.len() >= limit || task.check().is_err() {
            break;
        }
        index.find_all_bulk(chunk, |query, hits| {
            if found.len() >= limit || !task.is_running() {
                return;
            }
            let b = DocNumber((first + query) as u32);
            let before = found.len();
            let earlier = hits.iter().filter(|hit| hit.doc < b);
            found.extend(earlier.map(|hit| Pair { a: hit.doc, b, distance: hit.distance }));
            found[before..].sort_unstable_by_key(|pair| pair.a);
            found.truncate(limit);
        });
    }
    Ok(found)
}

fn centers(fingerprints: &[Fingerprint], radius: u32) -> sameish::Result<Vec<u32>> {
    let mut centers = vec![0; fingerprints.len()];
    for star in greedy_stars(fingerprints, radius)? {
        for member in star.cluster.members {
            centers[member.0 as usize] = star.cluster.center.0;
        }
    }
    Ok(centers)
}
