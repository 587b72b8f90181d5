//! The contract battery on the simulated grid.

use gslb_provider_contract::contract_tests;

use crate::stage::OnGrid;

contract_tests!(infoblox, |_case| OnGrid::new());
