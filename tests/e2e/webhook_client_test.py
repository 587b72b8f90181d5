"""gslb-bridge as the client of a webhook: two clusters keep the delegation of their zone in BIND through external-dns'
own server of the protocol.

webhook_client_test.py FOLDER PROGRAM: with the programs of programs/install in FOLDER, and PROGRAM as gslb-bridge. What
every process says goes to FOLDER/webhook-client.
"""

import pathlib
import re
import urllib.request

from fleet.cluster import ZONE, Cluster, at_bind, rounds
from fleet.parent import BIND, UNBOUND, Guarded, Parent, ask
from fleet.process import Failed, Process, wait
from fleet.steps import main

EXAMPLE = pathlib.Path(__file__).parents[2] / "docs/examples/shop.yaml"
HOST = f"shop.{ZONE}"
# Tag, number in its loopback addresses, address of the application.
SITES = [("eu", 1, "192.0.2.80"), ("us", 2, "198.51.100.80")]
PREFIX = "external-dns-"
PROVIDER = {
    # Where external-dns serves the protocol, whatever it is told.
    "WEBHOOK_PROVIDER_URL": "http://127.0.0.1:8888",
    "WEBHOOK_PROVIDER_OWNER": "fleet",
    "WEBHOOK_PROVIDER_TXT_PREFIX": PREFIX,
}


def delegation(parent, clusters):
    """Whether the parent zone has exactly the name servers, glue and notes of these clusters."""
    wanted = {(cluster.ns_name, "A"): [cluster.dns_address] for cluster in clusters}
    if clusters:
        wanted[ZONE, "NS"] = sorted(cluster.ns_name for cluster in clusters)
    resource = f"zonedelegation/{ZONE.replace('.', '-')}"
    note = [f'"heritage=external-dns,external-dns/owner=fleet,external-dns/resource={resource}"']
    wanted |= {(f"{PREFIX}{kind.lower()}-{name}", "TXT"): note for name, kind in list(wanted)}
    found = parent.records()
    return found if found != wanted else True


def visits(cluster, count):
    """Waits until the webhook answered so many listings of this cluster from now on: two calls each."""
    before = calls(cluster)
    wait(f"{cluster.tag} looks {count} times", lambda: calls(cluster) >= before + 2 * count)


def calls(cluster):
    with urllib.request.urlopen(f"http://{cluster.address}:8080/metrics", timeout=5) as page:
        pattern = r'^gslb_bridge_provider_calls_total\{provider="webhook",success="true"\} (\d+)$'
        found = re.search(pattern, page.read().decode(), re.M)
    return int(found[1]) if found else 0


def test(folder, programs, steps):
    parent = Parent(folder, programs)
    tags = [tag for tag, _, _ in SITES]
    eu, us = (Cluster(*site, tags, folder, programs, PROVIDER) for site in SITES)
    both = [eu, us]
    server = ["--webhook-server", "--source=fake", "--metrics-address=127.0.0.1:7979", *at_bind(parent)]
    webhook = Process("webhook", folder, [programs.find("external-dns"), *server])

    parent.start()
    webhook.start()
    steps.done("BIND serves the parent zone, and external-dns the webhook protocol before it")

    for cluster in both:
        cluster.start_control_plane()
    for cluster in both:
        cluster.install(EXAMPLE)
    steps.done("eu and us each have a kube-apiserver, with definitions, Gslb, Service, EndpointSlice and Ingress")

    for cluster in both:
        cluster.start_gslb_bridge()
    wait("NS, glue and notes of both are in BIND", lambda: delegation(parent, both))
    names = sorted(cluster.ns_name for cluster in both)
    wait("BIND refers to both", lambda: ask(BIND, HOST, recursive=False), names, seconds=1)
    steps.done("NS, glue and notes of both clusters are in BIND, put there through the webhook")

    wait("unbound answers", lambda: ask(UNBOUND, HOST), [eu.application])
    for cluster in both:
        wait(f"{cluster.tag} says it is delegated", lambda: cluster.condition("Delegated"), "True Delegated")
    steps.done("a walk through unbound, from BIND to our DNS, ends at eu's address; Delegated says so")

    before = parent.serial()
    for cluster in both:
        visits(cluster, 3)
    if parent.serial() != before:
        raise Failed(f"the serial of the parent zone went from {before} to {parent.serial()} though nothing changed")
    steps.done("while nothing changes, three looks of each cluster change nothing in BIND")

    webhook_fails(parent, webhook, both, steps)
    controllers_restart(parent, both, steps)
    a_stranger_syncs(parent, eu, both, steps)
    somebody_removes(parent, eu, both, steps)
    all_leave(parent, eu, us, steps)


def webhook_fails(parent, webhook, both, steps):
    with Guarded(parent, ZONE, both) as guard:
        webhook.kill()
        for cluster in both:
            told = "False ProviderUnavailable"
            wait(f"{cluster.tag} tells of it", lambda: cluster.condition("InSync"), told)
        wait("unbound answers", lambda: ask(UNBOUND, HOST), [both[0].application])
        webhook.start()
        for cluster in both:
            wait(f"{cluster.tag} is in sync again", lambda: cluster.condition("InSync"), "True InSync", seconds=90)
    steps.done(f"the webhook is killed and starts: both tell of it, and NS and glue stay at {guard.looks} looks")


def controllers_restart(parent, both, steps):
    before = parent.serial()
    with Guarded(parent, ZONE, both) as guard:
        for cluster in both:
            cluster.controller.kill()
            cluster.controller.start()
            wait(f"{cluster.tag} is there", lambda: calls(cluster) > 0)
            visits(cluster, 2)
    if parent.serial() != before:
        raise Failed("a restart wrote something")
    steps.done(f"both controllers are killed and start: nothing is written, and all stays at {guard.looks} looks")


def a_stranger_syncs(parent, eu, both, steps):
    """An external-dns that wants nothing, deletes what is its own, and finds the notes of ours."""
    arguments = eu.external_dns_arguments(parent, ["A", "NS"], "stranger", "sync")
    eu.add_external_dns("stranger", 7979, arguments)
    with Guarded(parent, ZONE, both) as guard:
        eu.start_external_dns()
        rounds([eu], 3)
        eu.external_dns.pop("stranger").stop()
    steps.done(f"an external-dns of another owner deletes nothing of ours in three rounds, at {guard.looks} looks")


def somebody_removes(parent, eu, both, steps):
    """Whoever has the key may do so; here an external-dns that was given our owner, as nobody should."""
    arguments = eu.external_dns_arguments(parent, ["A", "NS"], "fleet", "sync")
    eu.add_external_dns("thief", 7979, arguments)
    eu.start_external_dns()
    wait("all of it is gone", lambda: delegation(parent, []))
    eu.external_dns.pop("thief").stop()
    with_doubt = wait("both are back", lambda: delegation(parent, both), seconds=90)
    steps.done(f"what an external-dns with our own owner took away is back after {with_doubt:.1f} s")


def all_leave(parent, eu, us, steps):
    name = ZONE.replace(".", "-")

    def leave(cluster):
        cluster.kubectl("patch", "zonedelegation", name, "--type=merge", '--patch={"spec":{"doFinalize":true}}')
        cluster.kubectl("delete", "zonedelegation", name, "--wait=false")

    with Guarded(parent, ZONE, [eu]) as guard:
        leave(us)
        wait("only eu is in the delegation", lambda: delegation(parent, [eu]), seconds=90)
        visits(eu, 3)
        wait("it stays like that", lambda: delegation(parent, [eu]), seconds=5)
    steps.done(f"us leaves with doFinalize: only its own goes, eu's stays at {guard.looks} looks")
    leave(eu)
    wait("nothing is left", lambda: delegation(parent, []), seconds=90)
    steps.done("eu leaves too: no record and no note of ours is left in BIND")


if __name__ == "__main__":
    main("webhook-client", test)
