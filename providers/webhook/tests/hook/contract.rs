//! The battery, at a webhook of each habit.

use gslb_mocks::hook::Habits;
use gslb_provider_contract::contract_tests;

use crate::stage::AtHook;

fn with(habits: Habits) -> AtHook {
    let stage = AtHook::new();
    stage.hook.behave(habits);
    stage
}

contract_tests!(plain, |_case| AtHook::new());
contract_tests!(spelling, |_case| with(Habits {
    dots: true,
    capitals: true,
    reversed: true,
    ..Habits::default()
}));
contract_tests!(in_parts, |_case| with(Habits { in_parts: true, dots: true, ..Habits::default() }));
contract_tests!(without_ttl, |_case| with(Habits { no_ttl: true, ..Habits::default() }));
contract_tests!(with_a_ttl_of_its_own, |_case| with(Habits { least_ttl: Some(300), ..Habits::default() }));
