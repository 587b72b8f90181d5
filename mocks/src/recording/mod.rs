//! Plays recorded HTTP exchanges back, strictly and in order.
//!
//! A recording is a folder `mocks/<provider>/<scenario>/` of files `10-get-zone.json`, `20-…`: one
//! [`Exchange`] each. [`Player`] serves them; a request that is not the next one, or a recording that
//! nobody asked for, fails the test. Exchanges with the same number were under way together and come in any order.

mod exchange;
mod player;

pub use exchange::{ANY, Exchange, RecordedRequest, RecordedResponse, RecordingError, load};
pub use player::{Mismatch, Player};
