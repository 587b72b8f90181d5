//! Scenarios: what to do, and what must come of it until when. Read from YAML, checked as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use super::fault::Injection;
use super::objects::Strategy;
use super::topology::{Provider, Site};

/// How long an expectation may take if nothing else is said.
const PATIENCE: Duration = Duration::from_secs(10);

/// Steps in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scenario {
    pub(super) steps: Vec<Step>,
}

/// One step, with its title.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) say: Option<String>,
    pub(super) action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    /// Nothing but its title.
    Say,
    Inject(Injection),
    Strategy(Strategy),
    /// The state must be reached in time.
    Expect {
        state: State,
        within: Duration,
    },
    /// The state must hold for that long without a break.
    Hold {
        state: State,
        for_: Duration,
    },
}

/// A state of the sandbox: everything that is named must be so.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct State {
    /// The sites whose targets a cluster answers, no more and no fewer.
    pub(super) answers: BTreeMap<Site, BTreeSet<Site>>,
    /// The sites that stand in the stored delegation.
    pub(super) delegation: Option<BTreeSet<Site>>,
    /// Whether the clusters' ZoneDelegations are `Ready`.
    pub(super) delegation_ready: BTreeMap<Site, bool>,
    /// What the clusters' ZoneDelegations say of the grid: the reason of `InSync`.
    pub(super) in_sync: BTreeMap<Site, String>,
    /// The grid may have counted so many bad log-ins at most since the start.
    pub(super) bad_logins_at_least: Option<u64>,
    /// See [`Self::bad_logins_at_least`].
    pub(super) bad_logins_at_most: Option<u64>,
    /// Nobody writes at the parent zone, and no change is logged, while the step lasts.
    pub(super) no_writes: bool,
}

/// A scenario as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScenario {
    steps: Vec<RawStep>,
}

/// A step as written: at most one of its actions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    say: Option<String>,
    inject: Option<String>,
    strategy: Option<String>,
    expect: Option<RawState>,
    hold: Option<RawState>,
}

/// A state as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawState {
    /// Seconds.
    within: Option<u64>,
    /// Seconds.
    #[serde(rename = "for")]
    for_: Option<u64>,
    #[serde(default)]
    answers: BTreeMap<Site, BTreeSet<Site>>,
    /// The same answer at all clusters.
    everywhere: Option<BTreeSet<Site>>,
    delegation: Option<BTreeSet<Site>>,
    #[serde(default)]
    delegation_ready: BTreeMap<Site, bool>,
    #[serde(default)]
    in_sync: BTreeMap<Site, String>,
    bad_logins_at_least: Option<u64>,
    bad_logins_at_most: Option<u64>,
    #[serde(default)]
    no_writes: bool,
}

impl Scenario {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read or is no scenario; the text names the step.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the scenario {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a scenario", path.display()))
    }

    /// Looks whether all steps mean something with a provider.
    ///
    /// # Errors
    /// The first step that does not; the text names it.
    pub(super) fn check(&self, provider: Provider) -> anyhow::Result<()> {
        for (number, step) in self.steps.iter().enumerate() {
            let fits = step.action.fits(provider).map_err(anyhow::Error::msg);
            fits.with_context(|| format!("step {} of the scenario", number + 1))?;
        }
        Ok(())
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let raw: RawScenario = serde_saphyr::from_str(text)?;
        let step =
            |(number, raw): (usize, RawStep)| raw.settle().with_context(|| format!("step {}", number + 1));
        let steps = raw.steps.into_iter().enumerate().map(step).collect::<anyhow::Result<_>>()?;
        Ok(Self { steps })
    }
}

impl Action {
    fn fits(&self, provider: Provider) -> Result<(), String> {
        match self {
            Self::Inject(injection) => injection.fits(provider),
            Self::Expect { state, .. } | Self::Hold { state, .. } => state.fits(provider),
            Self::Say | Self::Strategy(_) => Ok(()),
        }
    }
}

impl State {
    fn fits(&self, provider: Provider) -> Result<(), String> {
        let counts = self.bad_logins_at_least.or(self.bad_logins_at_most).is_some();
        match provider {
            Provider::ExternalDns if counts => {
                Err("only a grid counts bad log-ins: --provider infoblox".to_owned())
            }
            Provider::Infoblox | Provider::ExternalDns => Ok(()),
        }
    }
}

impl RawStep {
    fn settle(self) -> anyhow::Result<Step> {
        let Self { say, inject, strategy, expect, hold } = self;
        let mut actions = Vec::new();
        if let Some(words) = inject {
            let words: Vec<&str> = words.split_whitespace().collect();
            actions.push(Action::Inject(Injection::parse(&words).map_err(anyhow::Error::msg)?));
        }
        if let Some(text) = strategy {
            actions.push(Action::Strategy(parse_strategy(&text)?));
        }
        if let Some(raw) = expect {
            anyhow::ensure!(raw.for_.is_none(), "`for` belongs to `hold`");
            let within = raw.within.map_or(PATIENCE, Duration::from_secs);
            actions.push(Action::Expect { state: raw.settle()?, within });
        }
        if let Some(raw) = hold {
            anyhow::ensure!(raw.within.is_none(), "`within` belongs to `expect`");
            let for_ = Duration::from_secs(raw.for_.context("`hold` needs `for`, in seconds")?);
            actions.push(Action::Hold { state: raw.settle()?, for_ });
        }
        anyhow::ensure!(actions.len() <= 1, "a step has one of inject, strategy, expect and hold");
        let action = actions.pop().unwrap_or(Action::Say);
        anyhow::ensure!(action != Action::Say || say.is_some(), "the step is empty");
        Ok(Step { say, action })
    }
}

impl RawState {
    fn settle(self) -> anyhow::Result<State> {
        let mut answers = self.answers;
        if let Some(sites) = self.everywhere {
            anyhow::ensure!(answers.is_empty(), "a state has one of answers and everywhere");
            answers = Site::ALL.map(|site| (site, sites.clone())).into();
        }
        let state = State {
            answers,
            delegation: self.delegation,
            delegation_ready: self.delegation_ready,
            in_sync: self.in_sync,
            bad_logins_at_least: self.bad_logins_at_least,
            bad_logins_at_most: self.bad_logins_at_most,
            no_writes: self.no_writes,
        };
        anyhow::ensure!(state != State::default(), "the state says nothing");
        Ok(state)
    }
}

/// `roundRobin`, or `failover eu` with the primary.
pub(super) fn parse_strategy(text: &str) -> anyhow::Result<Strategy> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let primary = |tag: &str| Site::ALL.into_iter().find(|site| site.tag() == tag);
    match words.as_slice() {
        ["roundRobin"] => Ok(Strategy::RoundRobin),
        ["failover", tag] => primary(tag)
            .map(Strategy::Failover)
            .with_context(|| format!("no cluster is called `{tag}`; use eu, us or za")),
        _ => anyhow::bail!("`{text}` is no strategy; write roundRobin or, for example, failover eu"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::KillPoint;
    use super::*;

    #[test]
    fn a_scenario_is_steps_with_titles() {
        let text = "
steps:
- say: eu fails
  inject: app-down eu
- expect: {within: 3, everywhere: [us, za], delegation: [eu, us, za]}
- strategy: failover us
- inject: kill-controller za --at after-write
- hold: {for: 6, no_writes: true}
";
        let [eu, us, za] = Site::ALL;
        let sites = |sites: &[Site]| sites.iter().copied().collect::<BTreeSet<_>>();
        let expected = State {
            answers: Site::ALL.map(|site| (site, sites(&[us, za]))).into(),
            delegation: Some(sites(&Site::ALL)),
            ..State::default()
        };
        let quiet = State { no_writes: true, ..State::default() };
        let actions = [
            Action::Inject(Injection::AppDown { cluster: eu }),
            Action::Expect { state: expected, within: Duration::from_secs(3) },
            Action::Strategy(Strategy::Failover(us)),
            Action::Inject(Injection::KillController { cluster: za, at: KillPoint::AfterWrite }),
            Action::Hold { state: quiet, for_: Duration::from_secs(6) },
        ];
        let scenario = Scenario::parse(text).unwrap();
        assert_eq!(scenario.steps[0].say.as_deref(), Some("eu fails"));
        let found: Vec<Action> = scenario.steps.into_iter().map(|step| step.action).collect();
        assert_eq!(found, actions);
    }

    #[test]
    fn a_wrong_step_is_named() {
        let complaint = |step: &str| {
            let text = format!("steps:\n- say: fine\n- {step}\n");
            format!("{:#}", Scenario::parse(&text).unwrap_err())
        };
        for (step, part) in [
            ("{inject: app-down mars}", "mars"),
            ("{inject: clear, strategy: roundRobin}", "one of"),
            ("{strategy: failover}", "no strategy"),
            ("{hold: {everywhere: [eu]}}", "needs `for`"),
            ("{expect: {within: 3}}", "says nothing"),
            ("{expect: {for: 3, everywhere: [eu]}}", "belongs to"),
        ] {
            let text = complaint(step);
            assert!(text.starts_with("step 2") && text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_step_about_a_grid_is_refused_where_there_is_none() {
        let complaint = |step: &str| {
            let scenario = Scenario::parse(&format!("steps:\n- say: fine\n- {step}\n")).unwrap();
            assert!(scenario.check(Provider::Infoblox).is_ok());
            format!("{:#}", scenario.check(Provider::ExternalDns).unwrap_err())
        };
        for step in ["{inject: wapi-html}", "{expect: {bad_logins_at_most: 3}}"] {
            let text = complaint(step);
            assert!(text.starts_with("step 2") && text.contains("--provider infoblox"), "{text}");
        }
    }

    #[test]
    fn the_scenarios_of_the_repository_are_scenarios() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("mocks/scenarios");
        for entry in std::fs::read_dir(folder).unwrap() {
            Scenario::read(&entry.unwrap().path()).unwrap();
        }
    }
}
