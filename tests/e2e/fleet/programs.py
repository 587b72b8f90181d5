"""Where the programs are: what was built for the test, then what was unpacked for it, then the machine's own."""

import os
import shutil

from fleet.process import Failed


class Programs:
    """`folder` is the one that `programs/install` filled; `gslb_bridge` the program under test."""

    def __init__(self, folder, gslb_bridge):
        self.gslb_bridge = gslb_bridge
        debian = folder / "debian"
        machine = os.environ["PATH"].split(os.pathsep)
        self.places = [folder / "bin", debian / "usr/sbin", debian / "usr/bin", *machine, "/usr/sbin", "/sbin"]
        # Of unpacked packages: libraries are in a folder that is named after the machine.
        folders = {str(library.parent) for library in debian.glob("**/*.so*")}
        self.libraries = os.pathsep.join(sorted(folders))

    def find(self, name):
        if name == "gslb-bridge":
            return self.gslb_bridge
        found = shutil.which(name, path=os.pathsep.join(str(place) for place in self.places))
        if found is None:
            raise Failed(f"{name} is missing; tests/e2e/programs/install did not bring it, and it is not installed")
        return found
