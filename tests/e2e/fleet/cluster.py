"""One cluster: an API server with its etcd, both processes of gslb-bridge, and external-dns."""

import json
import re
import secrets
import urllib.request

from fleet.parent import BIND, KEY, UNBOUND, ZONE as PARENT_ZONE
from fleet.process import Failed, Process, run, wait

ZONE = f"cloud.{PARENT_ZONE}"
NAMESPACE = "gslb"
#: Of gslb-bridge, external-dns and the zone alike: seconds.
TTL = 5

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: {tag}, cluster: {{server: "https://{address}:6443", certificate-authority: "{ca}"}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
contexts: [{{name: {tag}, context: {{cluster: {tag}, user: admin}}}}]
current-context: {tag}
"""

# What an installation has besides the definitions. The Service's addresses become the cluster's glue.
OBJECTS = f"""
apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: demo}}
---
apiVersion: v1
kind: Service
metadata: {{name: gslb-bridge-dns, namespace: {NAMESPACE}}}
spec:
  type: LoadBalancer
  ports: [{{name: dns, port: 53, protocol: UDP}}]
"""


class Cluster:
    """A cluster of the fleet. `number` makes its addresses; those of applications nobody ever connects to. `provider`:
    the settings of another one than external-dns."""

    def __init__(self, tag, number, application, tags, folder, programs, provider=None):
        self.tag = tag
        self.folder = folder / tag
        self.folder.mkdir()
        self.programs = programs
        self.address = f"127.0.{number}.1"
        self.dns_address = f"127.0.{number}.53"
        self.application = application
        self.ns_name = f"gslb-ns-{tag}-{ZONE.removesuffix('.' + PARENT_ZONE)}.{PARENT_ZONE}"
        self.kubeconfig = self.folder / "kubeconfig"
        self.external_dns = {}
        self._control_plane()
        self._gslb_bridge(tags, provider or {"EXTDNS_ENABLED": "true"})

    def _process(self, name, *arguments, environment=None, program=None):
        command = [self.programs.find(program or name), *arguments]
        return Process(f"{self.tag}-{name}", self.folder, command, environment)

    def _control_plane(self):
        token = secrets.token_hex(16)
        (self.folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n', encoding="utf-8")
        certificates = self.folder / "certificates"
        facts = {"tag": self.tag, "address": self.address, "token": token, "ca": certificates / "apiserver.crt"}
        self.kubeconfig.write_text(KUBECONFIG.format(**facts), encoding="utf-8")
        key = self.folder / "service-accounts.pem"
        run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
        etcd, peers = f"http://{self.address}:2379", f"http://{self.address}:2380"
        self.etcd = self._process(
            "etcd",
            "--name=etcd",
            f"--data-dir={self.folder}/data",
            # The data need not survive the machine.
            "--unsafe-no-fsync",
            "--log-level=warn",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=etcd={peers}",
        )
        self.api_server = self._process(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--bind-address={self.address}",
            f"--advertise-address={self.address}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=RBAC",
            f"--cert-dir={certificates}",
            f"--token-auth-file={self.folder}/tokens.csv",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
        )

    def _gslb_bridge(self, tags, provider):
        common = {
            "KUBECONFIG": str(self.kubeconfig),
            "POD_NAMESPACE": NAMESPACE,
            "CLUSTER_GEO_TAG": self.tag,
            "EXT_GSLB_CLUSTERS_GEO_TAGS": ",".join(tags),
            "DNS_ZONES": f"{PARENT_ZONE}:{ZONE}:{TTL}",
        }
        controller = {
            "POD_NAME": f"gslb-bridge-{self.tag}",
            "EDGE_DNS_SERVERS": UNBOUND,
            "NS_RECORD_TTL": str(TTL),
            "DNS_SERVICE": f"{NAMESPACE}/gslb-bridge-dns",
            "METRICS_ADDRESS": f"{self.address}:8080",
            "ZONE_DELEGATION_RECONCILE_REQUEUE_SECONDS": "5",
            "PEER_SWEEP_SECONDS": "1",
        }
        server = {
            "DNS_LISTEN": f"{self.dns_address}:53",
            "DNS_SNAPSHOT_FILE": f"{self.folder}/dns-snapshot",
            "DNS_STOP_SECONDS": "0",
            "METRICS_ADDRESS": f"{self.dns_address}:8080",
        }
        self.controller = self._process("run", "run", environment=common | controller | provider, program="gslb-bridge")
        self.dns = self._process("dns", "dns", environment=common | server, program="gslb-bridge")

    def external_dns_arguments(self, parent, record_types, owner, policy):
        """Of an external-dns that takes the delegation from this cluster to BIND."""
        return [
            f"--kubeconfig={self.kubeconfig}",
            "--source=crd",
            "--label-filter=k8gb.io/dnstype=extdns",
            *(f"--managed-record-types={kind}" for kind in record_types),
            f"--policy={policy}",
            "--registry=txt",
            f"--txt-owner-id={owner}",
            "--txt-prefix=external-dns-",
            f"--domain-filter={PARENT_ZONE}",
            "--interval=1s",
            *at_bind(parent),
        ]

    def add_external_dns(self, name, port, arguments):
        metrics = f"{self.address}:{port}"
        process = self._process(name, f"--metrics-address={metrics}", *arguments, program="external-dns")
        process.metrics = f"http://{metrics}/metrics"
        self.external_dns[name] = process

    def start_control_plane(self):
        self.etcd.start()
        self.api_server.start()

    def install_definitions(self):
        """The definitions, and the objects that an installation has."""
        wait(f"the API server of {self.tag} is ready", lambda: self.kubectl("get", "--raw", "/readyz"), "ok")
        self.apply(run([self.programs.find("gslb-bridge"), "crds"]))
        self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        self.apply(OBJECTS)

    def install(self, example):
        """All of it, and the application of an example file."""
        self.install_definitions()
        self.patch_status(NAMESPACE, "service", "gslb-bridge-dns", self.dns_address)
        self.apply(example.read_text(encoding="utf-8"))
        # Nobody plays the ingress controller.
        self.patch_status("demo", "ingress", "shop", self.application)

    def start_gslb_bridge(self):
        self.controller.start()
        self.dns.start()

    def start_external_dns(self):
        for process in self.external_dns.values():
            process.start()

    def kubectl(self, *arguments, text=None):
        common = [f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.folder}/kubectl"]
        return run([self.programs.find("kubectl"), *common, *arguments], text)

    def apply(self, text):
        self.kubectl("apply", "--filename=-", text=text)

    def patch_status(self, namespace, kind, name, address):
        status = json.dumps({"status": {"loadBalancer": {"ingress": [{"ip": address}]}}})
        self.kubectl(
            "patch", kind, name, f"--namespace={namespace}", "--subresource=status", "--type=merge", f"--patch={status}"
        )

    def application_is(self, ready):
        endpoints = {"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}]}
        self.kubectl(
            "patch", "endpointslice", "shop-1", "--namespace=demo", "--type=merge", f"--patch={json.dumps(endpoints)}"
        )

    def condition(self, kind):
        """Status and reason of a condition of the ZoneDelegation."""
        found = f'.status.conditions[?(@.type=="{kind}")]'
        path = f"jsonpath={{{found}.status}} {{{found}.reason}}"
        return self.kubectl("get", "zonedelegation", ZONE.replace(".", "-"), f"--output={path}")


def at_bind(parent):
    """Arguments of an external-dns that writes the parent zone."""
    return [
        "--provider=rfc2136",
        f"--rfc2136-host={BIND}",
        "--rfc2136-port=53",
        f"--rfc2136-zone={PARENT_ZONE}",
        f"--rfc2136-tsig-keyname={KEY}",
        f"--rfc2136-tsig-secret={parent.secret}",
        "--rfc2136-tsig-secret-alg=hmac-sha256",
        "--rfc2136-tsig-axfr",
    ]


def rounds(clusters, count):
    """Waits until each external-dns of these clusters that runs has compared and synced so many times from now on."""
    running = [process for cluster in clusters for process in cluster.external_dns.values() if process.process]
    ends = {process.name: set() for process in running}

    def made():
        for process in running:
            ends[process.name].add(synced(process))
        return [name for name, times in ends.items() if len(times) <= count]

    wait(f"each external-dns makes {count} rounds", made, [])


def synced(process):
    """When this external-dns last ended a round well."""
    with urllib.request.urlopen(process.metrics, timeout=5) as page:
        found = re.search(r"^external_dns_controller_last_sync_timestamp_seconds (\S+)$", page.read().decode(), re.M)
    if found is None:
        raise Failed(f"{process.name} tells no time of its last round")
    return float(found[1])
