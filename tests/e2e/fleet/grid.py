"""The sandbox's grid as its DNS team sees it, and a way to it on which writes are counted and can be held."""

import base64
import http.client
import http.server
import json
import ssl
import threading
import urllib.parse
import urllib.request

from fleet.process import Failed, Process, run, wait

WAPI = "/wapi/v2.12"
HOST = "127.0.0.1"
#: Kinds of records: how each is called at the grid, and the field with its datum.
KINDS = {"A": "ipv4addr", "AAAA": "ipv6addr", "CNAME": "canonical", "TXT": "text"}
CLAIM = "GslbBridgeClaim"


class Grid:
    """That of a sandbox, whose clusters have their own zone and nothing to do with the test."""

    def __init__(self, folder, programs):
        self.folder = folder
        self.programs = programs
        self.ready_file = folder / "ready.json"
        self.sandbox = Process(
            "sandbox", folder, [programs.find("gslb-bridge"), "sandbox", "--ready-file", self.ready_file]
        )

    def start(self):
        self.sandbox.start()
        wait("the sandbox is ready", self.ready_file.exists)
        wapi = json.loads(self.ready_file.read_text(encoding="utf-8"))["wapi"]
        self.address = urllib.parse.urlparse(wapi["url"]).netloc
        self.tls = ssl.create_default_context(cafile=wapi["ca_file"])
        login = f"{wapi['username']}:{wapi['password']}"
        self.login = f"Basic {base64.b64encode(login.encode()).decode()}"
        self.username, self.password = wapi["username"], wapi["password"]

    def inject(self, fault):
        """Puts a fault of the grid into force; `clear` ends it."""
        program = self.programs.find("gslb-bridge")
        run([program, "sandbox", "inject", "--ready-file", self.ready_file, fault])

    def ask(self, method, path, body=None):
        """One request of the DNS team."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": self.login, "Content-Type": "application/json"}
        request = urllib.request.Request(f"https://{self.address}{WAPI}/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10, context=self.tls) as reply:
            return json.load(reply)

    def objects(self, domain):
        """Type, name, data and claim of every object in a domain, sorted."""
        found = []
        for kind, field in KINDS.items():
            fields = f"name,{field},extattrs"
            for each in self.ask("GET", f"record:{kind.lower()}?name~=\\.{domain}$&_return_fields={fields}"):
                found.append((kind, each["name"], each[field], claim(each)))
        for each in self.ask("GET", f"zone_delegated?fqdn~=\\.{domain}$&_return_fields=fqdn,delegate_to,extattrs"):
            servers = [f"{server['name']} {server['address']}" for server in each["delegate_to"]]
            found.append(("NS", each["fqdn"], ",".join(sorted(servers)), claim(each)))
        return sorted(found)

    def replace_by_hand(self, name, address):
        """The DNS team deletes what stands there and makes an A record of its own."""
        for each in self.ask("GET", f"record:a?name={name}"):
            self.ask("DELETE", each["_ref"])
        self.make_by_hand(name, address)

    def make_by_hand(self, name, address):
        self.ask("POST", "record:a", {"name": name, "ipv4addr": address, "view": "default"})


def claim(each):
    return each.get("extattrs", {}).get(CLAIM, {}).get("value")


class Way:
    """A reverse proxy before the grid: the one that is watched writes through it."""

    def __init__(self, folder, grid):
        self.grid = grid
        self.certificate = folder / "way.crt"
        key = folder / "way.key"
        kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        name = ["-subj", "/CN=way", "-addext", f"subjectAltName=IP:{HOST}"]
        # Not that of an authority: clients take it as it is.
        plain = ["-addext", "basicConstraints=critical,CA:FALSE"]
        run(["openssl", "req", *kind, *name, *plain, "-keyout", key, "-out", self.certificate])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.reads = 0
        self.writes = []
        # Whether the reply to the next write is kept, and whether one is.
        self.hold = threading.Event()
        self.held = threading.Event()
        self.server = http.server.ThreadingHTTPServer((HOST, 0), self._handler())
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def pass_on(self, method, path, headers, body):
        """What the grid answers, unless that is held: then the one who asked hears nothing any more."""
        connection = http.client.HTTPSConnection(self.grid.address, timeout=30, context=self.grid.tls)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            answer = reply.status, reply.getheaders(), reply.read()
        finally:
            connection.close()
        if method == "GET":
            self.reads += 1
            return answer
        self.writes.append(f"{method} {path}")
        if self.hold.is_set():
            self.hold.clear()
            self.held.set()
            return None
        return answer

    def _handler(self):
        way = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = way.pass_on(self.command, self.path, dict(self.headers), body)
                if answer is None:
                    # Open, and silent, until the one who asked is gone.
                    self.rfile.read(1)
                    self.close_connection = True
                    return
                status, headers, content = answer
                self.send_response_only(status)
                for name, value in headers:
                    if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_DELETE = pass_on

            def log_message(self, *_):
                pass

        return Handler

    def quiet_since(self, count):
        """Fails if anything was written after the first `count` writes."""
        if len(self.writes) != count:
            raise Failed(f"written at the grid though nothing changed: {self.writes[count:]}")
