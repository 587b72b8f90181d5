"""external-dns, gslb-bridge webhook and the grid of the sandbox: what external-dns asks for, written at a grid.

webhook_test.py FOLDER PROGRAM: with the programs of programs/install in FOLDER, and PROGRAM as gslb-bridge. What
every process says goes to FOLDER/webhook.
"""

import json
import re
import urllib.request

from fleet.cluster import NAMESPACE, Cluster, rounds
from fleet.grid import HOST, Grid, Way
from fleet.process import Failed, Process, run, wait
from fleet.steps import main

DOMAIN = "apps.example.com"
OWNER = "eu"
CLAIM = f"webhook/{OWNER}"
LOG = f"webhook-{OWNER}"
PREFIX = "extdns-"
TYPES = ["A", "AAAA", "CNAME", "TXT", "NS"]
#: What one DNSEndpoint asks for: type and targets by name.
WANTED = {
    f"www.{DOMAIN}": ("A", ["192.0.2.10", "192.0.2.11"]),
    f"six.{DOMAIN}": ("AAAA", ["2001:db8::10"]),
    f"alias.{DOMAIN}": ("CNAME", [f"www.{DOMAIN}"]),
    f"text.{DOMAIN}": ("TXT", ["hello"]),
    f"ns1.{DOMAIN}": ("A", ["192.0.2.53"]),
    f"team.{DOMAIN}": ("NS", [f"ns1.{DOMAIN}"]),
    f"shared.{DOMAIN}": ("A", ["192.0.2.20"]),
}
#: Of the DNS team: one that external-dns never had, and one that takes the place of ours.
THEIRS = f"printer.{DOMAIN}"
TAKEN = f"shared.{DOMAIN}"


class Stage:
    """Everybody who takes part."""

    def __init__(self, folder, programs):
        self.folder = folder
        self.programs = programs
        self.grid = Grid(folder, programs)
        self.cluster = Cluster("hook", 4, "192.0.2.80", ["hook"], folder, programs)
        self.pages = f"{self.cluster.address}:8080"
        self.way = None
        self.webhook = None

    def set_up(self):
        """What needs the grid's address."""
        self.way = Way(self.folder, self.grid)
        password = self.folder / "wapi-password"
        username = self.folder / "wapi-username"
        password.write_text(self.grid.password, encoding="utf-8")
        username.write_text(self.grid.username, encoding="utf-8")
        environment = {
            "KUBECONFIG": str(self.cluster.kubeconfig),
            "POD_NAMESPACE": NAMESPACE,
            "POD_NAME": "external-dns-0",
            "METRICS_ADDRESS": self.pages,
            "WEBHOOK_DOMAINS": DOMAIN,
            "WEBHOOK_OWNER": OWNER,
            "INFOBLOX_GRID_HOST": HOST,
            "INFOBLOX_WAPI_PORT": str(self.way.port),
            "INFOBLOX_WAPI_USERNAME_FILE": str(username),
            "INFOBLOX_WAPI_PASSWORD_FILE": str(password),
            "INFOBLOX_CA_FILE": str(self.way.certificate),
        }
        program = self.programs.find("gslb-bridge")
        self.webhook = Process("webhook", self.folder, [program, "webhook"], environment)
        self.cluster.add_external_dns("external-dns", 7979, [
            f"--kubeconfig={self.cluster.kubeconfig}",
            "--provider=webhook",
            "--source=crd",
            "--registry=txt",
            f"--txt-owner-id={OWNER}",
            f"--txt-prefix={PREFIX}",
            "--txt-wildcard-replacement=any",
            *(f"--managed-record-types={kind}" for kind in TYPES),
            "--interval=1s",
        ])  # fmt: skip

    @property
    def external_dns(self):
        return self.cluster.external_dns["external-dns"]

    def publish(self, wanted, name="all"):
        """Makes the DNSEndpoint ask for these."""
        endpoints = [
            {"dnsName": owner, "recordType": kind, "targets": targets, "recordTTL": 60}
            for owner, (kind, targets) in wanted.items()
        ]
        metadata = {"name": name, "namespace": "demo"}
        kind = {"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint"}
        self.cluster.apply(json.dumps(kind | {"metadata": metadata, "spec": {"endpoints": endpoints}}))

    def records(self):
        """Type, name and datum of what is ours at the grid, without the notes of external-dns."""
        return [each[:3] for each in self.grid.objects(DOMAIN) if each[3] == CLAIM and not is_note(each)]

    def theirs(self):
        return [each[:3] for each in self.grid.objects(DOMAIN) if each[3] != CLAIM]

    def answered(self, call, status):
        """How many requests of external-dns were answered so since the webhook started."""
        with urllib.request.urlopen(f"http://{self.pages}/metrics", timeout=5) as page:
            labels = f'call="{call}",status="{status}"'
            found = re.search(rf"^gslb_bridge_webhook_requests_total{{{labels}}} (\d+)$", page.read().decode(), re.M)
        return int(found[1]) if found else 0

    def changes(self):
        """The entries of the log, as kubectl sees them."""
        return json.loads(self.cluster.kubectl("get", "providerchanges", "--output=json"))["items"]

    def verify(self):
        program = self.programs.find("gslb-bridge")
        run([program, "changes", "verify", f"--kubeconfig={self.cluster.kubeconfig}", "--log", LOG])
        open_entries = [each["metadata"]["name"] for each in self.changes() if "status" not in each]
        if open_entries:
            raise Failed(f"entries of the change log without an outcome: {open_entries}")

    def settles(self, what, wanted):
        wait(what, self.records, at_grid(wanted))

    def answers_more(self, what, call, status):
        """Waits for three more answers like that."""
        before = self.answered(call, status)
        wait(what, lambda: self.answered(call, status) >= before + 3)


def is_note(each):
    return each[1].startswith(PREFIX)


def at_grid(wanted):
    """How these stand at the grid, in the form of `Stage.records`."""
    found = []
    for owner, (kind, targets) in wanted.items():
        if kind == "NS":
            addresses = [f"{server} {wanted[server][1][0]}" for server in targets]
            found.append((kind, owner, ",".join(sorted(addresses))))
        else:
            found += [(kind, owner, target) for target in targets]
    return sorted(found)


def test(folder, programs, steps):
    stage = Stage(folder, programs)
    stage.grid.start()
    stage.set_up()
    stage.grid.make_by_hand(THEIRS, "192.0.2.200")
    steps.done("the sandbox's grid answers, and its DNS team has a record of its own there")

    stage.cluster.start_control_plane()
    stage.cluster.install_definitions()
    steps.done("a kube-apiserver with its etcd has the definitions")

    wanted = dict(WANTED)
    stage.publish(wanted | {THEIRS: ("A", ["192.0.2.99"])})
    stage.webhook.start()
    stage.external_dns.start()
    stage.settles("all records are at the grid with our claim", wanted)
    notes = sorted(each[1] for each in stage.grid.objects(DOMAIN) if is_note(each) and each[3] == CLAIM)
    expected = sorted(f"{PREFIX}{kind.lower()}-{owner}" for owner, (kind, _) in wanted.items())
    if notes != expected:
        raise Failed(f"notes of external-dns with our claim: {notes}, and not {expected}")
    steps.done("A, AAAA, CNAME, TXT and NS are at the grid with our claim, and so are the notes of external-dns")

    who_and_why(stage, steps)
    nothing_happens(stage, steps)
    changes_and_deletions(stage, wanted, steps)
    external_dns_restarts(stage, wanted, steps)
    webhook_is_killed(stage, wanted, steps)
    grid_fails(stage, wanted, steps)
    dns_team_takes_a_name(stage, wanted, steps)
    stage.verify()
    steps.done("at the end changes verify proves the log, and no entry lacks its outcome")


def who_and_why(stage, steps):
    table = stage.cluster.kubectl("get", "providerchanges", "--output=wide")
    row = next((line for line in table.splitlines() if f"www.{DOMAIN}" in line and PREFIX not in line), "")
    for part in ("external-dns asked for it, for crd/demo/all", "external-dns-0", "Applied"):
        if part not in row:
            raise Failed(f"kubectl get providerchanges does not say {part!r} of www: {row or table}")
    stage.verify()
    steps.done("kubectl get providerchanges names who and why; changes verify proves the log")


def nothing_happens(stage, steps):
    rounds([stage.cluster], 1)
    writes, entries, reads = len(stage.way.writes), len(stage.changes()), stage.way.reads
    rounds([stage.cluster], 3)
    stage.way.quiet_since(writes)
    if len(stage.changes()) != entries or stage.way.reads == reads:
        raise Failed(f"{len(stage.changes()) - entries} new entries, {stage.way.reads - reads} reads in three rounds")
    if stage.theirs() != [("A", THEIRS, "192.0.2.200")]:
        raise Failed(f"records of the DNS team: {stage.theirs()}")
    steps.done("three more rounds write nothing at the grid or in the log; the DNS team's record is as it was")


def changes_and_deletions(stage, wanted, steps):
    wanted[f"www.{DOMAIN}"] = ("A", ["192.0.2.11", "192.0.2.12"])
    wanted[f"alias.{DOMAIN}"] = ("CNAME", [f"six.{DOMAIN}"])
    wanted[f"ns1.{DOMAIN}"] = ("A", ["192.0.2.54"])
    stage.publish(wanted)
    stage.settles("the changes are at the grid", wanted)
    steps.done("addresses, an alias and a name server's address change; the delegation follows")
    wanted[f"alias.{DOMAIN}"] = ("CNAME", [f"www.{DOMAIN}"])
    del wanted[f"six.{DOMAIN}"], wanted[f"team.{DOMAIN}"]
    stage.publish(wanted)
    stage.settles("what was deleted is gone", wanted)
    gone = [f"{PREFIX}aaaa-six.{DOMAIN}", f"{PREFIX}ns-team.{DOMAIN}"]
    wait("their notes are gone", lambda: [each for each in stage.grid.objects(DOMAIN) if each[1] in gone], [])
    steps.done("an address and a delegation are deleted, and their notes with them")
    stage.publish({owner: asked for owner, asked in wanted.items() if asked[0] != "TXT"})
    rounds([stage.cluster], 2)
    stage.settles("external-dns leaves the text", wanted)
    steps.done("as documented, external-dns never deletes a text: it does not recognise its own note about one")


def external_dns_restarts(stage, wanted, steps):
    rounds([stage.cluster], 1)
    writes = len(stage.way.writes)
    stage.external_dns.restart()
    wait("it serves its metrics again", lambda: rounds([stage.cluster], 2), None)
    stage.way.quiet_since(writes)
    stage.settles("nothing is lost", wanted)
    steps.done("external-dns restarts: nothing is lost and nothing is written")


def webhook_is_killed(stage, wanted, steps):
    """The grid has made a change, and the webhook does not know it yet."""
    stage.way.hold.set()
    wanted[f"late.{DOMAIN}"] = ("A", ["192.0.2.30"])
    wanted[f"www.{DOMAIN}"] = ("A", ["192.0.2.13"])
    stage.publish(wanted)
    wait("a write at the grid is under way", stage.way.held.is_set)
    stage.webhook.kill()
    # A lost connection ends external-dns; in a pod it starts again.
    external_dns = stage.external_dns
    external_dns.process.wait(timeout=30)
    external_dns.stop()
    stage.webhook.start()
    external_dns.start()
    stage.settles("the changes are made", wanted)
    rounds([stage.cluster], 2)
    stage.settles("they are made once", wanted)
    stage.verify()
    steps.done("the webhook is killed between a write and its reply: all is made once, and the log is whole")


def grid_fails(stage, wanted, steps):
    for fault, what in [("wapi-503", "status 503"), ("wapi-html", "a log-in page")]:
        writes = len(stage.way.writes)
        stage.grid.inject(fault)
        stage.answers_more(f"external-dns hears of {what}", "records", 503)
        wanted[f"{fault}.{DOMAIN}"] = ("A", ["192.0.2.40"])
        stage.publish(wanted)
        stage.answers_more(f"it comes again during {what}", "records", 503)
        stage.way.quiet_since(writes)
        stage.grid.inject("clear")
        stage.settles("what was asked for meanwhile is made, and nothing is lost", wanted)
        steps.done(f"the grid answers {what}: external-dns lives, nothing is deleted, and afterwards all is made")


def dns_team_takes_a_name(stage, wanted, steps):
    stage.grid.replace_by_hand(TAKEN, "192.0.2.201")
    stage.answers_more("external-dns is refused", "apply", 500)
    theirs = sorted([("A", THEIRS, "192.0.2.200"), ("A", TAKEN, "192.0.2.201")])
    del wanted[TAKEN]
    wanted[f"new.{DOMAIN}"] = ("A", ["192.0.2.50"])
    stage.publish(wanted | {TAKEN: WANTED[TAKEN]})
    stage.settles("everything else goes on", wanted)
    stage.answers_more("it is refused again", "apply", 500)
    wait("the records of the DNS team stay", stage.theirs, theirs, seconds=1)
    said = stage.webhook.log.read_text(encoding="utf-8")
    if not any(TAKEN in line and "refused" in line for line in said.splitlines()):
        raise Failed(f"the webhook does not say that {TAKEN} was refused")
    steps.done("the DNS team puts a record in place of ours: it survives, 500 is answered, and all else goes on")


if __name__ == "__main__":
    main("webhook", test)
