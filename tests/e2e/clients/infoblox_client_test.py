"""infoblox-client creates, reads, changes and deletes zones, delegations, records and attributes."""

from infoblox_client import connector, objects

from grid import Grid, equal

ZONE = "infoblox-client.example.net"


def named(name):
    return f"{name}.{ZONE}"


def connect(grid):
    return connector.Connector({
        "host": grid.address,
        "username": grid.username,
        "password": grid.password,
        "ssl_verify": grid.ca_file,
        "wapi_version": "2.12",
        "max_retries": 0,
    })


def main():
    grid = Grid()
    wapi = connect(grid)
    view = {"view": grid.view}
    equal("the view is found", [found.name for found in objects.DNSView.search_all(wapi)], [grid.view])

    attribute = objects.EADefinition.create(wapi, name="Owner", type="STRING")
    objects.DNSZone.create(wapi, fqdn=ZONE, **view)
    equal("a zone is made", objects.DNSZone.search(wapi, fqdn=ZONE, **view).fqdn, ZONE)

    records = [
        (objects.ARecord, {"name": named("www"), "ip": "192.0.2.5"}),
        (objects.AAAARecord, {"name": named("six"), "ip": "2001:db8::5"}),
        (objects.CNAMERecord, {"name": named("alias"), "canonical": named("www")}),
        (objects.TXTRecord, {"name": named("text"), "text": "plain"}),
        (objects.HostRecord, {"name": named("host"), "ip": objects.IP.create(ip="192.0.2.9")}),
    ]
    for kind, fields in records:
        what = kind.__name__
        made = kind.create(wapi, **view, **fields)
        kind.create(wapi, **view, **fields, comment="changed", update_if_exists=True)
        found = kind.search(wapi, name=fields["name"], return_fields=["name", "comment"], **view)
        equal(f"{what} is made, found and changed", (found.name, found.comment), (made.name, "changed"))

    marked = objects.ARecord.create(
        wapi, name=named("marked"), ip="192.0.2.6", extattrs=objects.EA({"Owner": "web"}), **view
    )
    by_attribute = objects.ARecord.search_all(wapi, search_extattrs=objects.EA({"Owner": "web"}))
    equal("a record is found by its attribute", [found.name for found in by_attribute], [marked.name])

    servers = [{"name": "ns1.example.org", "address": "192.0.2.53"}]
    delegation = objects.DNSZoneDelegated.create(wapi, fqdn=named("sub"), delegate_to=servers, **view)
    more = [*servers, {"name": "ns2.example.org", "address": "192.0.2.54"}]
    wapi.update_object(delegation.ref, {"delegate_to": more})
    read = wapi.get_object("zone_delegated", {"fqdn": named("sub")}, return_fields=["delegate_to"])
    equal("a delegation is made and changed", read[0]["delegate_to"], more)

    pages = wapi.get_object("record:a", {"zone": ZONE}, paging=True, max_results=1)
    equal("a list comes in pages", sorted(found["name"] for found in pages), sorted([named("www"), marked.name]))

    for kind, fields in [*records, (objects.DNSZoneDelegated, {"fqdn": named("sub")})]:
        key = {name: fields[name] for name in ("name", "fqdn") if name in fields}
        kind.search(wapi, **key, **view).delete()
        equal(f"{kind.__name__} is deleted", kind.search(wapi, **key, **view), None)
    marked.delete()
    objects.DNSZone.search(wapi, fqdn=ZONE, **view).delete()
    equal("the zone is deleted", objects.DNSZone.search(wapi, fqdn=ZONE, **view), None)
    attribute.delete()
    equal("the attribute is deleted", objects.EADefinition.search(wapi, name="Owner"), None)


main()
