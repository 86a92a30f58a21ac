//! Is the system clock plausible?
//!
//! Expiry deletes documents because of their age, so a wrong clock would delete all of them. The catalog therefore remembers
//! the latest plausible time and the longest pause between two insertions. A time is plausible if it is at most a day ahead
//! of the latest plausible time plus the longest pause. While a process runs, the monotonic clock shows how much time has
//! passed; that time is plausible, too. Only an operator can confirm a time that is further ahead.
//!
//! Checks advance the latest plausible time every minute, so pauses are measured from the last insertion instead: a process
//! that waits a week for documents learns that a week without them is normal.

use super::live::DAY;
use crate::rows::ClockRow;
use std::time::{Duration, Instant};

/// How old the stored state may become, in milliseconds. It is much less than the day that is tolerated anyway.
const STORE_INTERVAL: i64 = 3_600_000;

/// What is known about the time. All times are in milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// `None` until the first document is inserted.
    known: Option<Known>,
    /// The time of the last insertion at a plausible time.
    last_arrival: Option<i64>,
    longest_pause: i64,
    stored: Option<ClockRow>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    /// The latest plausible time.
    latest: i64,
    /// When this process observed it. `None` if an earlier process did.
    observed: Option<Instant>,
}

impl Clock {
    /// Continues with the stored state, and with the newest stored document if it is plausible.
    pub(super) fn new(stored: Option<ClockRow>, newest_arrival: Option<i64>) -> Clock {
        let latest = stored.map(|row| row.latest);
        let mut clock = Clock {
            known: latest.map(|latest| Known { latest, observed: None }),
            last_arrival: stored.map(|row| row.last_arrival),
            longest_pause: stored.map_or(0, |row| row.longest_pause),
            stored,
        };
        if let Some(arrival) = newest_arrival.filter(|&time| clock.is_plausible(time, Instant::now())) {
            clock.advance(arrival, None);
            clock.last_arrival = clock.last_arrival.max(Some(arrival));
        }
        clock
    }

    /// Returns the latest plausible time.
    pub(super) fn latest(&self) -> Option<i64> {
        self.known.map(|known| known.latest)
    }

    /// Records the insertion of documents. An implausible time is ignored.
    pub(super) fn observe_arrival(&mut self, time: i64, at: Instant) {
        if self.is_plausible(time, at) {
            self.lengthen_pause(time);
            self.advance(time, Some(at));
            self.last_arrival = self.last_arrival.max(Some(time));
        }
    }

    /// Returns `true` if a time is plausible.
    pub(super) fn check(&mut self, time: i64, at: Instant) -> bool {
        let is_plausible = self.is_plausible(time, at);
        if is_plausible {
            self.advance(time, Some(at));
        }
        is_plausible
    }

    /// Accepts a time that an operator has confirmed.
    pub(super) fn confirm(&mut self, time: i64, at: Instant) {
        self.lengthen_pause(time);
        self.advance(time, Some(at));
    }

    /// Returns the state if it must be stored: at the end of the process, or because the stored one is old.
    pub(super) fn to_store(&self, at_end: bool) -> Option<ClockRow> {
        let latest = self.known?.latest;
        let last_arrival = self.last_arrival.unwrap_or(latest);
        let row = ClockRow { latest, last_arrival, longest_pause: self.longest_pause };
        let is_recent = |stored: ClockRow| {
            row.longest_pause == stored.longest_pause && row.latest - stored.latest < STORE_INTERVAL
        };
        let is_needed = if at_end { self.stored != Some(row) } else { !self.stored.is_some_and(is_recent) };
        is_needed.then_some(row)
    }

    /// Records that the state was stored.
    pub(super) fn set_stored(&mut self, row: ClockRow) {
        self.stored = Some(row);
    }

    fn is_plausible(&self, time: i64, at: Instant) -> bool {
        let Some(Known { latest, observed }) = self.known else { return true };
        let elapsed = observed.map_or(Duration::ZERO, |observed| at.saturating_duration_since(observed));
        let tolerance = DAY as i64 + self.longest_pause + elapsed.as_millis() as i64;
        time <= latest.saturating_add(tolerance)
    }

    fn lengthen_pause(&mut self, time: i64) {
        if let Some(last_arrival) = self.last_arrival {
            self.longest_pause = self.longest_pause.max(time.saturating_sub(last_arrival));
        }
    }

    fn advance(&mut self, time: i64, observed: Option<Instant>) {
        if self.latest().is_none_or(|latest| latest <= time) {
            self.known = Some(Known { latest: time, observed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;
    const START: i64 = 1_700_000_000_000;

    fn clock() -> Clock {
        Clock::new(None, Some(START))
    }

    #[test]
    fn tolerates_a_day_plus_the_longest_pause() {
        let now = Instant::now();
        assert!(clock().check(START + 24 * HOUR, now));
        assert!(!clock().check(START + 24 * HOUR + 1, now));
        let mut paused = clock();
        paused.observe_arrival(START + 20 * HOUR, now);
        assert!(!paused.check(START + 65 * HOUR, now));
        assert!(paused.check(START + 64 * HOUR, now));
    }

    #[test]
    fn documents_that_arrive_at_an_implausible_time_do_not_make_it_plausible() {
        let now = Instant::now();
        let mut clock = clock();
        clock.observe_arrival(START + 1_000 * HOUR, now);
        assert!(!clock.check(START + 1_000 * HOUR, now));
        assert_eq!(Clock::new(clock.to_store(true), Some(START + 1_000 * HOUR)).latest(), Some(START));
        clock.confirm(START + 1_000 * HOUR, now);
        assert!(clock.check(START + 1_001 * HOUR, now));
        assert!(clock.check(START + 2_000 * HOUR, now), "the confirmed pause counts");
    }

    #[test]
    fn time_that_passes_while_the_process_runs_is_plausible() {
        let start = Instant::now();
        let mut clock = clock();
        clock.observe_arrival(START, start);
        let later = start + Duration::from_secs(100 * 3_600);
        assert!(clock.check(START + 124 * HOUR, later));
        assert!(!clock.check(START + 149 * HOUR, later));
    }

    #[test]
    fn checks_do_not_shorten_the_pause_between_two_insertions() {
        let start = Instant::now();
        let mut clock = clock();
        clock.observe_arrival(START, start);
        for hour in 1..=100 {
            let later = start + Duration::from_secs(hour * 3_600);
            assert!(clock.check(START + hour as i64 * HOUR, later));
        }
        clock.observe_arrival(START + 100 * HOUR, start + Duration::from_secs(100 * 3_600));
        let mut next = Clock::new(clock.to_store(true), None);
        assert!(!next.check(START + 225 * HOUR, start));
        assert!(next.check(START + 224 * HOUR, start));
    }

    #[test]
    fn pause_continues_after_a_restart() {
        let now = Instant::now();
        let mut before = clock();
        before.check(START + 20 * HOUR, now);
        let mut clock = Clock::new(before.to_store(true), None);
        clock.observe_arrival(START + 30 * HOUR, now);
        assert!(!clock.check(START + 85 * HOUR, now));
        assert!(clock.check(START + 84 * HOUR, now), "30 hours of pause and a day");
    }

    #[test]
    fn is_stored_at_most_once_per_hour() {
        let now = Instant::now();
        let mut clock = clock();
        let first = clock.to_store(false).unwrap();
        clock.set_stored(first);
        clock.check(START + HOUR - 1, now);
        assert_eq!(clock.to_store(false), None);
        assert!(clock.to_store(true).is_some());
        clock.check(START + HOUR, now);
        assert!(clock.to_store(false).is_some());
    }
}
