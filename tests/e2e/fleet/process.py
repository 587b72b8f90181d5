"""Processes, and waiting for what they bring about."""

import os
import subprocess
import time

#: Every process of the test, so that a failure can be explained by whoever died.
ALL = []
#: Seconds between two looks.
PAUSE = 0.1


class Failed(Exception):
    """What was not as it must be."""


class Process:
    """A program that may be started, ended and started again; what it says is in `log`."""

    def __init__(self, name, folder, command, environment=None):
        self.name = name
        self.log = folder / f"{name}.log"
        self.command = [str(part) for part in command]
        # Nothing of the machine's settings, so that the test is the same everywhere.
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)} | (environment or {})
        self.process = None
        ALL.append(self)

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment
            )

    def stop(self):
        """Asks it to end, as a cluster does, and waits."""
        self._end(self.process.terminate)

    def kill(self):
        """Ends it in the middle of whatever it does."""
        self._end(self.process.kill)

    def restart(self):
        self.stop()
        self.start()

    def _end(self, how):
        how()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired as late:
            self.process.kill()
            raise Failed(f"{self.name} did not end within 30 seconds") from late
        finally:
            self.process = None if self.process.poll() is not None else self.process

    def died(self):
        """Whether it ended without being told to."""
        return self.process is not None and self.process.poll() is not None

    def tail(self, lines=8, width=300):
        said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(line[:width] for line in said[-lines:])


def run(command, text=None, environment=None):
    """What a program that ends by itself prints."""
    done = subprocess.run(
        [str(part) for part in command], input=text, capture_output=True, text=True, timeout=120, env=environment
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(done.args)} ended with exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def wait(what, look, wanted=True, seconds=60):
    """Looks until `wanted` is seen and returns how many seconds that took. `look` may fail on the way."""
    started = time.monotonic()
    while True:
        try:
            seen = look()
        except Exception as error:  # pylint: disable=broad-except
            seen = f"{type(error).__name__}: {error}"
        if seen == wanted:
            return time.monotonic() - started
        for process in ALL:
            if process.died():
                raise Failed(f"{process.name} ended by itself, with code {process.process.returncode}")
        if time.monotonic() - started > seconds:
            raise Failed(f"{what}: after {seconds} seconds {seen!r}, and not {wanted!r}")
        time.sleep(PAUSE)
