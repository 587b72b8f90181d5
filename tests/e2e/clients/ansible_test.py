"""Ansible's modules for Infoblox: each makes an object, finds nothing to do, changes it, finds nothing to do, and takes
it away; from the attribute and the zone to the records in it, and back."""

import json
import os
import subprocess
import sys
import tempfile

from grid import Grid

ZONE = "ansible.example.net"

# Module and what describes the object; its comment is what is changed.
OBJECTS = [
    ("nios_extensible_attribute", {"name": "AnsibleOwner", "type": "STRING"}),
    ("nios_zone", {"name": ZONE}),
    ("nios_a_record", {"name": f"www.{ZONE}", "ipv4": "192.0.2.5", "extattrs": {"AnsibleOwner": "web"}}),
    ("nios_aaaa_record", {"name": f"six.{ZONE}", "ipv6": "2001:db8::5"}),
    ("nios_cname_record", {"name": f"alias.{ZONE}", "canonical": f"www.{ZONE}"}),
    ("nios_txt_record", {"name": f"text.{ZONE}", "text": "plain"}),
    ("nios_host_record", {"name": f"host.{ZONE}", "ipv4addrs": [{"ipv4addr": "192.0.2.9"}]}),
]


def tasks(grid):
    provider = {
        "host": grid.address,
        "username": grid.username,
        "password": grid.password,
        "wapi_version": "2.12",
        "ssl_verify": True,
    }

    def step(module, fields, comment, state, changed):
        arguments = {**fields, "comment": comment, "state": state, "provider": provider}
        if module != "nios_extensible_attribute":
            arguments["view"] = grid.view
        what = f"{module} {state} with comment {comment}"
        yield {"name": what, f"infoblox.nios_modules.{module}": arguments, "register": "result"}
        check = {"that": f"result.changed == {changed}", "quiet": True}
        yield {"name": f"{what}: changed is {changed}", "ansible.builtin.assert": check}

    for module, fields in OBJECTS:
        for comment in ("first", "second"):
            yield from step(module, fields, comment, "present", True)
            yield from step(module, fields, comment, "present", False)
    for module, described in reversed(OBJECTS):
        # The module for host records takes none away whose addresses it is told.
        fields = {name: value for name, value in described.items() if name != "ipv4addrs"}
        yield from step(module, fields, "second", "absent", True)
        yield from step(module, fields, "second", "absent", False)


def main():
    grid = Grid()
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": list(tasks(grid))}
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as playbook:
        json.dump([play], playbook)
        playbook.flush()
        program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
        arguments = ["-i", "localhost,", "-e", f"ansible_python_interpreter={sys.executable}", playbook.name]
        raise SystemExit(subprocess.run([program, *arguments], env=environment, check=False).returncode)


main()
