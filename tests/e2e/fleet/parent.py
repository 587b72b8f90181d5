"""The company's DNS: BIND with the parent zone, and unbound, which knows nothing but where that is."""

import base64
import os
import secrets
import threading

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.tsig
import dns.zone

from fleet.process import PAUSE, Failed, Process, wait

ZONE = "example.com"
BIND = "127.0.0.1"
UNBOUND = "127.0.0.2"
KEY = "external-dns"

NAMED_CONF = """
options {{
  directory "{folder}";
  listen-on port 53 {{ {bind}; }};
  listen-on-v6 {{ none; }};
  pid-file none;
  lock-file none;
  session-keyfile none;
  recursion no;
  notify no;
  dnssec-validation no;
}};
controls {{ }};
key "{key}" {{ algorithm hmac-sha256; secret "{secret}"; }};
zone "{zone}" {{
  type primary;
  file "{zone}.zone";
  allow-update {{ key "{key}"; }};
  allow-transfer {{ key "{key}"; }};
}};
"""

ZONE_FILE = """
$TTL 60
@ SOA ns1 hostmaster 1 3600 600 86400 2
@ NS ns1
ns1 A {bind}
www A 192.0.2.1
"""

UNBOUND_CONF = """
server:
  directory: "{folder}"
  interface: {unbound}
  do-ip6: no
  access-control: 127.0.0.0/8 allow
  do-not-query-localhost: no
  do-daemonize: no
  use-syslog: no
  logfile: ""
  pidfile: ""
  chroot: ""
  username: ""
  module-config: "iterator"
remote-control:
  control-enable: no
stub-zone:
  name: "{zone}"
  stub-addr: {bind}
"""


class Parent:
    """Starts both. `programs` says where they are."""

    def __init__(self, folder, programs):
        self.folder = folder / "parent"
        self.folder.mkdir()
        self.secret = base64.b64encode(secrets.token_bytes(32)).decode()
        facts = {"folder": self.folder, "bind": BIND, "unbound": UNBOUND, "zone": ZONE, "key": KEY}
        self._write("named.conf", NAMED_CONF.format(secret=self.secret, **facts))
        self._write(f"{ZONE}.zone", ZONE_FILE.format(**facts))
        self._write("unbound.conf", UNBOUND_CONF.format(**facts))
        libraries = {"LD_LIBRARY_PATH": programs.libraries}
        self.bind = Process(
            "bind", self.folder, [programs.find("named"), "-g", "-c", self.folder / "named.conf"], libraries
        )
        self.unbound = Process(
            "unbound", self.folder, [programs.find("unbound"), "-d", "-c", self.folder / "unbound.conf"], libraries
        )

    def _write(self, name, text):
        descriptor = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)

    def start(self):
        self.bind.start()
        wait("BIND answers", lambda: ask(BIND, f"www.{ZONE}"), ["192.0.2.1"])
        self.unbound.start()
        wait("unbound answers from BIND", lambda: ask(UNBOUND, f"www.{ZONE}"), ["192.0.2.1"])

    def records(self):
        """All records of the zone below its apex: data by name and type, from one transfer, so of one moment."""
        keyring = {dns.name.from_text(KEY): dns.tsig.Key(KEY, self.secret, dns.tsig.HMAC_SHA256)}
        transfer = dns.query.xfr(BIND, ZONE, keyring=keyring, keyname=KEY, relativize=False, lifetime=5)
        found = {}
        for name, rdataset in dns.zone.from_xfr(transfer, relativize=False).iterate_rdatasets():
            owner = name.to_text(omit_final_dot=True)
            if owner not in (ZONE, f"ns1.{ZONE}", f"www.{ZONE}"):
                kind = dns.rdatatype.to_text(rdataset.rdtype)
                found[owner, kind] = sorted(rdata.to_text().rstrip(".") for rdata in rdataset)
        return found

    def serial(self):
        """Of the zone: another one whenever BIND took a change in."""
        return ask(BIND, ZONE, "SOA")[0].split()[2]


def ask(server, name, kind="A", recursive=True):
    """The sorted data that a server answers, or of a referral its name servers; else the code of the reply."""
    query = dns.message.make_query(name, kind)
    if not recursive:
        query.flags &= ~dns.flags.RD
    reply, _ = dns.query.udp_with_fallback(query, server, timeout=1)
    sets = reply.answer or [rrset for rrset in reply.authority if rrset.rdtype == dns.rdatatype.NS]
    if reply.rcode() != dns.rcode.NOERROR or not sets:
        return dns.rcode.to_text(reply.rcode())
    return sorted(rdata.to_text().rstrip(".") for rrset in sets for rdata in rrset)


class Guarded:
    """While it is entered, the delegation must have these clusters at every look, ten times a second."""

    def __init__(self, parent, zone, clusters):
        self.parent = parent
        self.zone = zone
        self.clusters = clusters
        self.looks = 0
        self.missing = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self._over.wait(PAUSE):
            self._look()

    def _look(self):
        try:
            records = self.parent.records()
        except Exception as error:  # pylint: disable=broad-except
            self.missing.add(f"everything: {error}")
            return
        self.looks += 1
        for cluster in self.clusters:
            if cluster.ns_name not in records.get((self.zone, "NS"), []):
                self.missing.add(f"NS {cluster.ns_name}")
            if records.get((cluster.ns_name, "A")) != [cluster.dns_address]:
                self.missing.add(f"glue {cluster.ns_name}")

    def __enter__(self):
        self._look()
        self._thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self._over.set()
        self._thread.join(timeout=30)
        self._look()
        if kind is None and self.missing:
            raise Failed(f"for a moment the parent zone lacked {', '.join(sorted(self.missing))}")
