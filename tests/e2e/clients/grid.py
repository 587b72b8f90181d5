"""The grid of a running sandbox, as its ready file describes it."""

import json
import os
import urllib.parse


class Grid:
    def __init__(self):
        with open(os.environ["READY_FILE"], encoding="utf-8") as file:
            wapi = json.load(file)["wapi"]
        self.address = urllib.parse.urlparse(wapi["url"]).netloc
        self.username = wapi["username"]
        self.password = wapi["password"]
        self.ca_file = wapi["ca_file"]
        self.view = wapi["view"]
        # Where it is set, requests prefers it to what a client asks for.
        os.environ["REQUESTS_CA_BUNDLE"] = self.ca_file


def equal(what, found, wanted):
    """Ends the test unless `found` is what is wanted."""
    if found != wanted:
        raise SystemExit(f"FAILED: {what}: {found!r}, and not {wanted!r}")
    print(f"ok: {what}")
