//! Plays a scenario: does its steps, and waits for what must come of them.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::apply;
use super::cluster::is_true;
use super::grid::SimulatedGrid;
use super::scenario::{Action, Scenario, State, Step};
use super::timeline::Happening;
use super::world::World;

/// Pause between two looks at a state.
const PAUSE: Duration = Duration::from_millis(50);

/// Plays all steps until one fails.
///
/// # Errors
/// The step that failed, and what it missed.
pub(super) async fn run(world: &World, scenario: &Scenario) -> anyhow::Result<()> {
    let start = Instant::now();
    let count = scenario.steps.iter().filter(|step| step.say.is_some()).count();
    let (mut number, mut title) = (0, "");
    for step in &scenario.steps {
        if let Some(say) = &step.say {
            (number, title) = (number + 1, say);
            world.timeline.tell(Happening::overall("step", format!("{number}/{count}: {title}")));
        }
        if let Err(error) = play(world, step).await {
            let text = format!("{number}/{count} ({title}) failed: {error:#}");
            world.timeline.tell(Happening::overall("scenario", text.clone()));
            anyhow::bail!("the scenario failed at {text}");
        }
    }
    let text = format!("the scenario passed in {:.1} s", start.elapsed().as_secs_f64());
    world.timeline.tell(Happening::overall("scenario", text));
    Ok(())
}

async fn play(world: &World, step: &Step) -> anyhow::Result<()> {
    match &step.action {
        Action::Say => Ok(()),
        Action::Inject(injection) => apply::apply(world, *injection).await.map(drop),
        Action::Strategy(strategy) => world.set_strategy(*strategy),
        Action::Expect { state, within } => expect(world, state, *within).await,
        Action::Hold { state, for_ } => hold(world, state, *for_).await,
    }
}

async fn expect(world: &World, state: &State, within: Duration) -> anyhow::Result<()> {
    let (start, writes) = (Instant::now(), writes(world));
    loop {
        let unmet = unmet(world, state, writes).await;
        if unmet.is_empty() {
            let text = format!("as expected after {:.2} s", start.elapsed().as_secs_f64());
            world.timeline.tell(Happening::overall("expected", text));
            return Ok(());
        }
        anyhow::ensure!(start.elapsed() < within, "after {} s still: {}", within.as_secs(), unmet.join("; "));
        sleep(PAUSE).await;
    }
}

async fn hold(world: &World, state: &State, for_: Duration) -> anyhow::Result<()> {
    let (start, writes) = (Instant::now(), writes(world));
    loop {
        let unmet = unmet(world, state, writes).await;
        let held = start.elapsed();
        anyhow::ensure!(unmet.is_empty(), "after {:.2} s: {}", held.as_secs_f64(), unmet.join("; "));
        if held >= for_ {
            let text = format!("held for {} s", for_.as_secs());
            world.timeline.tell(Happening::overall("held", text));
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// Effective writes at the parent zone, and changes in the change logs, so far.
type Writes = (usize, usize);

fn writes(world: &World) -> Writes {
    let logged = world.clusters.values().map(|cluster| cluster.changes().len()).sum();
    (world.parent.writes(), logged)
}

/// What is not as the state says.
async fn unmet(world: &World, state: &State, before: Writes) -> Vec<String> {
    let mut unmet = Vec::new();
    for (site, sites) in &state.answers {
        let answer = world.witness.answer_of(*site).await;
        if !answer.is_from(sites) {
            unmet.push(format!("{site} answers {answer}"));
        }
    }
    let delegated = world.parent.delegated().into_iter().collect();
    if state.delegation.as_ref().is_some_and(|wanted| *wanted != delegated) {
        unmet.push(format!("the delegation holds {delegated:?}"));
    }
    for (site, wanted) in &state.delegation_ready {
        let conditions = world.cluster(*site).delegation_conditions();
        if is_true(&conditions, "Ready") != *wanted {
            unmet.push(format!("the ZoneDelegation of {site} says {conditions:?}"));
        }
    }
    for (site, reason) in &state.in_sync {
        let conditions = world.cluster(*site).delegation_conditions();
        let said = conditions.get("InSync").and_then(|state| state.split(' ').next_back());
        if said != Some(reason) {
            unmet.push(format!("the ZoneDelegation of {site} says {conditions:?}"));
        }
    }
    let bad_logins = world.parent.grid().map_or(0, SimulatedGrid::bad_logins);
    if state.bad_logins_at_most.is_some_and(|most| bad_logins > most)
        || state.bad_logins_at_least.is_some_and(|least| bad_logins < least)
    {
        unmet.push(format!("the grid counted {bad_logins} bad log-ins"));
    }
    if state.no_writes && writes(world) != before {
        unmet.push("somebody wrote at the parent zone".to_owned());
    }
    unmet
}
