//! Why a referenced object leads to no addresses. The texts are the sentences that the user reads.

use super::problem::KindUnread;

/// Why a referenced object leads to no addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// A Service of another type has no load balancer.
    #[error(
        "{what} is of type {kind}: service {name} is not of type LoadBalancer; change its type, or list addresses in the annotation k8gb.io/exposed-ip-addresses"
    )]
    NotLoadBalancer {
        /// The object.
        what: String,
        /// Its name.
        name: String,
        /// Its type.
        kind: String,
    },
    /// Not exactly one Gateway.
    #[error("exactly 1 Gateway expected in {field} of {what} but {found} were found; name one")]
    NotOneGateway {
        /// The object.
        what: String,
        /// Where Gateways are named.
        field: &'static str,
        /// How many different ones.
        found: usize,
    },
    /// The Gateway does not exist.
    #[error("{gateway} does not exist; create it or correct {what}")]
    NoGateway {
        /// For example `Gateway web/edge`.
        gateway: String,
        /// The object that names it.
        what: String,
    },
    /// The Gateway does not parse.
    #[error("{gateway} cannot be read: {problem}; correct it")]
    UnreadableGateway {
        /// The Gateway.
        gateway: String,
        /// What is wrong.
        problem: String,
    },
    /// Its kind is not known.
    #[error(transparent)]
    Unread(#[from] KindUnread),
    /// An Istio Gateway that selects everything.
    #[error(
        "{gateway} has an empty selector, which every Service would match; add spec.selector with the labels of its load balancer's Service"
    )]
    EmptySelector {
        /// The Gateway.
        gateway: String,
    },
    /// An Istio Gateway whose load balancer is not clear.
    #[error(
        "exactly 1 Service expected with the labels {selector} of {gateway} but {found} were found; label one, or list addresses in the annotation k8gb.io/exposed-ip-addresses"
    )]
    NotOneService {
        /// The Gateway.
        gateway: String,
        /// Its selector.
        selector: String,
        /// How many.
        found: usize,
    },
}

/// What an [`AddressProblem`] makes of the addresses that an object had last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    /// Nothing says that they are gone.
    Kept,
    /// The object lives and shows none: they are held for a while.
    Held,
    /// They are gone for certain.
    Gone,
}

impl AddressProblem {
    /// Stable reason for conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotLoadBalancer { .. } => "ServiceNotLoadBalancer",
            Self::NotOneGateway { .. } => "GatewayAmbiguous",
            Self::NoGateway { .. } => "GatewayNotFound",
            Self::UnreadableGateway { .. } => "GatewayUnreadable",
            Self::Unread(unread) => unread.reason(),
            Self::EmptySelector { .. } => "GatewayWithoutSelector",
            Self::NotOneService { .. } => "GatewayServiceAmbiguous",
        }
    }

    /// What becomes of the last addresses.
    pub fn last(&self) -> Last {
        match self {
            Self::NotLoadBalancer { .. } => Last::Held,
            Self::NotOneGateway { found, .. } | Self::NotOneService { found, .. } if *found == 0 => {
                Last::Gone
            }
            Self::NoGateway { .. } => Last::Gone,
            Self::NotOneGateway { .. }
            | Self::NotOneService { .. }
            | Self::UnreadableGateway { .. }
            | Self::Unread(_)
            | Self::EmptySelector { .. } => Last::Kept,
        }
    }
}
