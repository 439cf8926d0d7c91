"""Scenarios beside the application: each contender in turn, on a fresh copy, while it writes.

Latencies count in the window from the contender's start to its end, so that a short blow is not thinned by
the quiet that follows.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import data as database
from contenders import Course
from figures import percentile
from processes import Broken, start, stop

LEAD = 1.0
# A contender that ends by itself may take longer than the window.
LONGEST = 900.0


@dataclass(frozen=True)
class Scenario:
    name: str
    steady: bool
    busy_timeout: float


STEADY = Scenario("steady", True, 5.0)
BACKLOG = Scenario("backlog", False, 5.0)
IMPATIENT = Scenario("impatient", False, 0.1)


def run(scenario, contender, data, bench):
    """One run; returns its figures."""
    if scenario.steady:
        data = database.Data(data.rows, data.keys, data.index, data.journal, half_expired=False)
    folder = bench.work / "run"
    path = database.fresh_copy(data, bench.cache, folder)
    scale = bench.scale
    seconds = scale.steady_seconds if scenario.steady else scale.backlog_seconds
    expiring = let_expire(path, scale, seconds) if scenario.steady else 0
    course = Course(
        path, folder, data.due, seconds, int(seconds * scale.rate), bench.keysweep, scale.defaults, bench.full_speed
    )
    record = bench.raw / f"{scenario.name}-{bench.number()}-{contender.name}.json"
    began, ended, worked = race(contender, course, scenario, data, bench, record)
    figures = measured(record, began, ended)
    figures |= deleted(path, data, expiring, figures["reserved"], worked)
    if scenario.steady:
        figures["kept_up"] = figures["rate"] / scale.rate
    figures |= {"record": record.name, "rows": data.rows, "window": ended - began}
    database.remove(folder)
    return figures


def let_expire(path, scale, seconds):
    """Half an interval of cron is due at the start, the rest comes due one by one until well after the end."""
    head = seconds / 2
    rows = int((seconds + head + 30) * scale.rate)
    database.expire_one_by_one(path, rows, time.time() + LEAD - head, scale.rate)
    return rows


def race(contender, course, scenario, data, bench, record):
    """The application begins alone, then the contender starts. Returns what `window` does."""
    command = [sys.executable, Path(__file__).with_name("application.py")]
    settings = [course.path, record, bench.scale.rate, scenario.busy_timeout, data.keys]
    application = start([*command, *settings], stdout=subprocess.PIPE, text=True)
    try:
        if application.stdout.readline() != "ready\n":
            raise Broken("the application did not start")
        time.sleep(LEAD)
        return window(contender, course, application)
    finally:
        stop(application)
        application.stdout.close()


def window(contender, course, application):
    """Beginning and end of the window, in monotonic seconds, and for how long the contender worked."""
    began = time.monotonic()
    running = contender.start(course)
    try:
        limit, done = LONGEST if running.ends else course.seconds, False
        while time.monotonic() < began + limit and not (done := running.poll()):
            if application.poll() is not None:
                raise Broken("the application ended too early")
            time.sleep(0.02)
        ended = time.monotonic()
        # What was due in the window is still done, with the contender beside it.
        stop(application, patience=120.0)
        return began, ended, (ended if done else time.monotonic()) - began
    finally:
        running.stop()


def measured(record, began, ended):
    """The application's figures in the window, in milliseconds."""
    if not record.exists():
        raise Broken("the application left no record: it did not get through what was due within two minutes")
    raw = json.loads(record.read_text())
    record.write_text(json.dumps(raw | {"window": [began, ended]}))
    inside = list(in_window(raw, (began, ended)))
    if not inside:
        raise Broken("no transaction was due in the window")
    latencies = [late + took for _, late, took in inside]
    shares = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
    figures = {name: percentile(latencies, share) for name, share in shares.items()}
    return figures | {
        "longest": max(latencies),
        "longest_single": max(took for _, _, took in inside),
        "transactions": len(latencies),
        "errors": len(raw["errors"]),
        "reserved": raw["reserved"],
    }


def in_window(raw, window):
    """Of each transaction that was due in it: when (seconds from its beginning), ms late, ms taken."""
    began, ended = window
    for number, (late, took) in enumerate(zip(raw["late_us"], raw["took_us"], strict=True)):
        due = raw["start"] + number * raw["gap"]
        if began <= due <= ended:
            yield due - began, late / 1e3, took / 1e3


def deleted(path, data, expiring, reserved, seconds):
    """What the contender took, and that it took nothing that must stay."""
    found = database.left(path, time.time(), lasting=data.rows - data.due - expiring + reserved)
    gone = data.rows + reserved - found.rows
    return {"deleted": gone, "left_due": found.due, "seconds": seconds, "rate": gone / seconds}
