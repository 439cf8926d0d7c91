"""What keysweep itself costs: a tick with nothing to do, a thousand databases, a scrape, a start, a binary."""

import shutil
import subprocess
import time

import data as database
from daemon import Daemon
from data import Data
from figures import percentile
from processes import cpu_seconds, open_files, reads, status_number, wait_for

LITTLE = Data(1_000, half_expired=False)


def idle_tick(rows, bench):
    """CPU of a tick with nothing due, from the daemon's CPU time over many ticks.

    It ticks every 100 ms, or as fast as it can, and no tick is cut short by its budget.
    """
    folder = bench.work / "idle"
    data = Data(rows, half_expired=False)
    path = database.fresh_copy(data, bench.cache, folder)
    daemon = Daemon(bench.keysweep, [path], folder, 'every = "100ms"\nbudget = "60s"\ncensus = "24h"')
    try:
        daemon.ready_after()
        daemon.wait_for_first_looks(1)
        ticks, cpu = next_tick(daemon), cpu_seconds(daemon.pid)
        time.sleep(bench.scale.idle_seconds)
        ticks, cpu = next_tick(daemon) - ticks, cpu_seconds(daemon.pid) - cpu
    finally:
        daemon.stop()
    database.remove(folder)
    return {"rows": rows, "data": data.name, "ticks": ticks, "cpu_ms": cpu * 1e3 / ticks}


def next_tick(daemon):
    """Wait for the end of a tick; returns how many there have been. Asks seldom, as an answer costs CPU too."""

    def ticks():
        return daemon.metrics()["keysweep_sweeps_total"]

    before = ticks()
    return wait_for(lambda: now if (now := ticks()) > before else None, "the end of a tick", 300, every=0.05)


def little_to_do(bench):
    """Many small databases; in each a row comes due every minute, the first one soon."""
    folder = bench.work / "fleet"
    first = database.fresh_copy(LITTLE, bench.cache, folder)
    database.expire_one_by_one(first, LITTLE.rows // 2, time.time() - 50, 1 / 60)
    paths = [folder / f"tenant-{number}.db" for number in range(bench.scale.fleet)]
    for path in paths:
        shutil.copyfile(first, path)
        database.settle(path)
    return paths


def fleet(bench):
    """A minute of many databases, then scrapes while it goes on."""
    scale, paths = bench.scale, little_to_do(bench)
    daemon = Daemon(bench.keysweep, paths, bench.work / "fleet", scale.defaults)
    try:
        daemon.ready_after()
        daemon.wait_for_first_looks(len(paths))
        figures = watched(daemon, scale.fleet_seconds)
        return figures | {"databases": len(paths)} | scraped(daemon, scale.scrapes)
    finally:
        daemon.stop()
        database.remove(bench.work / "fleet")


def watched(daemon, seconds):
    """The most of what /proc shows, looked at ten times a second; files without the listener."""
    cpu, began = cpu_seconds(daemon.pid), time.monotonic()
    deleted, threads, files, resident = daemon.deleted(), [], [], []
    while time.monotonic() < began + seconds:
        threads.append(status_number(daemon.pid, "Threads"))
        files.append(open_files(daemon.pid) - 1)
        resident.append(status_number(daemon.pid, "VmRSS") / 1024)
        time.sleep(0.1)
    share = (cpu_seconds(daemon.pid) - cpu) / (time.monotonic() - began)
    return {
        "cpu_percent": share * 100,
        "threads": max(threads),
        "files": max(files),
        "resident_mb": max(resident),
        "peak_mb": status_number(daemon.pid, "VmHWM") / 1024,
        "deleted": daemon.deleted() - deleted,
    }


def scraped(daemon, scrapes):
    """Latency of GET /metrics on one connection, twenty a second."""
    latencies, size = [], 0
    for _ in range(scrapes):
        began = time.monotonic()
        size = len(daemon.get("/metrics")[1])
        latencies.append((time.monotonic() - began) * 1e3)
        time.sleep(0.05)
    names = {"scrape_p50": 0.5, "scrape_p99": 0.99, "scrape_longest": 1.0}
    return {"scrape_bytes": size} | {name: percentile(latencies, share) for name, share in names.items()}


def scrape_reads(bench):
    """Calls of read a scrape, while no tick and no census is due. SQL would be at least one a database."""
    paths = little_to_do(bench)
    daemon = Daemon(bench.keysweep, paths, bench.work / "fleet", 'every = "24h"\ncensus = "24h"')
    try:
        daemon.ready_after()
        daemon.wait_for_first_looks(len(paths))
        time.sleep(1.0)
        before = reads(daemon.pid)
        for _ in range(bench.scale.scrapes):
            daemon.get("/metrics")
        return {"reads": (reads(daemon.pid) - before) / bench.scale.scrapes, "databases": len(paths)}
    finally:
        daemon.stop()
        database.remove(bench.work / "fleet")


def start_to_ready(bench):
    """Milliseconds from exec to the first 200 of /readyz, on one database."""
    folder = bench.work / "start"
    path = database.fresh_copy(LITTLE, bench.cache, folder)
    daemon = Daemon(bench.keysweep, [path], folder)
    try:
        return {"ready_ms": daemon.ready_after() * 1e3}
    finally:
        daemon.stop()
        database.remove(folder)


def binary(bench):
    """Megabytes (10^6) of the binary, stripped where `strip` is installed."""
    copy = bench.work / "stripped"
    shutil.copyfile(bench.keysweep, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", copy], check=True)
    size = copy.stat().st_size / 1e6
    copy.unlink()
    return {"binary_mb": size}
