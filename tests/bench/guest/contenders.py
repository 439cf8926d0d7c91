"""The contenders: what an operator would run to delete expired rows, and keysweep.

Each has `start(course)`; what that returns is asked by `poll()` whether its work is done for good and ended
by `stop()`. `ends` says whether it ends by itself when nothing is left.
"""

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from daemon import Daemon
from data import SHELL
from processes import Broken, start, stop

BATCH = 100
EXPIRED = "status = 'done' AND expires <= unixepoch()"
ONE_DELETE = f"DELETE FROM keys WHERE {EXPIRED};"
SMALL_DELETE = f"DELETE FROM keys WHERE {EXPIRED} LIMIT {BATCH};"
# The shell's own default is not to wait, and then it fails beside any application.
PATIENT = ["-bail", "-cmd", ".timeout 60000"]


@dataclass(frozen=True)
class Course:
    """What a contender is set upon."""

    path: Path
    folder: Path
    due: int  # rows that are due at the start, in a backlog; 0 in steady state
    seconds: float
    cron_rows: int  # rows that come due between two rings of cron, in steady state
    keysweep: Path
    defaults: str  # TOML for keysweep's [defaults] in every run of it: "", except in the short form
    full_speed: str

    @property
    def is_steady(self):
        return self.due == 0


class Nothing:
    ends = False

    def __init__(self, course):
        pass

    def poll(self):
        return False

    def stop(self):
        pass


class OneDelete:
    """In a backlog at once; in steady state once, in the middle, when an interval's worth is due."""

    ends = True

    def __init__(self, course):
        self.course = course
        self.processes = []
        self.errors = open(course.folder / "contender.log", "w+b")
        self.at = time.monotonic() + (course.seconds / 2 if course.is_steady else 0)
        self.ends = not course.is_steady

    def begin(self):
        self.processes = [start([SHELL, *PATIENT, self.course.path, ONE_DELETE], stderr=self.errors)]

    def poll(self):
        if not self.processes and time.monotonic() >= self.at:
            self.begin()
        if not self.processes or self.processes[-1].poll() is None:
            return False
        if self.processes[-1].returncode != 0:
            self.errors.seek(0)
            raise Broken(f"the sqlite3 shell failed: {self.errors.read().decode()}")
        return self.ends

    def stop(self):
        for process in self.processes:
            stop(process)
        self.errors.close()


class CronLoop(OneDelete):
    """`yes 'DELETE ... LIMIT 100;' | head -n BATCHES | sqlite3 FILE`: as many as it takes, and one more."""

    def begin(self):
        rows = self.course.due or self.course.cron_rows
        self.pipe(["head", "-n", rows // BATCH + 1])

    def pipe(self, bound):
        feed = start(["yes", SMALL_DELETE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        bounded = start(bound, stdin=feed.stdout, stdout=subprocess.PIPE)
        command = [SHELL, *PATIENT, self.course.path]
        deleter = start(command, stdin=bounded.stdout, stdout=subprocess.DEVNULL, stderr=self.errors)
        feed.stdout.close()
        bounded.stdout.close()
        self.processes = [feed, bounded, deleter]


class TightLoop(CronLoop):
    """The same without a bound in steady state, from the start: it deletes whatever is due, all the time."""

    def __init__(self, course):
        super().__init__(course)
        self.at = 0.0

    def begin(self):
        if self.course.is_steady:
            self.pipe(["cat"])
        else:
            super().begin()


class Keysweep:
    """The daemon. In a backlog its work is done when it has counted as many rows as were due."""

    ends = False

    def __init__(self, course, defaults=""):
        self.due = course.due
        self.daemon = Daemon(course.keysweep, [course.path], course.folder, f"{course.defaults}\n{defaults}")
        self.ask_at = time.monotonic() + 0.2

    def poll(self):
        self.daemon.check_alive()
        if not self.due or time.monotonic() < self.ask_at:
            return False
        self.ask_at = time.monotonic() + 0.2
        return self.daemon.is_ready() and self.daemon.deleted() >= self.due

    def stop(self):
        self.daemon.stop()


@dataclass(frozen=True)
class Contender:
    name: str
    label: str
    start: object


ALL = [
    Contender("nothing", "nothing", Nothing),
    Contender("one-delete", "one unbounded DELETE", OneDelete),
    Contender("tight-loop", "tight loop, 100 rows", TightLoop),
    Contender("cron-loop", "the loop from cron", CronLoop),
    Contender("keysweep", "keysweep", Keysweep),
    Contender("full-speed", "keysweep, full speed", lambda course: Keysweep(course, course.full_speed)),
]
LABELS = {contender.name: contender.label for contender in ALL}
