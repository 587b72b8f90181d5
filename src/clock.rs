//! What time it is: for what is written, the wall clock; for calendars, one that never goes back.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Goes forward with the wall clock. Where that is set back, time goes on at the pace of the monotonic clock, so that
/// what is due in a minute is so in a minute, and not in a minute and all that was taken away.
pub(crate) fn steady(wall: Clock) -> Clock {
    let last = Mutex::new((wall(), Instant::now()));
    Arc::new(move || {
        let mut last = last.lock().expect("no panic while the clock is locked");
        let (told, at) = *last;
        let instant = Instant::now();
        let paced = told.checked_add(instant.duration_since(at)).unwrap_or(Timestamp::MAX);
        let now = wall().max(paced);
        *last = (now, instant);
        now
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::SignedDuration;
    use tokio::time::advance;

    use super::*;

    const T0: Timestamp = Timestamp::UNIX_EPOCH;

    fn at(seconds: i64) -> Timestamp {
        T0 + SignedDuration::from_secs(seconds)
    }

    #[tokio::test(start_paused = true)]
    async fn time_follows_the_wall_clock_forward_and_goes_on_at_its_own_pace_where_that_is_set_back() {
        let wall = Arc::new(Mutex::new(at(1_000)));
        let read = Arc::clone(&wall);
        let now = steady(Arc::new(move || *read.lock().unwrap()));
        let mut told = Vec::new();
        // What the wall clock says, ten seconds later each time: as it should, set back, going on from there, set to a time
        // that lies ahead, and as it should.
        for seconds in [1_010, 400, 410, 5_000, 5_010] {
            advance(Duration::from_secs(10)).await;
            *wall.lock().unwrap() = at(seconds);
            told.push(now());
        }
        assert_eq!(told, [1_010, 1_020, 1_030, 5_000, 5_010].map(at));
    }
}
