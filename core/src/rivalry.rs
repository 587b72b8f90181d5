//! How often what somebody else undoes is written back: at once a few times, then with growing pauses.

use jiff::{SignedDuration, Timestamp};

/// Changes of somebody else are written back at once this often in [`WINDOW`]; then with growing pauses.
const FREE_WRITE_BACKS: usize = 3;
/// See [`FREE_WRITE_BACKS`]. No outside reference.
const WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// Longest pause between two write-backs. No outside reference.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// When the same thing was written again lately because somebody else had changed it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rivalry(Vec<Timestamp>);

impl Rivalry {
    /// Takes in time that passed, and a write at its end: whether it brought back what was written before.
    pub fn wrote(&mut self, back: bool, now: Timestamp) {
        self.0.retain(|at| now.duration_since(*at) < WINDOW);
        if back {
            self.0.push(now);
        }
    }

    /// Until when the next write-back has to wait.
    pub fn held_until(&self, now: Timestamp) -> Option<Timestamp> {
        let recent = self.recent(now);
        let doublings = u32::try_from(recent.len().checked_sub(FREE_WRITE_BACKS)?).unwrap_or(u32::MAX).min(6);
        let pause = SignedDuration::from_secs(1 << doublings).min(LONGEST_PAUSE);
        let until = *recent.last()? + pause;
        (now < until).then_some(until)
    }

    /// Until when there is another writer to speak of, if nothing more is written back.
    pub fn lasts_until(&self, now: Timestamp) -> Option<Timestamp> {
        let recent = self.recent(now);
        Some(*recent.get(recent.len().checked_sub(FREE_WRITE_BACKS)?)? + WINDOW)
    }

    fn recent(&self, now: Timestamp) -> &[Timestamp] {
        let old = self.0.iter().take_while(|at| now.duration_since(**at) >= WINDOW).count();
        &self.0[old..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }
    fn written_back(times: &[i64]) -> Rivalry {
        let mut rivalry = Rivalry::default();
        times.iter().for_each(|second| rivalry.wrote(true, at(*second)));
        rivalry
    }

    #[test]
    fn three_write_backs_are_free_and_then_the_pauses_double_up_to_a_minute() {
        let held = |times: &[i64]| written_back(times).held_until(at(*times.last().unwrap()));
        assert_eq!([held(&[1]), held(&[1, 2]), held(&[1, 2, 3])], [None, None, Some(at(4))]);
        assert_eq!(held(&[1, 2, 3, 4]), Some(at(6)));
        assert_eq!(held(&[1, 2, 3, 4, 6, 10, 18, 34, 66]), Some(at(126)));
        assert_eq!(held(&[1, 2, 3, 4, 6, 10, 18, 34, 66, 126]), Some(at(186)));
        assert_eq!(written_back(&[1, 2, 3]).held_until(at(4)), None);
    }

    #[test]
    fn a_rivalry_is_over_when_fewer_than_three_write_backs_lie_within_five_minutes() {
        let rivalry = written_back(&[1, 2, 3, 10]);
        assert_eq!(rivalry.lasts_until(at(10)), Some(at(302)));
        assert_eq!(rivalry.lasts_until(at(302)), None);
        assert_eq!(written_back(&[1, 2]).lasts_until(at(2)), None);
    }

    #[test]
    fn a_write_of_something_else_is_no_write_back() {
        let mut rivalry = written_back(&[1, 2]);
        rivalry.wrote(false, at(3));
        assert_eq!(rivalry.held_until(at(3)), None);
    }
}
