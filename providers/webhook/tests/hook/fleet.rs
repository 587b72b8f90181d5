//! Several clusters at one webhook.

use gslb_core::delegation::DesiredDelegation;
use gslb_core::history::History;
use gslb_core::plan::plan;
use gslb_provider_contract::{Observe, Provider};
use gslb_provider_webhook::Webhook;
use jiff::Timestamp;
use proptest::prelude::*;

use crate::stage::{AtHook, EU, US, ZONE, approve, claimant, ours, published, scope, withdrawn};

async fn pass(provider: &Webhook, desired: &DesiredDelegation) {
    let observed = provider.observe(&scope()).await.unwrap();
    let plan = plan(desired, &observed, &History::default(), Timestamp::UNIX_EPOCH);
    if !plan.changes.is_empty() {
        provider.apply(&approve(plan, desired)).await.unwrap();
    }
}

#[tokio::test]
async fn each_cluster_keeps_its_own_entry_and_the_last_one_turns_off_the_light() {
    let stage = AtHook::new();
    let us = stage.another();
    stage.pass(&ours()).await.unwrap();
    pass(&us, &published("us", &["198.51.100.53"])).await;
    assert_eq!(stage.name_servers(), [EU, US]);
    assert_eq!(stage.hook.targets("A", US).unwrap(), ["198.51.100.53"]);
    assert_eq!(stage.planned(&ours()).await.changes, []);
    stage.pass(&withdrawn()).await.unwrap();
    assert_eq!(stage.name_servers(), [US]);
    assert_eq!((stage.hook.targets("A", EU), stage.hook.targets("TXT", &format!("x-a-{EU}"))), (None, None));
    assert!(stage.hook.targets("TXT", &format!("x-ns-{ZONE}")).is_some());
    pass(&us, &DesiredDelegation::withdrawn(claimant("us"))).await;
    assert_eq!(stage.hook.sets(), ["A www.example.com 300 203.0.113.80"]);
}

#[derive(Debug, Clone)]
enum Move {
    Publish(usize),
    Withdraw(usize),
    Restart(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = (0..3_usize, 0..5_usize).prop_map(|(cluster, kind)| match kind {
        0..=2 => Move::Publish(cluster),
        3 => Move::Withdraw(cluster),
        _ => Move::Restart(cluster),
    });
    proptest::collection::vec(one, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn in_any_order_each_entry_follows_its_own_cluster_and_a_strangers_stays(moves in moves(), stranger in any::<bool>()) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            const TAGS: [&str; 3] = ["eu", "us", "za"];
            let stage = AtHook::new();
            let mut clusters = [stage.another(), stage.another(), stage.another()];
            let mut wanted = [true, false, false];
            pass(&clusters[0], &published("eu", &["192.0.2.1"])).await;
            if stranger {
                stage.hook.put(&format!("NS {ZONE} 30 ns1.isp.example {EU}"));
            }
            for step in moves {
                match step {
                    Move::Publish(n) => {
                        let address = format!("192.0.2.{}", n + 1);
                        // Once all are gone, a stranger's name servers are nobody's of the fleet without its note.
                        pass(&clusters[n], &published(TAGS[n], &[&address])).await;
                        wanted[n] = true;
                    }
                    Move::Withdraw(n) => {
                        pass(&clusters[n], &DesiredDelegation::withdrawn(claimant(TAGS[n]))).await;
                        wanted[n] = false;
                    }
                    Move::Restart(n) => clusters[n] = stage.another(),
                }
                let mut expected: Vec<String> = (0..3)
                    .filter(|n| wanted[*n])
                    .map(|n| format!("gslb-ns-{}-cloud.example.com", TAGS[n]))
                    .collect();
                if stranger {
                    expected.push("ns1.isp.example".to_owned());
                }
                expected.sort();
                let mut found = stage.name_servers();
                found.sort();
                assert_eq!(found, expected);
                for (n, tag) in TAGS.iter().enumerate() {
                    let glue = stage.hook.targets("A", &format!("gslb-ns-{tag}-cloud.example.com"));
                    assert_eq!(glue, wanted[n].then(|| vec![format!("192.0.2.{}", n + 1)]));
                }
            }
        });
    }
}
