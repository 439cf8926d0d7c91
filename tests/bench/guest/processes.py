"""Starts processes and leaves none behind; reads what /proc says of one."""

import os
import signal
import subprocess
import time
from pathlib import Path

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# A child dies with the benchmark, even when that is killed outright. From util-linux, which every Debian has.
GUARD = ["setpriv", "--pdeathsig", "KILL", "--"]
children = []


class Broken(Exception):
    """A run that shows nothing, because something did not work: what, and what it said."""


def start(command, **options):
    """Start a process in a session of its own: Ctrl-C reaches the benchmark, which ends its children in order."""
    child = subprocess.Popen([*GUARD, *map(str, command)], start_new_session=True, **options)
    children.append(child)
    return child


def stop(child, patience=15.0):
    """Ask a process to end, and kill it when it does not."""
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child in children:
        children.remove(child)


def stop_all():
    for child in list(children):
        stop(child, patience=2.0)


def wait_for(condition, what, patience=30.0, every=0.02):
    """Wait until `condition()` is true, and return what it returned."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(every)
    raise Broken(f"{what}: not within {patience:.0f} s")


def cpu_seconds(pid):
    """User and system time of all threads, in steps of a clock tick (10 ms)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def status_number(pid, field):
    """A number in /proc/PID/status: `Threads`, or `VmRSS` and `VmHWM` in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise Broken(f"/proc/{pid}/status has no {field}")


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def reads(pid):
    """Calls of read and pread since the start. Sockets do not count; files do, from the page cache too."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("syscr:"):
            return int(line.split()[1])
    raise Broken(f"/proc/{pid}/io has no syscr")
