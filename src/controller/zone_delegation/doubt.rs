//! Whether it is believed that a delegation is gone: an account that lost the right to see a zone is told that there is
//! none.

use gslb_core::claim::Claimant;
use gslb_core::condition::{Condition, ConditionKind};
use gslb_core::reply::rcode;
use gslb_provider_contract::Provider;

use super::memory::{Memory, Standing};
use super::prove::{self, Reach, Words};
use crate::question::{Client, Referral};

/// After a visit: takes back that our part is withdrawn if DNS does not bear it out. `parent`: whoever knows the servers
/// of the place's parent zone; nothing if nobody does. What we took away ourselves may be served for a while.
pub(super) async fn about_withdrawal(
    parent: Option<&Client>,
    provider: &dyn Provider,
    claimant: &Claimant,
    memory: &mut Memory,
) {
    let is_over = memory.withdrawal().is_some_and(|standing| standing.withdrawn);
    if !is_over || !memory.absent || memory.left || provider.capabilities().own_object {
        return;
    }
    let words = match parent {
        Some(client) => prove::ask_parent(client, claimant.zone(), Reach::OneResolver).await,
        None => Words::new(),
    };
    let refers = |word: &Referral| word.name_servers.contains(claimant.ns_name());
    let is_definite = |word: &Referral| matches!(word.rcode, rcode::NO_ERROR | rcode::NX_DOMAIN);
    let why = if words.values().flatten().any(refers) {
        "the parent zone's servers still refer to"
    } else if !words.values().flatten().any(is_definite) && memory.listed_us {
        "no server of the parent zone says that it is gone, and it had been seen with"
    } else {
        return;
    };
    let (zone, ns_name, provider) = (claimant.zone().name(), claimant.ns_name(), provider.id());
    let message = format!(
        "{provider} shows no delegation {zone} to this account, but {why} {ns_name}; let the account see the zone, have the provider's services restarted, or set doFinalize to false to let the object go as it is"
    );
    memory.standing = Some(Standing::new(Condition::bad(ConditionKind::InSync, "StillDelegated", message)));
}
