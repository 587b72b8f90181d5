//! The conformance page: what k8gb's users rely on, what k8gb does wrong, and the tests that assert what we do.
//!
//! A test says so in its doc comment: `Conformance 56, 60.` names behaviours, `F-42.` names faults that are avoided; a
//! text may follow after a colon. A file of `tests/spec` or `mocks/scenarios` says it in a comment at its top. Rows of
//! the decision table are in the names: `f1_…` or `f1-….yaml`. `docs/conformance.md` is made of that.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap as tests do")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Behaviours by section, in our own words.
const BEHAVIOURS: &[(&str, &[(u16, &str)])] = &[
    (
        "API and admission",
        &[
            (1, "An embedded rule with `https` in the place of `http` is refused by the API server."),
            (2, "An embedded rule without `http` is refused."),
            (3, "Kinds, groups and versions are k8gb's; a ZoneDelegation belongs to the cluster."),
            (4, "A ZoneDelegation whose zone is its parent, or not below it, is refused."),
        ],
    ),
    (
        "Embedded Ingress",
        &[
            (
                5,
                "A Gslb with three hosts makes an Ingress of its name, and both load balancer addresses count.",
            ),
            (6, "That Ingress has none of the Gslb's annotations."),
            (7, "An annotation that somebody adds to it stays, and the Gslb's own are left alone."),
            (8, "Each host has the health of its Service: ready, without endpoints, missing."),
            (9, "The DNSEndpoint is labelled `k8gb.io/dnstype=local` and has exactly one owner."),
        ],
    ),
    (
        "Ingress annotations",
        &[
            (10, "An annotated Ingress becomes a Gslb that refers to it and belongs to it."),
            (11, "Type, primary tag and TTL of the strategy come from the annotations."),
            (12, "Round robin needs no primary tag there."),
            (13, "Without a Service all its hosts are `NotFound`."),
            (14, "Failover without a primary tag makes no Gslb."),
            (15, "The Gslb goes with its Ingress."),
            (16, "An Ingress that is made again brings the same Gslb back."),
            (17, "Another annotated Ingress changes no strategy of an existing Gslb."),
            (18, "The annotations of the Ingress stay as its user wrote them, and none reaches the Gslb."),
            (19, "An Ingress without the strategy, or made by a Gslb, causes no call."),
            (20, "A Gslb is created or updated as it exists or not, with exposed addresses or without."),
        ],
    ),
    (
        "References",
        &[
            (21, "Ingress and VirtualService are found by name and by labels."),
            (22, "Every kind in every version is followed, and a reference wins over an embedded Ingress."),
            (
                23,
                "TLSRoutes of all three versions with listed addresses lead to a DNSEndpoint with one owner.",
            ),
            (24, "Each rule of an Ingress is a host, its Services in the order of the paths."),
            (25, "Host names of a route share the backends of all its rules, also from other namespaces."),
            (
                26,
                "TCPRoute, UDPRoute and Service need the host name annotation, missing and empty told apart.",
            ),
            (27, "VirtualService: one or more hosts, one or more routes."),
            (
                28,
                "A Service's addresses come from its status or the annotation; a wrong annotation is an error.",
            ),
            (29, "Ingress, Istio and Gateway show no, one or several addresses; none is no error."),
            (30, "`exposed-ip-addresses`: one or more addresses; what is no address is an error."),
            (31, "`exposed-hostnames` wins over addresses; what is empty or does not resolve is an error."),
            (32, "Annotations come before `CLUSTER_EXPOSED_IPS`, and that before what was found."),
            (33, "IPv4, IPv6 and what is no address are told apart."),
            (
                34,
                "Resolving: dots, CNAME chains and their limit, resolvers that fail, names that do not exist.",
            ),
        ],
    ),
    (
        "Health policy",
        &[
            (35, "`Any`: one healthy Service is enough."),
            (36, "`All`: the worst Service decides."),
            (37, "A ready endpoint counts in whichever EndpointSlice it is."),
            (38, "A host without Services is `NotFound`; hosts of one Gslb differ."),
        ],
    ),
    (
        "Zone filter",
        &[
            (39, "All, some or no hosts lie in a zone; several zones; no hosts at all."),
            (40, "A Gslb without a host in any zone is not served."),
        ],
    ),
    (
        "Strategies",
        &[
            (41, "Failover: all answer the primary, the others while it is down, and the primary again."),
            (42, "Failover: a secondary that fails changes nothing; with all down nobody is answered."),
            (43, "Failover with each cluster as its own primary: each answers itself, or the others."),
            (44, "Round robin: all answers are the healthy clusters' addresses, which shrink and grow."),
            (
                45,
                "Failover: the local record comes first, then the host, both of type A, with all addresses.",
            ),
            (46, "Weights are labels of the host's record; index and address fit."),
            (47, "Label sets for several weights, also 0; without weights only the strategy."),
            (48, "A first label of 51 characters is refused by name."),
            (49, "A TTL of 0 is 30; unknown types and bad weights are errors; round robin has no primary."),
        ],
    ),
    (
        "Exposed addresses of the cluster",
        &[
            (50, "`CLUSTER_EXPOSED_IPS` is what status, delegation, Gslb and records show."),
            (51, "The annotation changes the records only, and not the glue."),
            (52, "Without both, the addresses that are found count again."),
            (53, "With `CLUSTER_EXPOSED_IPS` no Service or Ingress has to be there."),
            (54, "Own addresses: from the CoreDNS Service, or a labelled Ingress; neither is an error."),
        ],
    ),
    (
        "ZoneDelegation",
        &[
            (
                55,
                "`DNS_ZONES` becomes an object with finalizer, negative TTL, and all name servers in its status.",
            ),
            (56, "The ConfigMap of CoreDNS holds the exact block of each zone."),
            (57, "The delegation as DNSEndpoint: sorted NS set, then the own glue, TTL 30, label `extdns`."),
            (58, "A zone of one cluster lists this cluster only."),
            (59, "Once the other has it too, both are listed."),
            (
                60,
                "On its way out it leaves ConfigMap and glue, keeps the others' names, and stays until they go.",
            ),
            (61, "With the last cluster all of it goes."),
            (
                62,
                "Status: created, extended, not written while unchanged; names that are too long are an error.",
            ),
            (63, "An object that exists wins over the configuration."),
            (64, "Peers are those of the status, without the own name."),
            (65, "Peers that do not resolve leave the own entries, and nothing fails."),
            (66, "`DNS_ZONES`: blanks, several zones, prefixes, several labels, and every kind of mistake."),
            (67, "A tag with dashes is read from its name server name, with both prefixes."),
            (68, "Which clusters there are: listed, only this one, or discovered."),
        ],
    ),
    (
        "Providers",
        &[
            (69, "The settings select external-dns, Infoblox or none."),
            (70, "External-dns: the object is created and put right."),
            (71, "Infoblox: create if absent, nothing if equal, merge otherwise; view and errors."),
        ],
    ),
    (
        "Configuration",
        &[
            (72, "Two variables are enough; the rest has defaults; reading again sees changes."),
            (73, "Tags: dashes, wrong ones, duplicates, the own one listed or not."),
            (74, "`EDGE_DNS_SERVERS`: names, addresses, ports, and mistakes in each."),
            (75, "`EDGE_DNS_SERVER` is a deprecated fallback."),
            (76, "Two providers are an error; the metrics address is checked."),
            (77, "Infoblox: defaults, the full set, no host, and what is missing."),
            (78, "`CLUSTER_EXPOSED_IPS`: lists, nothing, mistakes, duplicates."),
        ],
    ),
    (
        "Legacy group and migration",
        &[
            (79, "A legacy Gslb is served."),
            (80, "Its reference to a Service takes the annotation's host."),
            (81, "On request a canonical Gslb is made, and the legacy one is marked."),
            (82, "An embedded Ingress becomes a reference to it."),
            (83, "The Ingress loses its legacy owner and keeps others."),
            (84, "The DNSEndpoint ends with the canonical Gslb as its only owner."),
            (85, "A canonical Gslb that exists is not overwritten."),
            (86, "What was migrated already is not made again."),
            (87, "Without the request nothing is made, and it is told to be deprecated."),
            (88, "What is to be migrated is not served by the legacy side."),
            (89, "Deleting the legacy Gslb afterwards takes nothing away."),
            (90, "Deletion detaches what it owned."),
            (91, "A missing Ingress stops neither migration nor deletion."),
            (92, "Only changes that matter wake the migration."),
        ],
    ),
    (
        "Metrics and small parts",
        &[
            (93, "The metrics are complete and have k8gb's names."),
            (94, "Their values, and series that are there at the start."),
            (95, "Annotations are compared by the given keys only."),
        ],
    ),
    (
        "What a k8gb CoreDNS does with our records, and so does our DNS server",
        &[
            (96, "Only objects with the label are served; a broken target breaks no other."),
            (97, "The TTL of the record; AAAA of a known and an unknown name; TXT."),
            (98, "Weights decide the order; odd labels leave the answer complete."),
            (99, "GeoIP: clients get the targets of their place."),
            (100, "An upgrade with running workloads."),
        ],
    ),
    (
        "What k8gb does not test",
        &[
            (101, "A fleet of both: every row of the decision table on each side."),
            (102, "One of two DNS addresses of a peer is down: no answer changes."),
            (103, "Lost packets and a resolver outage: no failover, and no name server goes."),
            (104, "Deletion while the peers cannot be reached deletes nothing at the parent."),
            (105, "Ten passes without a change write nothing."),
            (106, "A truncated reply of a peer is completed."),
            (107, "Infoblox: two views, failing look-ups, writers side by side, attributes of others."),
            (108, "Odd hosts and zones: look-alikes, nested, colliding, mixed case, apex, wildcard."),
            (109, "Two Gslbs for one host; objects of others under our name."),
            (110, "The DNS Service is deleted before the ZoneDelegations."),
        ],
    ),
];

/// Not built yet: first and last number, and why.
const OPEN: &[(u16, u16, &str)] = &[];

/// What no test of this repository asserts, by design.
const ELSEWHERE: &[(u16, &str)] = &[(100, "belongs to the installation, which has no chart yet")];

/// What we do in another way, on purpose.
const DIFFERS: &[(u16, &str)] = &[
    (29, "sorted as numbers, so that a reordered status writes nothing; none is told as `NoAddresses`"),
    (30, "blanks and a comma at the end mean nothing; a wrong list keeps the last addresses (F-66)"),
    (31, "what does not resolve is told by name while the last addresses stay; a start needs a resolver"),
    (40, "the pass goes on and tells `HostOutsideZones` instead of waiting in silence (F-08, F-13)"),
    (48, "stops its own host only, and not the Gslb's others (F-08)"),
    (49, "the default of the TTL is not written into the user's object (F-14)"),
    (53, "Services are watched all the same; no address is taken from them"),
    (54, "a labelled Ingress counts in the own namespace only (F-74)"),
    (56, "entries of others in the ConfigMap stay (F-51)"),
    (64, "all addresses of a peer are asked, not the last one (F-31)"),
    (65, "silence of a resolver keeps what was known; only repeated absence removes it (F-42)"),
    (66, "a zone that is not below its parent is refused at the start (F-67)"),
    (
        68,
        "while the parent is silent the members that are known stay, and a fleet that is not known is told (F-43)",
    ),
    (69, "two providers are refused; one without a client cannot be written"),
    (70, "what others added to the object stays (F-24, F-51)"),
    (71, "an update sends the server list only; comment, attributes and TTL stay as others set them (F-61)"),
    (76, "the process ends with 78 and names every wrong setting"),
    (81, "labels of users are copied (F-82)"),
    (
        90,
        "without a canonical Gslb the DNSEndpoint goes with the legacy one instead of staying behind (F-83)",
    ),
    (92, "any change may wake it; at rest it asks and writes nothing"),
    (98, "a target without a label comes behind the others instead of switching the weights off (F-88)"),
];

/// What is asserted in part: what is missing.
const PARTLY: &[(u16, &str)] = &[
    (41, "with one kind of reference: a strategy does not know which"),
    (44, "three clusters, not two to eight"),
    (58, "a test runs one cluster, so the other's side is not seen"),
    (59, "a test runs one cluster, so the other's side is not seen"),
    (61, "a test runs one cluster, so the other's side is not seen"),
    (93, "no linter looks at the names"),
    (99, "our labels, which k8gb's server goes by; ours does not know the place of a client yet"),
    (107, "a look-up that gets 500 or times out"),
];

/// Faults of k8gb by section: what is right.
const FAULTS: &[(&str, &[(u16, &str)])] = &[
    (
        "Names and zones",
        &[
            (1, "A zone contains whole labels, not substrings."),
            (2, "Of nested zones the longest counts."),
            (3, "Zones whose object names collide are noticed, and the younger is refused."),
            (4, "Names and tags are compared without regard to case, and parsed at their ends only."),
            (5, "Hosts that no server can serve are refused with the reason."),
        ],
    ),
    (
        "A pass over a Gslb",
        &[
            (6, "One order of everything, whatever the input's order."),
            (7, "Nothing is written that does not differ."),
            (
                8,
                "Definite absence withdraws our part; what could not be read withdraws nothing; both are told.",
            ),
            (9, "Every input is watched."),
            (10, "Pauses after failures are bounded near the normal period."),
            (11, "Every object is judged on its own."),
            (12, "An annotated Ingress has a controller of its own."),
            (13, "What is wrong is a condition and one event."),
            (14, "Defaults are not written into the user's object."),
            (15, "The status comes from what was just decided."),
            (16, "No pass asks DNS for the cluster's addresses."),
            (17, "Failover without a valid primary is told."),
            (18, "Rules for one host are one host."),
            (19, "A rule without `http` is a host without Services."),
            (20, "Parents of a route are counted once each; what is no Service is named."),
            (
                21,
                "Gateways and destinations of Istio in every way to write them; the near load balancer first.",
            ),
            (22, "A kind that cannot be read holds nobody up."),
            (23, "An Ingress of somebody else is left alone, and so is what others write into ours."),
            (24, "A DNSEndpoint of somebody else is left alone."),
            (25, "Of two Gslbs for a host the older serves, the other is told."),
            (26, "A healthy cluster without addresses is passed over; no record is empty."),
            (27, "IPv6 that is left out is named."),
            (28, "EndpointSlices count by namespace and Service, and wake nobody else."),
            (29, "Thresholds and damping for health."),
            (30, "Metrics are sums for each Gslb, and go with it."),
            (79, "Calls have deadlines."),
            (91, "An annotated Ingress sets its own fields of the Gslb only."),
            (93, "The namespace of a reference counts for selectors too."),
        ],
    ),
    (
        "Peers and DNS",
        &[
            (31, "All addresses of a peer are asked."),
            (32, "Questions run side by side, bounded; a dead peer delays nobody."),
            (33, "Each port once."),
            (34, "No answer is not a negative answer."),
            (35, "EDNS, and TCP when a reply is truncated."),
            (36, "Replies are checked, and cannot be foreseen."),
            (37, "Peers that could not be looked up are unknown, not absent."),
            (38, "Only NOERROR and NXDOMAIN end a search."),
            (39, "Two name server names of one tag do not overwrite each other."),
            (40, "Peers are asked on a schedule of their own."),
            (89, "One rule for the entries of every load balancer."),
            (90, "Host names are asked for by TTL, and answers that rotate are added up."),
        ],
    ),
    (
        "Delegation",
        &[
            (41, "Configured zones are made at the start."),
            (42, "A look-up that fails removes no peer."),
            (43, "Name servers are read from both sections of a reply."),
            (44, "A foreign name server is no peer."),
            (45, "A delegation is deleted only when nobody else is certainly left."),
            (46, "Deletion needs no address of our own."),
            (47, "A deletion that waits does not wait for the period."),
            (48, "An object that is gone already is gone."),
            (49, "A deleted zone does not come back by itself."),
            (50, "An own write starts no pass."),
            (51, "Entries of others survive."),
            (52, "A delegation that is left behind is told."),
            (53, "Clusters that share an NS set are told to share its owner."),
            (54, "Glue is sorted."),
            (87, "Zones of CoreDNS are written when they change, and not else."),
            (94, "Dead members are removed."),
            (95, "While it waits to be gone, a zone follows its peers."),
        ],
    ),
    (
        "Infoblox",
        &[
            (55, "Certificates are verified."),
            (56, "The view counts for look-ups."),
            (57, "A look-up that fails is not absence."),
            (58, "A zone that is gone already is gone."),
            (59, "One session for all calls, ended at the end."),
            (60, "A change of somebody else since the read is not overwritten."),
            (61, "Settings of others survive an update."),
            (62, "Entries are compared by name and address, and a list is never emptied."),
            (64, "The WAPI version may be written with and without `v`."),
            (65, "The metrics mean something."),
        ],
    ),
    (
        "Admission and tenants",
        &[
            (66, "What is refused at the API server and what the daemon takes follow one grammar."),
            (74, "On request, a namespace uses the hosts, addresses and references that it is permitted."),
        ],
    ),
    (
        "Legacy group and migration",
        &[
            (80, "Lists are not replaced as a whole."),
            (81, "A migrated embedded Gslb keeps its Ingress."),
            (82, "Labels are copied, foreign bookkeeping is not."),
            (83, "Deletion leaves the DNSEndpoint its owner."),
            (84, "Both groups have one engine."),
            (85, "A definition that comes later is noticed."),
            (86, "Events on transitions only."),
        ],
    ),
];

/// Faults that no test shows to be avoided: first and last number, and why.
const FAULTS_OPEN: &[(u16, u16, &str)] = &[
    (29, 29, "health counts as in k8gb; thresholds and damping have no date"),
    (
        94,
        94,
        "a member that is gone is told, and not removed: the eviction comes with the next Infoblox work",
    ),
];

/// Rows of the decision table. *own* is this cluster's health, *peers* are those that serve.
const ROWS: &[(&str, &str)] = &[
    ("R1", "round robin or geoip; own healthy, no peers: own"),
    ("R2", "own healthy, peers: own and all peers"),
    ("R3", "own not healthy, peers: all peers"),
    ("R4", "own not healthy, no peers: no record"),
    ("F1", "failover, own is primary; healthy: own only"),
    ("F2", "own is primary, not healthy, peers: all peers"),
    ("F3", "own is primary, not healthy, no peers: no record"),
    ("F4", "own is secondary, the primary serves, own healthy: the primary, and own is told"),
    ("F5", "own is secondary, the primary serves, own not healthy: the primary"),
    ("F6", "the primary is down, own healthy, other peers: own and all peers"),
    ("F7", "the primary is down, own not healthy, other peers: all peers"),
    ("F8", "the primary is down, own healthy, no peers: own"),
    ("F9", "the primary is down, own not healthy, no peers: no record"),
    ("X1", "healthy without addresses: the peers; differs from k8gb, which publishes empty records"),
    ("X2", "healthy primary without addresses: the peers; differs from k8gb, which answers nobody (F-26)"),
    ("X3", "an address of two clusters: once; differs from k8gb, which lists it twice"),
    ("X4", "several hosts: each on its own"),
    ("X5", "no host with a record: none is written"),
    ("X6", "peers could not be looked up: unknown; differs from k8gb, which takes them for absent (F-37)"),
];

/// Folders with tests.
const FOLDERS: [&str; 6] = ["core", "crds", "mocks", "providers", "src", "tests"];
const PAGE: &str = "docs/conformance.md";

/// What a doc comment says to be asserted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Marks {
    behaviours: BTreeSet<u16>,
    faults: BTreeSet<u16>,
}

/// A test, or a file of given and then.
struct Found {
    file: String,
    /// Nothing for a file.
    name: Option<String>,
    marks: Marks,
    /// Row of the decision table.
    row: Option<String>,
}

/// All tests, and what cannot be read of their marks.
#[derive(Default)]
struct Scan {
    found: Vec<Found>,
    problems: Vec<String>,
}

#[test]
fn every_behaviour_is_tested_or_said_not_to_be() {
    let scan = Scan::of_the_workspace();
    let tested: BTreeSet<u16> = scan.found.iter().flat_map(|found| found.marks.behaviours.clone()).collect();
    let open: Vec<u16> = OPEN.iter().flat_map(|(first, last, _)| *first..=*last).collect();
    let not_tested = [open, ELSEWHERE.iter().map(|(number, _)| *number).collect()].concat();
    let problems = disagreements("", 1..=110, &tested, &not_tested);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn every_fault_of_the_table_is_tested_or_said_not_to_be() {
    let scan = Scan::of_the_workspace();
    let tested: BTreeSet<u16> = scan.found.iter().flat_map(|found| found.marks.faults.clone()).collect();
    let not_tested: Vec<u16> = FAULTS_OPEN.iter().flat_map(|(first, last, _)| *first..=*last).collect();
    let problems = disagreements("fault ", entries(FAULTS).into_keys(), &tested, &not_tested);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn every_row_of_the_decision_table_is_tested() {
    let scan = Scan::of_the_workspace();
    let tested: BTreeSet<&str> = scan.found.iter().filter_map(|found| found.row.as_deref()).collect();
    let rows: BTreeSet<&str> = ROWS.iter().map(|(row, _)| *row).collect();
    assert_eq!(tested, rows);
}

#[test]
fn every_mark_can_be_read_and_names_what_is_in_a_table() {
    let scan = Scan::of_the_workspace();
    let mut problems = scan.problems;
    let (behaviours, faults) = (entries(BEHAVIOURS), entries(FAULTS));
    for Found { file, name, marks, .. } in &scan.found {
        let name = name.as_deref().unwrap_or_default();
        for number in marks.behaviours.iter().filter(|number| !behaviours.contains_key(number)) {
            problems.push(format!("{file} {name}: there is no behaviour {number}"));
        }
        for number in marks.faults.iter().filter(|number| !faults.contains_key(number)) {
            problems.push(format!("{file} {name}: F-{number:02} is in no table of tests/conformance.rs"));
        }
    }
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn what_is_told_of_a_behaviour_is_told_of_one_that_is_tested() {
    let scan = Scan::of_the_workspace();
    let tested = |number: u16| scan.found.iter().any(|found| found.marks.behaviours.contains(&number));
    let told = DIFFERS.iter().chain(PARTLY).map(|(number, _)| *number);
    assert_eq!(told.filter(|number| !tested(*number)).collect::<Vec<_>>(), Vec::<u16>::new());
}

/// With `UPDATE_DOCS` in the environment the page is written instead.
#[test]
fn the_page_says_what_the_tests_say() {
    let path = root().join(PAGE);
    let wanted = page(&Scan::of_the_workspace());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, wanted).unwrap();
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{PAGE} is out of date: UPDATE_DOCS=1 cargo test --test conformance");
}

#[test]
fn marks_are_read_as_people_write_them() {
    let marks = |behaviours: &[u16], faults: &[u16]| {
        Ok(Marks {
            behaviours: behaviours.iter().copied().collect(),
            faults: faults.iter().copied().collect(),
        })
    };
    assert_eq!(Marks::read("Conformance 56, 60; F-51."), marks(&[56, 60], &[51]));
    assert_eq!(
        Marks::read("Case C019. Conformance 79–81, 5-6: what is meant."),
        marks(&[5, 6, 79, 80, 81], &[])
    );
    assert_eq!(Marks::read("F-42, F-45: a sentence. Not F-4, XF-09 or F-100."), marks(&[], &[42, 45]));
    assert_eq!(Marks::read("A sentence about conformance."), marks(&[], &[]));
    for bad in
        ["Conformance", "Conformance 56 60.", "Conformance 9–7.", "Conformance 56,60.", "Conformance 7"]
    {
        assert!(Marks::read(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_mark_counts_above_a_test_only() {
    let text = "
        /// Conformance 1.
        #[test]
        fn one() {}

        /// A helper. Conformance 2.
        fn two() {}

        #[tokio::test(start_paused = true)]
        async fn three() {}

        /// Conformance 4.
        const FOUR: u8 = 4;
    ";
    let mut scan = Scan::default();
    scan.rust("a.rs", text);
    let read: Vec<_> =
        scan.found.iter().map(|found| (found.name.as_deref(), found.marks.behaviours.len())).collect();
    assert_eq!(read, [(Some("one"), 1), (Some("three"), 0)]);
    assert_eq!(scan.problems.len(), 2, "{:?}", scan.problems);
}

/// Numbers that are neither tested nor listed as such, or both.
fn disagreements(
    what: &str,
    numbers: impl Iterator<Item = u16>,
    tested: &BTreeSet<u16>,
    not_tested: &[u16],
) -> Vec<String> {
    let judge = |number: u16| match (tested.contains(&number), not_tested.contains(&number)) {
        (true, true) => Some(format!("{what}{number} is tested; take it from the list of open ones")),
        (false, false) => Some(format!("{what}{number} is neither tested nor listed as open")),
        (true, false) | (false, true) => None,
    };
    numbers.filter_map(judge).collect()
}

fn entries(sections: &[(&str, &[(u16, &'static str)])]) -> BTreeMap<u16, &'static str> {
    sections.iter().flat_map(|(_, entries)| entries.iter().copied()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

impl Scan {
    fn of_the_workspace() -> Self {
        let mut files = vec![];
        FOLDERS.iter().for_each(|folder| collect(&root().join(folder), &mut files));
        files.sort();
        let mut scan = Self::default();
        for path in files {
            let file = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            let text = fs::read_to_string(&path).unwrap();
            match file.as_str() {
                "tests/conformance.rs" => {}
                _ if file.ends_with(".rs") => scan.rust(&file, &text),
                _ => scan.yaml(&file, &text),
            }
        }
        scan
    }

    /// Reads the tests of a source file: the doc comment stands above the attributes, and they above the function.
    fn rust(&mut self, file: &str, text: &str) {
        let mut docs: Vec<&str> = vec![];
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if let Some(doc) = line.strip_prefix("///") {
                docs.push(doc.trim());
                continue;
            }
            if line.starts_with("#[") {
                is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
                continue;
            }
            // The battery of the provider contract: a macro makes a test of each.
            let is_case = file.ends_with("/battery.rs") && line.ends_with("(stage: &impl Stage) {");
            let name = function(line).filter(|_| is_test || is_case);
            if is_test && name.is_none() {
                self.problems.push(format!("{file}: {line:?} is no function, so a test is missed"));
            }
            self.item(file, name, &docs.join(" "));
            docs.clear();
            is_test = false;
        }
    }

    fn item(&mut self, file: &str, test: Option<&str>, docs: &str) {
        match (Marks::read(docs), test) {
            (Err(problem), _) => self.problems.push(format!("{file}: {problem}")),
            (Ok(marks), Some(name)) => {
                let row = name.split_once('_').and_then(|(row, _)| self::row(file, row));
                self.found.push(Found { file: file.to_owned(), name: Some(name.to_owned()), marks, row });
            }
            (Ok(marks), None) if !marks.behaviours.is_empty() => {
                self.problems.push(format!("{file}: {docs:?} stands above no test"));
            }
            (Ok(_), None) => {}
        }
    }

    fn yaml(&mut self, file: &str, text: &str) {
        let top = text.lines().map_while(|line| line.strip_prefix('#'));
        let docs = top.map(str::trim).collect::<Vec<_>>().join(" ");
        let name = file.rsplit('/').next().unwrap_or_default();
        let row = name.split_once('-').and_then(|(row, _)| self::row(file, row));
        match Marks::read(&docs) {
            Ok(marks) => self.found.push(Found { file: file.to_owned(), name: None, marks, row }),
            Err(problem) => self.problems.push(format!("{file}: {problem}")),
        }
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let given = folder.ends_with("tests/spec") || folder.ends_with("mocks/scenarios");
        match extension {
            _ if path.is_dir() => collect(&path, files),
            Some("rs") => files.push(path),
            Some("yaml") if given => files.push(path),
            _ => {}
        }
    }
}

/// The name of the function that begins in this line.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_begin = before.split_whitespace().all(|word| matches!(word, "pub" | "async"));
    after.split(['(', '<']).next().filter(|_| is_begin)
}

/// The row of the decision table that a name begins with, in the files that have such names.
fn row(file: &str, begin: &str) -> Option<String> {
    let has_rows = file.starts_with("core/src/") || file.starts_with("tests/spec/");
    let (kind, number) = begin.split_at_checked(1)?;
    let is_row = matches!(kind, "r" | "f" | "x") && number.parse::<u8>().is_ok();
    (has_rows && is_row).then(|| begin.to_uppercase())
}

impl Marks {
    fn read(docs: &str) -> Result<Self, String> {
        let mut marks = Self::default();
        for rest in docs.split("Conformance").skip(1) {
            marks.behaviours.extend(numbers(rest).ok_or_else(|| format!("{docs:?} has no list of numbers"))?);
        }
        let words = docs.split(|sign: char| !sign.is_alphanumeric() && sign != '-');
        let faults = words.filter_map(|word| word.strip_prefix("F-")).filter(|digits| digits.len() == 2);
        marks.faults.extend(faults.filter_map(|digits| digits.parse::<u16>().ok()));
        Ok(marks)
    }
}

/// The numbers of a list such as ` 56, 79–81.`, which ends with a full stop, a semicolon or a colon.
fn numbers(list: &str) -> Option<BTreeSet<u16>> {
    let end = list.find(['.', ';', ':'])?;
    let mut numbers = BTreeSet::new();
    for part in list[..end].strip_prefix(' ')?.split(", ") {
        let (first, last) = part.split_once(['–', '-']).unwrap_or((part, part));
        let (first, last) = (first.parse::<u16>().ok()?, last.parse::<u16>().ok()?);
        (first <= last).then_some(())?;
        numbers.extend(first..=last);
    }
    Some(numbers)
}

fn page(scan: &Scan) -> String {
    let mut page = String::from(INTRODUCTION);
    let is_tested = |number: &u16| scan.found.iter().any(|found| found.marks.behaviours.contains(number));
    let behaviours = entries(BEHAVIOURS);
    let tested = behaviours.keys().copied().filter(is_tested).count();
    let open = OPEN.iter().flat_map(|(first, last, _)| *first..=*last).count();
    writeln!(
        page,
        "Of {} behaviours {tested} are asserted, of which {} differ on purpose and {} are asserted in part; {open} \
         are open, {} belong elsewhere.\n",
        behaviours.len(),
        DIFFERS.len(),
        PARTLY.len(),
        ELSEWHERE.len(),
    )
    .unwrap();
    page.push_str("## Behaviours\n");
    for (section, entries) in BEHAVIOURS {
        let rows = entries.iter().map(|(number, text)| {
            let tests = scan.found.iter().filter(|found| found.marks.behaviours.contains(number));
            [number.to_string(), (*text).to_owned(), tests_cell(tests), remark(*number)]
        });
        table(&mut page, section, "Behaviour", rows);
    }
    page.push_str("\n## Decision table\n\nFrom the health of a host here and there to its records.\n");
    let rows = ROWS.iter().map(|(row, text)| {
        let tests = scan.found.iter().filter(|found| found.row.as_deref() == Some(row));
        let (text, remark) = text.split_once("; differs").unwrap_or((text, ""));
        let remark = if remark.is_empty() { String::new() } else { format!("differs{remark}") };
        [(*row).to_owned(), text.to_owned(), tests_cell(tests), remark]
    });
    table(&mut page, "Rows", "Row", rows);
    page.push_str("\n## Faults of k8gb\n\nWhat k8gb does in another way, and should not; the text says what is right.\n");
    for (section, entries) in FAULTS {
        let rows = entries.iter().map(|(number, text)| {
            let tests = scan.found.iter().filter(|found| found.marks.faults.contains(number));
            let open = within(FAULTS_OPEN, *number).map(|why| format!("open: {why}")).unwrap_or_default();
            [format!("F-{number:02}"), (*text).to_owned(), tests_cell(tests), open]
        });
        table(&mut page, section, "What is right", rows);
    }
    page
}

const INTRODUCTION: &str = "\
<!-- Made by tests/conformance.rs: UPDATE_DOCS=1 cargo test --test conformance -->
# Conformance

What k8gb's users and test suites rely on, numbered, with the tests that assert it here; then the rules of the answers,
and what k8gb does wrong and we must not. Each test names its numbers in its doc comment, so this page cannot claim what
no test claims. *Differs* says that the test asserts what we do instead, and why. Scenarios are played by `.ci/run`.

";

fn table(page: &mut String, section: &str, second: &str, rows: impl Iterator<Item = [String; 4]>) {
    write!(page, "\n### {section}\n\n| | {second} | Asserted by | Remark |\n|---|---|---|---|\n").unwrap();
    for [number, text, tests, remark] in rows {
        writeln!(page, "| {number} | {text} | {tests} | {remark} |").unwrap();
    }
}

/// The tests, by file.
fn tests_cell<'a>(tests: impl Iterator<Item = &'a Found>) -> String {
    let mut by_file: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Found { file, name, .. } in tests {
        let names = by_file.entry(file).or_default();
        names.extend(name.iter().map(|name| format!("`{name}`")));
    }
    let cell = by_file.iter().map(|(file, names)| {
        let link = format!("[{file}](../{file})");
        if names.is_empty() { link } else { format!("{link}: {}", names.join(", ")) }
    });
    cell.collect::<Vec<_>>().join("<br>")
}

fn remark(number: u16) -> String {
    let of = |list: &[(u16, &'static str)]| list.iter().find(|(of, _)| *of == number).map(|(_, text)| *text);
    let remarks = [
        of(DIFFERS).map(|why| format!("differs: {why}")),
        of(PARTLY).map(|what| format!("in part: {what}")),
        within(OPEN, number).map(|why| format!("open: {why}")),
        of(ELSEWHERE).map(|why| format!("elsewhere: {why}")),
    ];
    remarks.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn within(list: &[(u16, u16, &'static str)], number: u16) -> Option<&'static str> {
    list.iter().find(|(first, last, _)| (*first..=*last).contains(&number)).map(|(_, _, why)| *why)
}
