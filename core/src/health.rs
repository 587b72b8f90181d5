//! Health of a Service and of a host (contract §2.5).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Health of one Service or of one host. `NotFound` and `Unhealthy` act alike on DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Health {
    /// At least one endpoint with an address is ready.
    Healthy,
    /// The Service exists, but nothing of it is ready.
    Unhealthy,
    /// There is no such Service, or the host names none.
    NotFound,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Healthy => "Healthy",
            Self::Unhealthy => "Unhealthy",
            Self::NotFound => "NotFound",
        })
    }
}

/// How the health of several Services makes the health of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum HealthPolicy {
    /// One healthy Service is enough.
    #[default]
    Any,
    /// Every Service must exist and be healthy.
    All,
}

impl HealthPolicy {
    /// The policy of `spec.serviceHealthPolicy`; absent, empty and unknown values mean [`Self::Any`], as in
    /// k8gb.
    pub fn from_spec(value: Option<&str>) -> Self {
        match value {
            Some("All") => Self::All,
            _ => Self::Any,
        }
    }

    /// The health of a host from its Services.
    pub fn judge(self, services: impl IntoIterator<Item = Health>) -> Health {
        let mut services = services.into_iter().peekable();
        if services.peek().is_none() {
            return Health::NotFound;
        }
        match self {
            // `Healthy` orders before `Unhealthy` before `NotFound`: the best decides.
            Self::Any => services.min().unwrap_or(Health::NotFound),
            // The worst decides.
            Self::All => services.max().unwrap_or(Health::NotFound),
        }
    }
}

/// The health of one Service from what the API holds.
pub fn service_health(exists: bool, ready_endpoint: bool) -> Health {
    match (exists, ready_endpoint) {
        (false, _) => Health::NotFound,
        (true, true) => Health::Healthy,
        (true, false) => Health::Unhealthy,
    }
}

#[cfg(test)]
mod tests {
    use super::Health::{Healthy, NotFound, Unhealthy};
    use super::*;

    /// Conformance 35, 38.
    #[test]
    fn with_any_one_healthy_service_makes_the_host_healthy() {
        for (services, expected) in [
            (vec![Healthy, Healthy], Healthy),
            (vec![Healthy, NotFound], Healthy),
            (vec![Unhealthy, Healthy], Healthy),
            (vec![Unhealthy, Unhealthy], Unhealthy),
            (vec![NotFound, Unhealthy], Unhealthy),
            (vec![NotFound, NotFound], NotFound),
            (vec![], NotFound),
        ] {
            assert_eq!(HealthPolicy::Any.judge(services.clone()), expected, "{services:?}");
        }
    }

    /// Conformance 36, 38.
    #[test]
    fn with_all_the_worst_service_decides() {
        for (services, expected) in [
            (vec![Healthy, Healthy], Healthy),
            (vec![Healthy, NotFound], NotFound),
            (vec![Healthy, Unhealthy, Healthy], Unhealthy),
            (vec![Unhealthy, NotFound], NotFound),
            (vec![], NotFound),
        ] {
            assert_eq!(HealthPolicy::All.judge(services.clone()), expected, "{services:?}");
        }
    }

    #[test]
    fn an_unknown_policy_is_any_as_in_k8gb() {
        assert_eq!(HealthPolicy::from_spec(Some("Most")), HealthPolicy::Any);
        assert_eq!(HealthPolicy::from_spec(Some("All")), HealthPolicy::All);
        assert_eq!(HealthPolicy::from_spec(None), HealthPolicy::Any);
    }

    /// Conformance 8.
    #[test]
    fn a_service_without_ready_endpoints_is_unhealthy_and_a_missing_one_is_not_found() {
        assert_eq!(service_health(true, true), Healthy);
        assert_eq!(service_health(true, false), Unhealthy);
        assert_eq!(service_health(false, true), NotFound);
    }
}
