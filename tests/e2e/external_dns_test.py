"""gslb-bridge, external-dns and BIND: the delegation of a fleet whose clusters share one parent zone.

external_dns_test.py FOLDER PROGRAM: with the programs of programs/install in FOLDER, and PROGRAM as gslb-bridge. What
every process says goes to FOLDER/external-dns.
"""

import pathlib
import subprocess

from fleet.cluster import ZONE, Cluster, rounds
from fleet.parent import BIND, UNBOUND, Guarded, Parent, ask
from fleet.process import Failed, wait
from fleet.steps import main

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs/examples/shop.yaml"
HOST = f"shop.{ZONE}"
# Tag, number in its loopback addresses, address of the application.
SITES = [("eu", 1, "192.0.2.80"), ("us", 2, "198.51.100.80"), ("za", 3, "203.0.113.80")]
FLEET_OWNER = "fleet"


def delegation(parent, clusters, leaving=()):
    """Whether the parent zone has exactly the name servers and glue of these clusters."""
    records = parent.records()
    wanted = {(ZONE, "NS"): sorted(cluster.ns_name for cluster in clusters)}
    wanted |= {(cluster.ns_name, "A"): [cluster.dns_address] for cluster in clusters}
    found = {key: data for key, data in records.items() if key[1] != "TXT"}
    return found if found != wanted else True


def through_unbound():
    return ask(UNBOUND, HOST)


def add_external_dns(cluster, parent):
    """Two in each cluster, as docs/external-dns.md says: one owner for the NS set, one for each cluster's glue."""
    glue = cluster.external_dns_arguments(parent, ["A"], f"fleet-{cluster.tag}", "sync")
    shared = cluster.external_dns_arguments(parent, ["NS"], FLEET_OWNER, "upsert-only")
    cluster.add_external_dns("external-dns-glue", 7979, glue)
    cluster.add_external_dns("external-dns-ns", 7980, shared)


def test(folder, programs, steps):
    parent = Parent(folder, programs)
    tags = [tag for tag, _, _ in SITES]
    eu, us, za = (Cluster(*site, tags, folder, programs) for site in SITES)
    both = [eu, us]

    parent.start()
    steps.done("BIND serves the parent zone, unbound finds it there")

    for cluster in both:
        cluster.start_control_plane()
    for cluster in both:
        wait(f"the API server of {cluster.tag}", lambda: cluster.kubectl("get", "--raw", "/readyz"), "ok")
    steps.done("eu and us each have a kube-apiserver with its etcd")

    for cluster in both:
        cluster.install(EXAMPLE)
    steps.done("definitions, Gslb, Service, EndpointSlice and Ingress are applied")

    for cluster in both:
        add_external_dns(cluster, parent)
        cluster.start_gslb_bridge()
        cluster.start_external_dns()
    wait("NS and glue of both are in BIND", lambda: delegation(parent, both))
    names = sorted(cluster.ns_name for cluster in both)
    wait("BIND refers to both", lambda: ask(BIND, HOST, recursive=False), names, seconds=1)
    steps.done("NS and glue of both clusters are in BIND, put there by external-dns")

    wait("unbound answers", through_unbound, [eu.application])
    for cluster in both:
        wait(f"{cluster.tag} says it is delegated", lambda: cluster.condition("Delegated"), "True Delegated")
    steps.done("a walk through unbound, from BIND to our DNS, ends at eu's address; Delegated says so")

    application_fails(eu, [us], steps)
    nothing_happens(parent, both, steps)
    external_dns_restarts(parent, both, steps)
    controllers_restart(parent, both, steps)
    an_object_goes(parent, eu, us, steps)
    a_third_joins(parent, both, za, steps)
    application_fails(eu, [us, za], steps)
    one_owner_for_all(parent, eu, us, steps)
    one_leaves(parent, both, za, steps)
    # Until then it counts on: who leaves the delegation is still asked for its applications.
    za.application_is(ready=False)
    application_fails(eu, [us], steps)


def application_fails(eu, others, steps):
    eu.application_is(ready=False)
    tags = " and ".join(cluster.tag for cluster in others)
    wait(f"unbound answers {tags}", through_unbound, sorted(cluster.application for cluster in others))
    steps.done(f"the application fails in eu: unbound answers that of {tags}")
    eu.application_is(ready=True)
    wait("unbound answers eu again", through_unbound, [eu.application])
    steps.done("it is well again: unbound answers that of eu")


def nothing_happens(parent, both, steps):
    """External-dns sends the NS set in every round, whatever it reads; but BIND sees that it is the same."""
    before = parent.serial()
    rounds(both, 3)
    if parent.serial() != before:
        raise Failed(f"the serial of the parent zone went from {before} to {parent.serial()} though nothing changed")
    steps.done("while nothing changes, three rounds of each external-dns change nothing in BIND")


def external_dns_restarts(parent, both, steps):
    for cluster in both:
        with Guarded(parent, ZONE, both) as guard:
            for process in cluster.external_dns.values():
                process.stop()
            rounds(both, 3)
            cluster.start_external_dns()
            rounds(both, 3)
        wait("nothing else changed", lambda: delegation(parent, both), seconds=1)
        steps.done(f"{cluster.tag}'s external-dns restarts: NS and glue of both stay at {guard.looks} looks")


def controllers_restart(parent, both, steps):
    for cluster in both:
        with Guarded(parent, ZONE, both) as guard:
            cluster.controller.kill()
            cluster.dns.kill()
            rounds(both, 2)
            cluster.start_gslb_bridge()
            wait(f"{cluster.tag} answers", lambda: ask(cluster.dns_address, HOST), [both[0].application])
            rounds(both, 3)
        wait(f"{cluster.tag} says it is delegated", lambda: cluster.condition("Delegated"), "True Delegated")
        steps.done(f"gslb-bridge of {cluster.tag} is killed and starts: NS and glue stay at {guard.looks} looks")


def an_object_goes(parent, eu, us, steps):
    """As when somebody uninstalls us in haste."""
    us.controller.stop()
    with Guarded(parent, ZONE, [eu]) as guard:
        us.kubectl("delete", "dnsendpoint", f"k8gb-ns-extdns-{ZONE.replace('.', '-')}", "--namespace=gslb")
        wait("the glue of us goes", lambda: (us.ns_name, "A") in parent.records(), False)
        rounds([eu, us], 2)
        names = sorted([eu.ns_name, us.ns_name])
        wait("the NS set stays", lambda: parent.records().get((ZONE, "NS")), names, seconds=1)
        us.controller.start()
        wait("the glue of us is back", lambda: delegation(parent, [eu, us]))
    steps.done(f"the DNSEndpoint of us is deleted: its glue alone goes and comes back; eu's stays at {guard.looks} looks")


def a_third_joins(parent, both, za, steps):
    """While the external-dns that made the NS set, whichever that was, may be the one that is away."""
    for absent in both:
        for process in absent.external_dns.values():
            process.stop()
    za.start_control_plane()
    za.install(EXAMPLE)
    add_external_dns(za, parent)
    with Guarded(parent, ZONE, both) as guard:
        za.start_gslb_bridge()
        za.start_external_dns()
        wait("za is in the delegation too", lambda: delegation(parent, [*both, za]))
        steps.done(f"za joins while the others' external-dns are down: theirs stays at {guard.looks} looks")
    for cluster in both:
        wait(f"{cluster.tag} lists za", lambda: za.ns_name in cluster.kubectl("get", "dnsendpoints", "-A", "-oyaml"))
    with Guarded(parent, ZONE, [*both, za]) as guard:
        for cluster in both:
            cluster.start_external_dns()
        rounds([*both, za], 3)
    steps.done(f"they are back: nothing of the three is lost at {guard.looks} looks")


def one_owner_for_all(parent, eu, us, steps):
    """Why glue has an owner for each cluster: an external-dns of eu with that of us says what it would do."""
    arguments = eu.external_dns_arguments(parent, ["A", "NS"], f"fleet-{us.tag}", "sync")
    command = [eu.programs.find("external-dns"), *arguments, "--once", "--dry-run", "--metrics-address=127.0.1.1:7981"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env={})
    if f"Removing RR: {us.ns_name} " not in done.stderr + done.stdout:
        raise Failed(f"an external-dns with the owner id of us spares its glue; it said: {done.stderr[-2000:]}")
    steps.done("as documented, an external-dns of eu with the owner id of us would take the glue of us away")


def one_leaves(parent, both, za, steps):
    name = ZONE.replace(".", "-")
    with Guarded(parent, ZONE, both) as guard:
        za.kubectl("patch", "zonedelegation", name, "--type=merge", '--patch={"spec":{"doFinalize":true}}')
        za.kubectl("delete", "zonedelegation", name, "--wait=false")
        wait("only eu and us are in the delegation", lambda: delegation(parent, both), seconds=90)
        rounds([*both, za], 3)
        wait("it stays like that", lambda: delegation(parent, both), seconds=5)
    owners = sorted(owner for owner, kind in parent.records() if kind == "TXT")
    wanted = sorted([f"external-dns-ns-{ZONE}", *(f"external-dns-a-{cluster.ns_name}" for cluster in both)])
    if owners != wanted:
        raise Failed(f"notes of owners are left: {owners}, and not {wanted}")
    steps.done(f"za leaves with doFinalize: only its own goes, eu's and us's stay at {guard.looks} looks")


if __name__ == "__main__":
    main("external-dns", test)
