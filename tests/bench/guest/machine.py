"""What the figures were taken on."""

import os
import platform
import sqlite3
import subprocess
import time

from data import SHELL
from figures import percentile


def describe(folder, keysweep):
    """The machine, the disk below `folder`, and the versions of what ran. Each value is text."""
    sync = sync_milliseconds(folder)
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "load before": load(),
        "kernel": platform.release(),
        "file system": said(["findmnt", "-no", "FSTYPE,SOURCE,OPTIONS", "-T", folder]).splitlines()[-1],
        "sync of 4 KiB": f"median {percentile(sync, 0.5):.2f} ms, p99 {percentile(sync, 0.99):.2f} ms",
        "sqlite3 shell": said([SHELL, "--version"]).split()[0],
        "application": f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, synchronous = FULL",
        "keysweep": said([keysweep, "--version"]),
    }


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def said(command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False).stdout.strip()


def sync_milliseconds(folder, times=200):
    """How long the disk takes to have 4 KiB that are appended, as a commit does in WAL mode."""
    path, taken = folder / "sync", []
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    for _ in range(times):
        os.write(descriptor, bytes(4096))
        began = time.monotonic()
        os.fdatasync(descriptor)
        taken.append((time.monotonic() - began) * 1e3)
    os.close(descriptor)
    path.unlink()
    return taken


def load():
    """Processes that wanted to run, over the last 1, 5 and 15 minutes."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())
