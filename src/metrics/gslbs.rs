//! The numbers of all Gslbs, encoded when they are asked for: what a Gslb no longer has is in no scrape.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use gslb_core::publication::{ByHealth, Figures};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;

use super::catalog::{self, Metric};
use crate::controller::cache::Key;

/// The latest numbers by Gslb; clones share them.
#[derive(Debug, Clone)]
pub(super) struct Gslbs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Series that stand for no Gslb, with value 0, so that every name is there from the start (contract §7.4).
    placeholder: Key,
    geo_tag: String,
    figures: Mutex<BTreeMap<Key, Figures>>,
}

/// Name and value.
type Label<'a> = (&'static str, &'a str);

impl Gslbs {
    pub(super) fn new(placeholder: Key, geo_tag: String) -> Self {
        Self(Arc::new(Shared { placeholder, geo_tag, figures: Mutex::default() }))
    }

    pub(super) fn set(&self, gslb: Key, figures: Figures) {
        self.lock().insert(gslb, figures);
    }

    pub(super) fn forget(&self, gslb: &Key) {
        self.lock().remove(gslb);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Figures>> {
        self.0.figures.lock().expect("no panic while the figures are locked")
    }
}

impl Collector for Gslbs {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let all = self.lock().clone();
        let mut page = Page { encoder: &mut encoder, placeholder: &self.0.placeholder, all: &all };
        page.gauge(&catalog::HEALTHY_RECORDS, &[vec![]], |figures, put| put(&[], figures.healthy_records))?;
        let geo_tag = [("geotag", self.0.geo_tag.as_str())];
        page.gauge(&catalog::HEALTHY_LOCAL_RECORDS, &[geo_tag.to_vec()], |figures, put| {
            put(&geo_tag, figures.healthy_local_records)
        })?;
        let statuses = ByHealth::default().each().map(|(health, _)| health.to_string());
        let by_status: Vec<_> = statuses.iter().map(|status| vec![("status", status.as_str())]).collect();
        page.gauge(&catalog::SERVICE_STATUS, &by_status, |figures, put| {
            figures
                .hosts
                .each()
                .iter()
                .try_for_each(|(health, hosts)| put(&[("status", &health.to_string())], *hosts))
        })?;
        for (label, metric) in [
            ("failover", &catalog::FAILOVER),
            ("roundRobin", &catalog::ROUND_ROBIN),
            ("geoip", &catalog::GEOIP),
        ] {
            page.gauge(metric, &by_status, |figures, put| by_strategy(figures, label, put))?;
        }
        page.gauge(&catalog::RECORDS, &[vec![("dns_name", "init.example.com")]], |figures, put| {
            figures
                .records
                .iter()
                .try_for_each(|(name, targets)| put(&[("dns_name", name.as_str())], *targets))
        })
    }
}

/// `<health>`, with `_primary` or `_secondary` behind it where a strategy has a primary.
fn by_strategy(figures: &Figures, label: &str, put: &mut Put<'_>) -> fmt::Result {
    let Some(strategy) = figures.strategy.as_ref().filter(|strategy| strategy.label == label) else {
        return Ok(());
    };
    let part = match strategy.primary {
        Some(true) => "_primary",
        Some(false) => "_secondary",
        None => "",
    };
    let mut each = strategy.targets.each().into_iter();
    each.try_for_each(|(health, targets)| put(&[("status", &format!("{health}{part}"))], targets))
}

/// Puts one series of the Gslb at hand.
type Put<'p> = dyn FnMut(&[Label<'_>], usize) -> fmt::Result + 'p;

struct Page<'e, 'd> {
    encoder: &'e mut DescriptorEncoder<'d>,
    placeholder: &'e Key,
    all: &'e BTreeMap<Key, Figures>,
}

impl Page<'_, '_> {
    /// One metric with the series of all Gslbs; `zero`: labels of the placeholder's.
    fn gauge(
        &mut self,
        metric: &Metric,
        zero: &[Vec<Label<'_>>],
        series: impl Fn(&Figures, &mut Put<'_>) -> fmt::Result,
    ) -> fmt::Result {
        let value = ConstGauge::new(0_i64);
        let help = format!("{}.", metric.help);
        let mut family = self.encoder.encode_descriptor(metric.name, &help, None, value.metric_type())?;
        let mut put = |gslb: &Key, labels: &[Label<'_>], value: usize| {
            let mut all = vec![("namespace", gslb.namespace.as_str()), ("name", gslb.name.as_str())];
            all.extend(labels);
            let value = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            value.encode(family.encode_family(&all)?)
        };
        for labels in zero {
            put(self.placeholder, labels, 0)?;
        }
        for (gslb, figures) in self.all {
            series(figures, &mut |labels, value| put(gslb, labels, value))?;
        }
        Ok(())
    }
}
