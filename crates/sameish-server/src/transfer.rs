//! The minimum rate of a transfer: of a request body that a client sends, or of a response that it reads.

use std::time::Duration;

/// Waiting time before the minimum rate applies.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// A transfer in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// Minimum rate in bytes per second.
    min_rate: u64,
    /// Time spent waiting for the client, which alone counts.
    pub(crate) waited: Duration,
    pub(crate) bytes: u64,
}

impl Transfer {
    pub(crate) fn new(min_rate: u64) -> Transfer {
        Transfer { min_rate, waited: Duration::ZERO, bytes: 0 }
    }

    /// Returns how long the client may be waited for without violating the minimum rate.
    pub(crate) fn remaining(&self) -> Duration {
        let by_bytes = Duration::from_millis(self.bytes.saturating_mul(1_000) / self.min_rate.max(1));
        (GRACE_PERIOD + by_bytes).saturating_sub(self.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_the_minimum_rate_after_the_grace_period() {
        let mut transfer = Transfer::new(1 << 10);
        assert_eq!(transfer.remaining(), Duration::from_secs(10));
        transfer.bytes = 100 << 10;
        transfer.waited = Duration::from_secs(60);
        assert_eq!(transfer.remaining(), Duration::from_secs(50));
        transfer.waited = Duration::from_secs(111);
        assert_eq!(transfer.remaining(), Duration::ZERO);
    }
}
