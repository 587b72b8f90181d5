"""certbot's plugin for Infoblox publishes the TXT record of a challenge, and takes it away again."""

from types import SimpleNamespace

from certbot_dns_infoblox.dns_infoblox import Authenticator
from infoblox_client import connector

from grid import Grid, equal

NAME = "_acme-challenge.www.certbot.example.net"
ZONE = "certbot.example.net"


def main():
    grid = Grid()
    wapi = connector.Connector({
        "host": grid.address,
        "username": grid.username,
        "password": grid.password,
        "ssl_verify": grid.ca_file,
        "wapi_version": "2.12",
    })

    def texts():
        found = wapi.get_object("record:txt", {"name": NAME}, return_fields=["text"])
        return sorted(record["text"] for record in found or [])

    zone = wapi.create_object("zone_auth", {"fqdn": ZONE, "view": grid.view})
    plugin = Authenticator(SimpleNamespace(), "dns-infoblox")
    settings = {
        "hostname": grid.address,
        "username": grid.username,
        "password": grid.password,
        "ca_bundle": grid.ca_file,
        "view": grid.view,
    }
    plugin.credentials = SimpleNamespace(conf=settings.get)
    # A certificate for a name and all names below it has two challenges at once.
    for text in ("first", "second"):
        plugin._perform("www.certbot.example.net", NAME, text)
    equal("two challenges stand side by side", texts(), ["first", "second"])
    plugin._cleanup("www.certbot.example.net", NAME, "first")
    equal("one is taken away", texts(), ["second"])
    plugin._cleanup("www.certbot.example.net", NAME, "second")
    equal("both are taken away", texts(), [])
    wapi.delete_object(zone)


main()
