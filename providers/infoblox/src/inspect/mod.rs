//! Looks at a grid for people, and changes nothing: whether it can be reached and trusted, what the account may do there,
//! and whether views, parent zones and delegations are as the daemon needs them.
//!
//! `read` and `read_zone` ask the grid; what they bring is `facts`. `judge` is a pure function from facts to findings.
//! A read that fails is a fact too, so that what could not be told is never taken for what is as it should be.

mod facts;
mod judge;
mod read;
mod read_zone;

use gslb_provider_contract::{Finding, Inspected};

use crate::provider::Infoblox;

impl Infoblox {
    /// What there is to say of the grid, and of each of these zones.
    pub(crate) async fn examine(&self, what: &Inspected) -> Vec<Finding> {
        judge::judge(&self.facts(what).await)
    }
}
