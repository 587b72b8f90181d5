use super::*;
use crate::condition::{ConditionKind, Truth};
use crate::fleet::Found;
use crate::given::{FRA, LAST_RESORT, NOW, NYC, SIN, addresses, name, tag, targets};
use crate::peer::{Tier, ToldState};
use crate::reference::{ObjectKind, Unread};

const HOST: &str = "shop.glb.example.org";
const OTHER: &str = "api.glb.example.org";

/// What a pass of cluster fra sees of a Gslb over the zone `glb.example.org`; at first a round robin without
/// hosts and without peers.
struct Pass {
    zones: Vec<Zone>,
    members: Members,
    seen: Observation<'static>,
}

static NOBODY: Members = Members::Listed(BTreeSet::new());

fn listed(tags: &[&str]) -> Members {
    Members::Listed(tags.iter().map(|text| tag(text)).collect())
}

/// The members of the zone, as its delegation shows them.
fn found(tags: &[&str], known: bool) -> Members {
    let tags = tags.iter().map(|text| tag(text)).collect();
    Members::Found([(name("glb.example.org"), Found { tags, known })].into())
}

fn service(name: &str) -> ServiceName {
    ServiceName { namespace: "web".into(), name: name.into() }
}

fn pass() -> Pass {
    let zone = Zone::new(name("glb.example.org"), name("example.org"), Ttl::DEFAULT).unwrap();
    let seen = Observation {
        raw: RawStrategy { kind: "roundRobin".into(), ..RawStrategy::default() },
        policy: HealthPolicy::Any,
        in_force: None,
        resolution: Resolution::Found(vec![]),
        known: vec![],
        services: [].into(),
        external_names: BTreeSet::new(),
        refused: vec![],
        ignored: vec![],
        exposed: Exposed::configured(targets(FRA)),
        zones: &[],
        tenancy: Tenancy::Unlimited,
        other_group: None,
        taken: [].into(),
        peers: [].into(),
        waiting: [].into(),
        standing: [].into(),
        standing_down: [].into(),
        own: tag("fra"),
        members: &NOBODY,
        last_resort: LAST_RESORT,
    };
    Pass { zones: vec![zone], members: listed(&["fra", "nyc", "sin"]), seen }
}

impl Pass {
    /// A host with one Service of this health.
    fn host(mut self, host: &str, name: &str, health: Health) -> Self {
        let server = Server { host: host.into(), services: vec![service(name)] };
        match &mut self.seen.resolution {
            Resolution::Found(servers) => servers.push(server),
            Resolution::Invalid { .. } | Resolution::Failed { .. } => self.seen.known.push(server),
        }
        self.seen.services.insert(service(name), health);
        self
    }
    fn healthy(self, host: &str) -> Self {
        self.host(host, "shop", Health::Healthy)
    }
    fn strategy(mut self, edit: impl FnOnce(&mut RawStrategy)) -> Self {
        edit(&mut self.seen.raw);
        self
    }
    fn in_force(mut self, kind: &str) -> Self {
        let raw = RawStrategy { kind: kind.into(), ..RawStrategy::default() };
        self.seen.in_force = Some(raw.accept().unwrap());
        self
    }
    fn failed(mut self, known: &str) -> Self {
        let message = "Ingress web/shop does not exist".to_owned();
        self.seen.resolution = Resolution::Failed { reason: "ReferenceNotFound", message };
        self.healthy(known)
    }
    fn peer(mut self, host: &str, of: &str, tier: Tier, its: &[&str]) -> Self {
        let state = match tier {
            Tier::Good => ToldState::Answered,
            Tier::Down => ToldState::NoTargets,
            Tier::Unknown => ToldState::Lost,
        };
        let sight = Sight { tier, targets: targets(its), heard: (!its.is_empty()).then_some(NOW) };
        let peer = PeerSight { sight, state, cause: "Timeout" };
        self.seen.peers.entry(name(host)).or_default().insert(tag(of), peer);
        self
    }
    fn waiting(mut self, host: &str) -> Self {
        self.seen.waiting.insert(name(host));
        self
    }
    fn standing(mut self, host: &str, its: &[&str]) -> Self {
        let endpoint = record(host, its);
        self.seen.standing.insert(name(host), Standing { endpoint });
        self
    }
    fn taken(mut self, host: &str, winner: &str) -> Self {
        self.seen.taken.insert(name(host), winner.into());
        self
    }
    fn publish(&self) -> Publication {
        publish(&Observation { zones: &self.zones, members: &self.members, ..self.seen.clone() }, NOW)
    }
}

impl Publication {
    fn condition(&self, kind: ConditionKind) -> (Truth, &'static str, &str) {
        let condition = self.conditions.iter().find(|condition| condition.kind == kind).unwrap();
        (condition.status, condition.reason, &condition.message)
    }
    fn accepted(&self) -> (Truth, &'static str, &str) {
        self.condition(ConditionKind::Accepted)
    }
    fn resolved(&self) -> (Truth, &'static str, &str) {
        self.condition(ConditionKind::Resolved)
    }
    fn serving(&self) -> (Truth, &'static str, &str) {
        self.condition(ConditionKind::Serving)
    }
    fn peers(&self) -> (Truth, &'static str, &str) {
        self.condition(ConditionKind::PeersReachable)
    }
    fn ready(&self) -> (Truth, &'static str, &str) {
        self.condition(ConditionKind::Ready)
    }
}

fn record(owner_name: &str, its: &[&str]) -> Endpoint {
    let labels = match owner_name.starts_with("localtargets-") {
        true => [].into(),
        false => [("strategy".to_owned(), "roundRobin".to_owned())].into(),
    };
    Endpoint { owner_name: name(owner_name), targets: addresses(its), ttl: Ttl::DEFAULT, labels }
}

/// The two records of a host that fra alone serves.
fn served_here(host: &str) -> [Endpoint; 2] {
    [record(&format!("localtargets-{host}"), FRA), record(host, FRA)]
}

fn unanswered(host: &str, answer: EmptyAnswer) -> UnansweredHosts {
    UnansweredHosts([(name(host), UnansweredHost { answer, ttl: Ttl::DEFAULT })].into())
}

#[test]
fn a_healthy_host_is_announced_and_answered() {
    let publication = pass().healthy(HOST).publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    assert_eq!(publication.unanswered, UnansweredHosts::default());
    assert_eq!(publication.ready(), (Truth::True, "Ready", "the records are published"));
    assert_eq!(publication.serving().1, "Strategy");
    let absent = "nyc is Absent (its name server has no address yet); sin is Absent (its name server has no address yet)";
    assert_eq!(publication.peers(), (Truth::False, "PeerSilent", absent));
}

/// Each failover changes the sentence, and so is told once.
#[test]
fn serving_says_which_clusters_answer_and_how_it_is_here() {
    let serving = |pass: Pass| pass.publish().serving().2.to_owned();
    assert_eq!(serving(pass().healthy(HOST)), "every host is answered by fra");
    let failed = || pass().host(HOST, "shop", Health::Unhealthy).peer(HOST, "nyc", Tier::Good, NYC);
    assert_eq!(serving(failed()), "every host is answered by nyc (Unhealthy here)");
    assert_eq!(
        serving(failed().host(OTHER, "api", Health::Healthy)),
        "api.glb.example.org by fra; shop.glb.example.org by nyc (Unhealthy here)"
    );
}

#[test]
fn a_fleet_of_one_cluster_has_no_peers_to_reach() {
    let alone = Pass { members: listed(&["fra"]), ..pass().healthy(HOST) };
    assert_eq!((alone.publish().peers().0, alone.publish().peers().1), (Truth::True, "NoPeers"));
}

/// Conformance 49.
#[test]
fn an_unknown_strategy_publishes_no_record_and_says_which_exist() {
    let publication = pass().healthy(HOST).strategy(|raw| raw.kind = "fastest".into()).publish();
    assert_eq!(publication.endpoints, []);
    assert_eq!(publication.accepted, None);
    let (status, reason, message) = publication.accepted();
    assert_eq!((status, reason), (Truth::False, "SpecInvalid"));
    assert!(message.contains("fastest") && message.contains("roundRobin"), "{message}");
    assert!(message.ends_with("no record is published"), "{message}");
    assert_eq!(publication.ready(), (Truth::False, "SpecInvalid", message));
}

#[test]
fn a_fleet_that_nobody_has_told_of_yet_is_no_fleet_of_one() {
    let before = |pass: Pass| Pass { members: found(&["fra"], false), ..pass };
    let sick = before(pass().host(HOST, "shop", Health::Unhealthy)).publish();
    assert_eq!((sick.serving().0, sick.serving().1), (Truth::False, "SiteUnknown"));
    assert_eq!(sick.unanswered, unanswered(HOST, EmptyAnswer::ServFail));
    let never = before(pass().healthy(HOST).strategy(|raw| raw.kind.clear())).publish();
    assert_eq!(never.unanswered, unanswered(HOST, EmptyAnswer::ServFail));
    let failover = before(pass().healthy(HOST).strategy(|raw| {
        raw.kind = "failover".into();
        raw.primary_geo_tag = Some("nyc".into());
    }))
    .publish();
    assert_eq!((failover.accepted().0, failover.accepted().1), (Truth::True, "Accepted"));
    let (status, reason, message) = failover.peers();
    assert_eq!((status, reason), (Truth::Unknown, "WaitingForPeers"));
    assert!(message.contains(HOST), "{message}");
}

#[test]
fn the_members_of_a_found_fleet_are_those_of_the_hosts_zone() {
    let found = Pass { members: found(&["fra", "nyc"], true), ..pass().healthy(HOST) };
    assert_eq!(found.publish().peers().2, "nyc is Absent (its name server has no address yet)");
    let zone = |apex, tags| (name(apex), Found { tags, known: true });
    let ours = zone("glb.example.org", [tag("fra")].into());
    let other = zone("example.net", [tag("fra"), tag("nyc")].into());
    let alone = Pass { members: Members::Found([ours, other].into()), ..pass().healthy(HOST) };
    assert_eq!((alone.publish().peers().0, alone.publish().peers().1), (Truth::True, "NoPeers"));
}

#[test]
fn while_the_fleet_is_not_known_the_others_who_were_answered_stand() {
    let failed = pass().host(HOST, "shop", Health::Unhealthy);
    let stood = Pass { members: found(&["fra"], false), ..failed }.standing(HOST, &[FRA, NYC].concat());
    assert_eq!(stood.publish().endpoints, [record(HOST, NYC)]);
    assert_eq!(stood.publish().serving().1, "SiteUnknown");
    let known = Pass { members: found(&["fra"], true), ..stood };
    assert_eq!(known.publish().endpoints, []);
}

#[test]
fn a_record_that_stands_until_the_peers_are_heard_is_told_as_such() {
    let standing = pass().healthy(HOST).waiting(HOST).standing(HOST, NYC).publish();
    assert_eq!(
        standing.serving().2,
        "every host is answered as before, until the other clusters have answered"
    );
}

/// Design §2.4: the name exists, and the other clusters may serve it.
#[test]
fn the_hosts_of_a_gslb_that_was_never_accepted_are_known_and_not_denied() {
    let invalid =
        pass().healthy(HOST).healthy(OTHER).taken(OTHER, "web/other").strategy(|raw| raw.kind.clear());
    assert_eq!(invalid.publish().unanswered, unanswered(HOST, EmptyAnswer::ServFail));
    let alone = Pass { members: listed(&["fra"]), ..invalid };
    assert_eq!(alone.publish().unanswered, unanswered(HOST, EmptyAnswer::NoData));
    let accepted = pass().healthy(HOST).strategy(|raw| raw.kind = "fastest".into()).in_force("roundRobin");
    assert_eq!(accepted.publish().unanswered, UnansweredHosts::default());
}

/// Conformance 49.
#[test]
fn a_weight_of_10010_is_refused_with_its_limit() {
    let publication = pass().healthy(HOST).strategy(|raw| _ = raw.weight.insert("nyc".into(), 10_010));
    let publication = publication.publish();
    assert_eq!(publication.endpoints, []);
    assert_eq!(
        publication.accepted().2,
        "spec.strategy.weight of nyc is 10010; write a number from 0 to 1000; no record is published"
    );
}

#[test]
fn an_invalid_edit_of_a_serving_gslb_keeps_the_last_accepted_strategy_with_health_and_peers() {
    let edited = pass().healthy(HOST).in_force("roundRobin").strategy(|raw| raw.kind = "fastest".into());
    let publication = edited.peer(HOST, "nyc", Tier::Good, NYC).publish();
    let both = [FRA, NYC].concat();
    assert_eq!(publication.endpoints, [record(&format!("localtargets-{HOST}"), FRA), record(HOST, &both)]);
    let (status, reason, message) = publication.accepted();
    assert_eq!((status, reason), (Truth::False, "SpecInvalid"));
    assert!(message.ends_with("the last accepted strategy (roundRobin) goes on"), "{message}");
}

/// Conformance 48; F-08.
#[test]
fn a_first_label_of_51_characters_stops_only_its_own_host() {
    let long = format!("{}.glb.example.org", "a".repeat(51));
    let publication = pass().healthy(&long).healthy(HOST).publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    let (status, _, message) = publication.accepted();
    assert_eq!(status, Truth::False);
    assert!(message.contains(&long) && message.contains("its first label has 51"), "{message}");
}

/// Conformance 39.
#[test]
fn a_host_outside_every_zone_stops_only_itself() {
    let publication = pass().healthy("shop.example.net").healthy(HOST).publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    assert_eq!(
        publication.accepted().2,
        "host shop.example.net is not served: it lies in none of the zones glb.example.org; choose a host below one of them, or create a ZoneDelegation for its zone"
    );
}

/// Conformance 109; F-25.
#[test]
fn a_host_that_an_older_gslb_serves_is_left_to_it() {
    let publication = pass().healthy(HOST).healthy(OTHER).taken(HOST, "web/older").publish();
    assert_eq!(publication.endpoints, served_here(OTHER));
    let (status, _, message) = publication.accepted();
    assert_eq!(status, Truth::False);
    assert!(message.contains(HOST) && message.contains("web/older"), "{message}");
}

/// F-25: its hosts, an invalid spec and what is wrong with a host are the other one's to tell.
#[test]
fn a_gslb_whose_name_is_served_from_the_other_group_says_only_that() {
    for (group, take_over) in [(Group::Legacy, true), (Group::Canonical, false)] {
        let mut pass = pass().healthy(HOST).healthy("shop.example.net").strategy(|raw| raw.kind.clear());
        pass.seen.other_group = Some(group);
        let publication = pass.publish();
        assert_eq!((publication.endpoints.as_slice(), publication.hosts.as_slice()), (&[][..], &[][..]));
        let (status, reason, message) = publication.accepted();
        assert_eq!((status, reason), (Truth::False, "OtherGroupServes"));
        assert!(message.contains(&format!("in group {} is served", group.as_str())), "{message}");
        assert!(message.contains("delete one of the two"), "{message}");
        assert_eq!(message.contains("k8gb.io/migration-requested=true"), take_over, "{message}");
        let ready = publication.conditions.last().unwrap();
        assert_eq!((ready.reason, ready.message.as_str()), (reason, message));
    }
}

/// Conformance 8, 38.
#[test]
fn a_missing_service_is_named_and_other_hosts_go_on() {
    let publication = pass().host(HOST, "gone", Health::NotFound).healthy(OTHER).publish();
    assert_eq!(publication.endpoints, served_here(OTHER));
    assert_eq!(publication.unanswered, unanswered(HOST, EmptyAnswer::NoData));
    assert_eq!(
        publication.resolved(),
        (
            Truth::False,
            "ServiceNotFound",
            "Service web/gone of host shop.glb.example.org does not exist; create it or correct the reference"
        )
    );
}

/// Conformance 38.
#[test]
fn a_rule_without_a_service_is_a_host_without_health() {
    let mut pass = pass().healthy(OTHER);
    let Resolution::Found(servers) = &mut pass.seen.resolution else { unreachable!("built as found") };
    servers.push(Server { host: HOST.into(), services: vec![] });
    let publication = pass.publish();
    assert_eq!(publication.endpoints, served_here(OTHER));
    assert_eq!(publication.resolved().1, "NoServices");
}

#[test]
fn a_kind_that_cannot_be_read_any_more_takes_nothing_away_and_is_told() {
    let mut refused = pass().healthy(HOST);
    refused.seen.refused = vec![KindUnread { kind: ObjectKind::HttpRoute, why: Unread::Forbidden }];
    let publication = refused.publish();
    assert_eq!(publication.endpoints.len(), 2);
    let sentence = "gslb-bridge may not read httproutes.gateway.networking.k8s.io any more, so what was read before stands; give its ServiceAccount the verbs list and watch on them in all namespaces";
    let told = publication.condition(ConditionKind::Resolved);
    assert_eq!(told, (Truth::False, "KindForbidden", sentence));
}

/// F-08.
#[test]
fn a_failed_reference_withdraws_the_own_part_only() {
    let publication = pass().failed(HOST).peer(HOST, "nyc", Tier::Good, NYC).publish();
    assert_eq!(publication.endpoints, [record(HOST, NYC)]);
    assert_eq!(publication.hosts[0].health, Health::NotFound);
    assert_eq!(publication.ready(), (Truth::False, "ReferenceNotFound", "Ingress web/shop does not exist"));
}

/// Conformance 29; F-26.
#[test]
fn a_healthy_cluster_without_addresses_announces_nothing_and_says_why() {
    let mut pass = pass().healthy(HOST).peer(HOST, "nyc", Tier::Good, NYC);
    pass.seen.exposed =
        Exposed { targets: [].into(), notice: Some(("NoAddresses", "none yet".into())), faulty: false };
    let publication = pass.publish();
    assert_eq!(publication.endpoints, [record(HOST, NYC)]);
    assert_eq!(publication.resolved(), (Truth::False, "NoAddresses", "none yet"));
}

#[test]
fn explicit_addresses_that_are_wrong_are_told_while_the_last_ones_are_answered() {
    let mut pass = pass().healthy(HOST);
    pass.seen.exposed = Exposed::instead(targets(FRA), "ExposedAddressesInvalid", "annotation x has \"y\"");
    let publication = pass.publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    let sentence = "annotation x has \"y\"; the last addresses go on meanwhile";
    assert_eq!(publication.resolved(), (Truth::False, "ExposedAddressesInvalid", sentence));
}

#[test]
fn parts_that_nothing_comes_of_are_named_and_change_nothing() {
    let mut pass = pass().healthy(HOST);
    pass.seen.ignored = vec!["backend Bucket web/b is ignored".into()];
    let publication = pass.publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    assert_eq!(publication.resolved(), (Truth::True, "BackendIgnored", "backend Bucket web/b is ignored"));
}

#[test]
fn a_host_is_not_published_before_its_peers_had_time_but_its_local_record_is() {
    let unheard = pass().healthy(HOST).peer(HOST, "nyc", Tier::Unknown, &[]);
    let publication = unheard.peer(HOST, "sin", Tier::Unknown, &[]).waiting(HOST).publish();
    assert_eq!(publication.endpoints, [record(&format!("localtargets-{HOST}"), FRA)]);
    assert_eq!(publication.unanswered, unanswered(HOST, EmptyAnswer::ServFail));
    assert_eq!(publication.hosts[0].decision, None);
    assert_eq!((publication.serving().0, publication.serving().1), (Truth::Unknown, "WaitingForPeers"));
    assert_eq!((publication.peers().0, publication.peers().1), (Truth::Unknown, "WaitingForPeers"));
    assert_eq!((publication.ready().0, publication.ready().1), (Truth::Unknown, "WaitingForPeers"));
}

#[test]
fn a_live_record_stands_while_the_peers_first_word_is_awaited() {
    let waiting = pass().healthy(HOST).peer(HOST, "nyc", Tier::Unknown, NYC).waiting(HOST);
    let publication = waiting.standing(HOST, NYC).publish();
    assert_eq!(publication.endpoints, [record(&format!("localtargets-{HOST}"), FRA), record(HOST, NYC)]);
    assert_eq!(publication.unanswered, UnansweredHosts::default());
    assert_eq!(publication.serving().0, Truth::True);
}

/// Conformance 42.
#[test]
fn a_host_that_every_site_denies_is_no_data_and_one_of_a_silent_site_is_servfail() {
    let down = |tier| pass().host(HOST, "shop", Health::Unhealthy).peer(HOST, "nyc", tier, &[]).publish();
    let denied = down(Tier::Down);
    assert_eq!(denied.endpoints, []);
    assert_eq!(denied.unanswered, unanswered(HOST, EmptyAnswer::NoData));
    assert_eq!((denied.serving().0, denied.serving().1), (Truth::False, "NoHealthySite"));
    let silent = down(Tier::Unknown);
    assert_eq!(silent.unanswered, unanswered(HOST, EmptyAnswer::ServFail));
    assert_eq!((silent.serving().0, silent.serving().1), (Truth::False, "SiteUnknown"));
}

#[test]
fn the_last_resort_is_served_and_says_so() {
    let down = pass().host(HOST, "shop", Health::Unhealthy).peer(HOST, "nyc", Tier::Down, &[]);
    let publication = down.peer(HOST, "sin", Tier::Unknown, SIN).publish();
    assert_eq!(publication.endpoints, [record(HOST, SIN)]);
    assert_eq!((publication.serving().0, publication.serving().1), (Truth::True, "LastResort"));
    assert_eq!(
        publication.peers(),
        (
            Truth::False,
            "PeerSilent",
            "sin is Lost; status.peers says why; check the way to the DNS servers of these clusters"
        )
    );
    assert_eq!(publication.ready().0, Truth::True);
}

/// F-06.
#[test]
fn hosts_are_published_by_name_and_told_in_the_order_of_the_reference() {
    let publication = pass().healthy(HOST).healthy(OTHER).publish();
    assert_eq!(publication.endpoints, [served_here(OTHER), served_here(HOST)].concat());
    let told: Vec<&str> = publication.hosts.iter().map(|host| host.written.as_str()).collect();
    assert_eq!(told, [HOST, OTHER]);
}

/// Conformance 108; F-18.
#[test]
fn rules_for_one_host_are_one_host_with_the_services_of_all() {
    let twice = pass().host(HOST, "a", Health::Unhealthy).host("Shop.GLB.example.org", "b", Health::Healthy);
    let publication = twice.host(HOST, "a", Health::Unhealthy).publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    assert_eq!(publication.hosts.len(), 1);
    assert_eq!(publication.hosts[0].services, [service("a"), service("b")]);
}

#[test]
fn rules_without_a_host_are_passed_over() {
    let publication = pass().host("", "shop", Health::Healthy).healthy(HOST).publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    assert_eq!(publication.accepted().0, Truth::True);
}

/// F-17.
#[test]
fn failover_to_a_cluster_that_nobody_is_serves_and_warns() {
    let odd = pass().healthy(HOST).strategy(|raw| {
        raw.kind = "failover".into();
        raw.primary_geo_tag = Some("lon".into());
    });
    let publication = odd.publish();
    assert_eq!(publication.endpoints.len(), 2);
    let (status, reason, message) = publication.accepted();
    assert_eq!((status, reason), (Truth::True, "AcceptedWithWarnings"));
    assert!(message.contains("lon") && message.contains("fra, nyc, sin"), "{message}");
}

#[test]
fn an_invalid_edit_of_the_reference_keeps_what_was_served_and_says_so() {
    let mut edited = pass();
    edited.seen.resolution = Resolution::Invalid {
        reason: "ReferenceUnsupported",
        message: "Kind:ingress is not supported".into(),
    };
    let publication = edited.healthy(HOST).publish();
    assert_eq!(publication.endpoints, served_here(HOST));
    let told = "Kind:ingress is not supported; the hosts that were known go on";
    assert_eq!(publication.resolved(), (Truth::False, "ReferenceUnsupported", told));
}

#[test]
fn a_host_told_to_be_down_stays_so_while_the_peers_are_asked_anew() {
    let mut down =
        pass().host(HOST, "shop", Health::Unhealthy).peer(HOST, "nyc", Tier::Unknown, &[]).waiting(HOST);
    down.seen.standing_down = [name(HOST)].into();
    assert_eq!(down.publish().unanswered, unanswered(HOST, EmptyAnswer::NoData));
}

/// Conformance 94; F-30.
#[test]
fn the_figures_of_a_pass_are_sums_over_its_hosts() {
    let pass = pass()
        .strategy(|raw| {
            raw.kind = "failover".into();
            raw.primary_geo_tag = Some("nyc".into());
        })
        .healthy(HOST)
        .host(OTHER, "api", Health::Unhealthy)
        .peer(OTHER, "nyc", Tier::Good, NYC);
    let publication = pass.publish();
    let figures = Figures::of(&publication, &tag("fra"), &targets(FRA));
    let (fra, nyc) = (targets(FRA).len(), targets(NYC).len());
    let hosts = ByHealth { healthy: 1, unhealthy: 1, not_found: 0 };
    let answered = ByHealth { healthy: fra, unhealthy: nyc, not_found: 0 };
    assert_eq!(
        figures,
        Figures {
            healthy_records: fra + nyc,
            healthy_local_records: fra,
            hosts,
            strategy: Some(StrategyFigures { label: "failover", primary: Some(false), targets: answered }),
            records: [(name(&format!("localtargets-{HOST}")), fra), (name(HOST), fra), (name(OTHER), nyc),]
                .into(),
        }
    );
}
