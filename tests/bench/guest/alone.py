"""Full speed without an application: rows a second of keysweep and of one unbounded DELETE."""

import json
import subprocess
import time

import data as database
from contenders import ONE_DELETE
from daemon import config, environment
from data import SHELL
from processes import Broken, start, stop

CONTENDERS = ("one-delete", "full-speed")


def run(name, data, bench):
    """One run, from exec to exit. A sweep that takes too long is cut short by a signal; its rate still counts."""
    folder = bench.work / "run"
    path = database.fresh_copy(data, bench.cache, folder)
    command = {"one-delete": one_delete, "full-speed": one_sweep}[name](path, folder, bench)
    seconds, cut, output = timed(command, bench.scale.longest_sweep)
    found = database.left(path, time.time(), lasting=data.rows - data.due)
    gone = data.due - found.due
    if gone == 0 or (found.due and not cut):
        raise Broken(f"{found.due} of {data.due} rows are left: {output[-2000:]}")
    database.remove(folder)
    figures = {"deleted": gone, "seconds": seconds, "cut": cut, "rate": gone / seconds}
    return figures | {"us_a_row": seconds / gone * 1e6, "data": data.name, "rows": data.rows, **batches(output)}


def one_delete(path, folder, bench):
    return [SHELL, "-bail", path, ONE_DELETE]


def one_sweep(path, folder, bench):
    file = folder / "keysweep.toml"
    file.write_text(config([path], defaults=bench.full_speed))
    return [bench.keysweep, "sweep", "--json", "--config", file, "--log-level", "warn"]


def timed(command, longest):
    """Seconds, whether it was cut short, and what it printed."""
    began = time.monotonic()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment()}
    process = start(command, **options)
    try:
        output, cut = process.communicate(timeout=longest)[0], False
    except subprocess.TimeoutExpired:
        process.terminate()
        output, cut = process.communicate()[0], True
    seconds = time.monotonic() - began
    stop(process)
    if process.returncode not in ((0, 1) if cut else (0,)):
        raise Broken(f"{command[0]} ended with {process.returncode}: {output[-2000:]}")
    return seconds, cut, output


def batches(output):
    """From the report of a sweep: how many transactions it took."""
    for line in output.splitlines():
        if line.startswith("{") and "batches" in (report := json.loads(line)):
            return {"batches": report["batches"]}
    return {}
