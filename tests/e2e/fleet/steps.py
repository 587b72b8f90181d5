"""What is tried, in numbered lines, and what is shown when something does not hold."""

import pathlib
import shutil
import sys
import time
import traceback

from fleet import namespace
from fleet.process import ALL, Failed, Process
from fleet.programs import Programs


class Steps:
    """Numbers what is tried, and says how long it took."""

    def __init__(self):
        self.number = 0
        self.started = time.monotonic()

    def done(self, what):
        """Says that `what`, which went on since the last call, holds."""
        self.number += 1
        now = time.monotonic()
        print(f"ok {self.number:2}  {what} ({now - self.started:.1f} s)", flush=True)
        self.started = now


def main(name, test):
    """Runs a test whose processes' logs go to the folder `name` in that of the command line; ends with its exit code.

    Whatever still runs is ended with the namespace, of which this is the first process.
    """
    folder, gslb_bridge = (pathlib.Path(argument).absolute() for argument in sys.argv[1:3])
    logs = folder / name
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    steps = Steps()
    try:
        namespace.enter()
        test(logs, Programs(folder, gslb_bridge), steps)
    except Exception as error:  # pylint: disable=broad-except
        # Whoever ended by itself comes last, next to the verdict.
        for process in sorted(ALL, key=Process.died):
            if process.log.exists():
                print(f"--- the end of {process.log}:\n{process.tail()}", file=sys.stderr)
        if not isinstance(error, Failed):
            traceback.print_exc()
        print(f"FAILED after step {steps.number}: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
