"""Is keysweep a good guest? Measures it beside what else deletes rows, and the application that feels it.

    /usr/bin/python3 tests/bench/guest --short    a minute: does the benchmark work? Its figures say little
    /usr/bin/python3 tests/bench/guest            1,000,000 rows, five rounds
    /usr/bin/python3 tests/bench/guest --full     10,000,000 rows too, with and without the advised index, WAL and
                                                  rollback journal: many hours, so choose with the options

Needs Debian's sqlite3, and a quiet machine: what else runs is measured too. The report, plots and raw figures
go to target/bench. Exit status: 0 whatever the figures, 1 if a run broke, 2 if it cannot begin.
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import contenders
import data
import machine
import processes
import report
import scale as scales
from suite import SCENARIOS, Suite

ROOT = Path(__file__).resolve().parents[3]


def options():
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("guest", description=__doc__, formatter_class=as_written)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--short", action="store_true", help="about a minute, small data, one round")
    form.add_argument("--full", action="store_true", help="everything")
    names = [contender.name for contender in contenders.ALL]
    choice(parser, "--scenarios", SCENARIOS)
    choice(parser, "--contenders", names, "beside the application; `nothing` always runs")
    choice(parser, "--rows", None, "such as 1000000,10000000", int)
    choice(parser, "--keys", list(data.KEYS))
    choice(parser, "--index", ["yes", "no"])
    choice(parser, "--journal", ["wal", "delete"])
    parser.add_argument("--runs", type=int, help="rounds; in each every contender runs once")
    parser.add_argument("--rate", type=int, help="keys a second that the application reserves and finishes (200)")
    parser.add_argument("--disk", type=Path, help="a folder on the file system to measure (target/bench)")
    parser.add_argument("--keysweep", type=Path, help="the binary (target/release/keysweep, built if it is missing)")
    parser.add_argument("--full-speed", default="share = 1.0", help="TOML for [defaults] at full speed (%(default)s)")
    return parser.parse_args()


def choice(parser, flag, known, about="", kind=str):
    """A list with commas; an unknown word is refused."""

    def words(text):
        chosen = [kind(word) for word in text.split(",")]
        if known and (strange := set(chosen) - set(known)):
            raise argparse.ArgumentTypeError(f"no such choice: {', '.join(strange)}; there are {', '.join(known)}")
        return chosen

    listed = ",".join(known) if known else ""
    parser.add_argument(flag, type=words, metavar="A,B", help=f"{listed}{'; ' if listed and about else ''}{about}")


def chosen_scale(asked):
    scale = scales.SHORT if asked.short else scales.FULL if asked.full else scales.DEFAULT
    changes = {
        "rows": asked.rows,
        "idle_rows": asked.rows,
        "keys": asked.keys,
        "indexes": asked.index and [word == "yes" for word in asked.index],
        "journals": asked.journal,
        "runs": asked.runs,
        "rate": asked.rate,
    }
    return replace(scale, **{name: value for name, value in changes.items() if value})


def binary(asked):
    """A copy is measured, so that a build meanwhile changes nothing."""
    path = asked.keysweep or ROOT / "target/release/keysweep"
    if not asked.keysweep and not path.exists():
        subprocess.run(["cargo", "build", "--release", "--locked"], cwd=ROOT, check=True)
    if not path.is_file():
        cannot_begin(f"{path} is not there")
    return path


def cannot_begin(why):
    print(f"guest: {why}", file=sys.stderr)
    sys.exit(2)


def alone_in(folder):
    """Two benchmarks at once would measure each other. Also clears what one that was killed left behind."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = open(folder / "lock", "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        cannot_begin(f"another one runs in {folder}")
    for stale in folder.glob("work-*"):
        data.remove(stale)
    return lock


def begin(asked):
    if not Path(data.SHELL).exists():
        cannot_begin(f"{data.SHELL} is missing: apt-get install sqlite3")
    source, top = binary(asked), ROOT / "target/bench"
    out = top / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    disk = asked.disk / "keysweep-bench" if asked.disk else top
    lock = alone_in(disk)
    suite = Suite(chosen_scale(asked), asked, disk / "cache", disk / f"work-{out.name}", out)
    suite.work.mkdir(parents=True)
    suite.raw.mkdir(parents=True)
    shutil.copy2(source, suite.keysweep)
    return suite, lock


def end_on_signal(*_):
    """Once: a second signal must not disturb the cleaning up."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main():
    asked = options()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_on_signal)
    suite, _lock = begin(asked)
    about = machine.describe(suite.work, suite.keysweep) | {"command": " ".join(["guest", *sys.argv[1:]])}
    print(f"guest: {suite.minutes():.0f} minutes or more", file=sys.stderr)
    try:
        suite.run()
    except KeyboardInterrupt:
        suite.broken.append("interrupted: what follows is what there was by then")
    finally:
        processes.stop_all()
        data.remove(suite.work)
    about["load after"] = machine.load()
    results = {"about": about, "scale": vars(suite.scale), "runs": suite.runs, "broken": suite.broken}
    (suite.out / "results.json").write_text(json.dumps(results, indent=1))
    print(report.write(results, suite.out))
    sys.exit(1 if suite.broken else 0)


if __name__ == "__main__":
    main()
