"""Databases: built once by the sqlite3 shell into a cache, copied for each run."""

import os
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path

from processes import Broken

SHELL = "/usr/bin/sqlite3"
TABLE = (
    "CREATE TABLE keys(id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, status TEXT NOT NULL, "
    "response TEXT, expires REAL NOT NULL);"
)
ADVISED_INDEX = "CREATE INDEX keys_due ON keys(expires) WHERE status = 'done';"
# Rows go in by age, as an application writes them: the expired ones are the oldest.
LONG_AGO = 1_600_000_000
LIVE = 4_000_000_000
# The last hundredth of the rows is pending.
ROWS = """
INSERT INTO keys
SELECT {key}, printf('fingerprint-%d', value),
       CASE WHEN value > {rows} - {rows} / 100 THEN 'pending' ELSE 'done' END,
       CASE WHEN value > {rows} - {rows} / 100 THEN NULL ELSE printf('{{"receipt":%d}}', value) END,
       CASE WHEN value <= {due} THEN {long_ago} ELSE {live} END + value * 0.001
FROM generate_series(1, {rows});
"""
KEYS = {"random": "lower(hex(randomblob(16)))", "time": "printf('%012x', value * 5) || lower(hex(randomblob(10)))"}


@dataclass(frozen=True)
class Data:
    """What a database looks like; half of `rows` is expired, or none."""

    rows: int
    keys: str = "random"
    index: bool = True
    journal: str = "wal"
    half_expired: bool = True

    @property
    def due(self):
        return self.rows // 2 if self.half_expired else 0

    @property
    def name(self):
        index = "index" if self.index else "no index"
        return f"{self.rows:,} rows, {self.keys} keys, {index}, {self.journal}"

    @property
    def file(self):
        due = "half" if self.half_expired else "none"
        return f"{self.rows}-{self.keys}-{due}-{'index' if self.index else 'bare'}.db"


def shell(path, sql):
    """Run SQL in the sqlite3 shell; no journal and no syncs, for data that can be built again."""
    pragmas = "PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -1000000;"
    done = subprocess.run([SHELL, "-bail", path], input=pragmas + sql, text=True, capture_output=True)
    if done.returncode != 0:
        raise Broken(f"{SHELL} {path}: {done.stderr.strip()}")


def cached(data, folder):
    """The database in the cache, built when it is not there. Never opened by a contender."""
    path = folder / data.file
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    if data.index:
        bare = Data(data.rows, data.keys, False, data.journal, data.half_expired)
        shutil.copyfile(cached(bare, folder), unfinished)
        shell(unfinished, ADVISED_INDEX)
    else:
        key = KEYS[data.keys]
        rows = ROWS.format(key=key, rows=data.rows, due=data.due, long_ago=LONG_AGO, live=LIVE)
        shell(unfinished, TABLE + "BEGIN;" + rows + "COMMIT;")
    unfinished.rename(path)
    return path


def fresh_copy(data, cache, folder):
    """A copy for one run, on the disk before it is measured, so that no writeback runs beside it."""
    remove(folder)
    folder.mkdir(parents=True)
    path = folder / "app.db"
    shutil.copyfile(cached(data, cache), path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {data.journal}")
    connection.close()
    settle(path)
    return path


def expire_one_by_one(path, rows, from_time, rate):
    """Let the oldest `rows` expire at `rate` a second, the first 1 / `rate` after `from_time`."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE keys SET expires = ? + rowid / ? WHERE rowid <= ?", (from_time, float(rate), rows))
    connection.close()  # the last to close: the WAL goes into the file
    settle(path)


def settle(path):
    """Wait until the disk has it all."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def remove(folder: Path):
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Left:
    """What a run left behind: all rows, those that are due, and those that are not due for decades."""

    rows: int
    due: int
    lasting: int


def left(path, now, lasting):
    """Look at a database after a run, of which `lasting` rows must be there whatever was deleted."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    counts = "SELECT count(*), total(status = 'done' AND expires <= ?1), total(expires >= ?2) FROM keys"
    found = Left(*map(int, connection.execute(counts, (now, LIVE)).fetchone()))
    sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    connection.close()
    if sound != "ok":
        raise Broken(f"{path} is corrupt after the run: {sound}")
    if found.lasting != lasting:
        raise Broken(f"{found.lasting} rows are not due for decades where {lasting} should be")
    return found
