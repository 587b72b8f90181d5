//! The Gslb that the annotations of an Ingress ask for (contract §2.8).
//!
//! The Gslb of the Ingress's name is made, kept as the annotations say, and removed with them; one that is not the
//! Ingress's own is left alone.

use crate::name::GeoTag;
use crate::strategy::{RawStrategy, Strategy};
use crate::ttl::Ttl;

/// The annotations as they are written; `None`: not there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawAnnotations {
    /// `k8gb.io/strategy`
    pub strategy: Option<String>,
    /// `k8gb.io/primary-geotag`
    pub primary_geo_tag: Option<String>,
    /// `k8gb.io/dns-ttl-seconds`
    pub dns_ttl_seconds: Option<String>,
    /// `k8gb.io/exposed-ip-addresses`
    pub exposed_ip_addresses: Option<String>,
}

/// What the Gslb shall hold. Nothing else in it is the Ingress's business (F-91).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// `spec.strategy.type`
    pub strategy: &'static str,
    /// `spec.strategy.primaryGeoTag`
    pub primary_geo_tag: Option<GeoTag>,
    /// `spec.strategy.dnsTtlSeconds`
    pub ttl: Ttl,
    /// Annotation `k8gb.io/exposed-ip-addresses`, as written: the Gslb tells what is wrong with it.
    pub exposed_ip_addresses: Option<String>,
}

/// One thing that is wrong with the annotations. Its text is the sentence that the user reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnnotationProblem {
    /// Not one of the three, case included.
    #[error("k8gb.io/strategy {0:?} is unknown; write roundRobin, failover or geoip")]
    UnknownStrategy(String),
    /// On this path a primary is needed, unlike in a Gslb.
    #[error("k8gb.io/strategy failover needs a primary; name it in k8gb.io/primary-geotag")]
    NoPrimary,
    /// Cannot be a geo tag.
    #[error("k8gb.io/primary-geotag {0:?} is no geo tag; write letters, digits and inner dashes")]
    Primary(String),
    /// No number, or one that is no TTL.
    #[error(
        "k8gb.io/dns-ttl-seconds {0:?} is no time to live; write a number from 0 to 2147483647 (0 means 30)"
    )]
    Ttl(String),
}

impl RawAnnotations {
    /// What the annotations ask for; `None`: for no Gslb.
    ///
    /// # Errors
    /// All problems, in the order of the fields.
    pub fn accept(&self) -> Result<Option<Wanted>, Vec<AnnotationProblem>> {
        let Some(kind) = &self.strategy else { return Ok(None) };
        let mut problems = Vec::new();
        let strategy = match (RawStrategy { kind: kind.clone(), ..RawStrategy::default() }).accept() {
            Ok(accepted) => Some(accepted.strategy),
            Err(_) => {
                problems.push(AnnotationProblem::UnknownStrategy(kind.clone()));
                None
            }
        };
        let primary = self.primary_geo_tag.as_deref().filter(|text| !text.is_empty());
        let primary_geo_tag = primary.and_then(|text| {
            GeoTag::parse(text).map_err(|_| problems.push(AnnotationProblem::Primary(text.to_owned()))).ok()
        });
        if matches!(strategy, Some(Strategy::Failover { .. })) && primary.is_none() {
            problems.push(AnnotationProblem::NoPrimary);
        }
        let ttl = self.ttl().map_err(|problem| problems.push(problem)).ok();
        match (strategy, ttl) {
            (Some(strategy), Some(ttl)) if problems.is_empty() => Ok(Some(Wanted {
                strategy: strategy.label(),
                primary_geo_tag,
                ttl,
                exposed_ip_addresses: self.exposed_ip_addresses.clone(),
            })),
            _ => Err(problems),
        }
    }

    fn ttl(&self) -> Result<Ttl, AnnotationProblem> {
        let Some(text) = &self.dns_ttl_seconds else { return Ok(Ttl::DEFAULT) };
        let ttl = text.parse().ok().and_then(|seconds| match seconds {
            0 => Some(Ttl::DEFAULT),
            seconds => Ttl::from_secs(seconds).ok(),
        });
        ttl.ok_or_else(|| AnnotationProblem::Ttl(text.clone()))
    }
}

/// Whose the Gslb of the Ingress's name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is none.
    Absent,
    /// The Ingress controls it.
    Own,
    /// An Ingress of the same name that is gone controls it: it goes too, and its end is waited for.
    Leaving,
    /// Somebody else made it.
    Foreign,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Nothing,
    /// The Gslb is brought to this.
    Apply(Wanted),
    /// The Gslb is deleted.
    Remove,
    /// The user has to correct the annotations; what was accepted before stays.
    Correct(Vec<AnnotationProblem>),
    /// The user has to decide who makes the Gslb.
    LeaveAlone,
}

/// What the annotations of an Ingress come to.
pub fn step(annotations: &RawAnnotations, gslb: Standing) -> Step {
    match (annotations.accept(), gslb) {
        (Err(problems), _) => Step::Correct(problems),
        (Ok(Some(wanted)), Standing::Absent | Standing::Own) => Step::Apply(wanted),
        (Ok(Some(_)), Standing::Foreign) => Step::LeaveAlone,
        (Ok(Some(_)), Standing::Leaving) => Step::Nothing,
        (Ok(None), Standing::Own) => Step::Remove,
        (Ok(None), Standing::Absent | Standing::Leaving | Standing::Foreign) => Step::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(strategy: &str, primary: &str, ttl: &str) -> RawAnnotations {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        RawAnnotations {
            strategy: given(strategy),
            primary_geo_tag: given(primary),
            dns_ttl_seconds: given(ttl),
            exposed_ip_addresses: None,
        }
    }
    fn wanted(strategy: &'static str, primary: &str, ttl: i64) -> Wanted {
        Wanted {
            strategy,
            primary_geo_tag: GeoTag::parse(primary).ok(),
            ttl: Ttl::from_secs(ttl).unwrap(),
            exposed_ip_addresses: None,
        }
    }

    /// Conformance 11, 12, 14.
    #[test]
    fn annotations_say_what_the_gslb_holds() {
        use AnnotationProblem::{NoPrimary, Primary, Ttl, UnknownStrategy};
        for (given, comes_to) in [
            (annotations("", "eu", "x"), Ok(None)),
            (annotations("failover", "eu", "5"), Ok(Some(wanted("failover", "eu", 5)))),
            (annotations("roundRobin", "", ""), Ok(Some(wanted("roundRobin", "", 30)))),
            (annotations("geoip", "us", "0"), Ok(Some(wanted("geoip", "us", 30)))),
            (annotations("failover", "", ""), Err(vec![NoPrimary])),
            (annotations("round-robin", "", ""), Err(vec![UnknownStrategy("round-robin".into())])),
            (annotations("roundRobin", "e u", ""), Err(vec![Primary("e u".into())])),
            (annotations("roundRobin", "", "5s"), Err(vec![Ttl("5s".into())])),
            (annotations("failover", "", "-1"), Err(vec![NoPrimary, Ttl("-1".into())])),
        ] {
            assert_eq!(given.accept(), comes_to, "{given:?}");
        }
    }

    #[test]
    fn exposed_addresses_are_passed_on_as_they_are_written() {
        let given =
            RawAnnotations { exposed_ip_addresses: Some("a, b".into()), ..annotations("geoip", "", "") };
        assert_eq!(given.accept().unwrap().unwrap().exposed_ip_addresses.as_deref(), Some("a, b"));
    }

    /// F-91.
    #[test]
    fn a_gslb_is_made_kept_and_removed_with_the_annotation_and_never_taken_from_somebody_else() {
        let (asks, bad, none) =
            (annotations("geoip", "", ""), annotations("x", "", ""), annotations("", "", ""));
        let apply = Step::Apply(wanted("geoip", "", 30));
        let correct = Step::Correct(vec![AnnotationProblem::UnknownStrategy("x".into())]);
        for (given, gslb, comes_to) in [
            (&asks, Standing::Absent, &apply),
            (&asks, Standing::Own, &apply),
            (&asks, Standing::Leaving, &Step::Nothing),
            (&asks, Standing::Foreign, &Step::LeaveAlone),
            (&bad, Standing::Absent, &correct),
            (&bad, Standing::Own, &correct),
            (&bad, Standing::Foreign, &correct),
            (&none, Standing::Absent, &Step::Nothing),
            (&none, Standing::Own, &Step::Remove),
            (&none, Standing::Leaving, &Step::Nothing),
            (&none, Standing::Foreign, &Step::Nothing),
        ] {
            assert_eq!(&step(given, gslb), comes_to, "{given:?} {gslb:?}");
        }
    }
}
