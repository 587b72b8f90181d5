//! Pauses between tries that double with every further failure.

use std::time::Duration;

/// How such pauses grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubling {
    /// After the first failure.
    pub first: Duration,
    /// However often it failed.
    pub longest: Duration,
}

/// Doublings that are counted: the first pause is no shorter than a thousandth of the longest. No outside reference.
const MOST_DOUBLINGS: u32 = 10;

impl Doubling {
    /// The pause after a failure that so many others in a row went before.
    pub fn after(self, failures: u32) -> Duration {
        self.first.saturating_mul(1 << failures.min(MOST_DOUBLINGS)).min(self.longest)
    }

    /// The pause after a failure, which is counted.
    pub fn next(self, failures: &mut u32) -> Duration {
        let pause = self.after(*failures);
        *failures = failures.saturating_add(1);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_stay_there() {
        let doubling = Doubling { first: Duration::from_millis(500), longest: Duration::from_secs(30) };
        let mut failures = 0;
        let pauses: Vec<u128> = (0..8).map(|_| doubling.next(&mut failures).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        assert_eq!(doubling.after(u32::MAX), Duration::from_secs(30));
    }
}
