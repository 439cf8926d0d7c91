"""The application: reserves and finishes keys at a fixed rate and records what each transaction took.

Run as a process of its own: application.py DATABASE RECORD KEYS_A_SECOND BUSY_TIMEOUT KIND_OF_KEY

It prints `ready` and goes on until SIGTERM. The loop is open: transaction n is due at start + n / rate,
whether or not the one before has ended, and its latency counts from then. So one long wait shows in all
the transactions that had to stand behind it, as it does to the callers of a service.
"""

import gc
import json
import os
import secrets
import signal
import sqlite3
import sys
import time
from array import array

RESERVE = "INSERT INTO keys VALUES (?1, ?2, 'pending', NULL, ?3) ON CONFLICT(id) DO NOTHING"
FINISH = (
    "UPDATE keys SET status = 'done', response = ?3 WHERE id = ?1 AND fingerprint = ?2 AND status = 'pending'"
)
# Later than any other row, so that a sweep has nothing to say of it.
EXPIRES = 4_050_000_000
# A sleep ends late by about this; the rest is waited for awake.
SLEEP_SHORT = 0.0003


class Application:
    def __init__(self, path, rate, busy_timeout, kind):
        self.database = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None)
        self.gap = 1.0 / (2 * rate)
        self.kind = kind
        self.end = float("inf")
        self.start = 0.0
        self.late, self.took = array("d"), array("d")
        self.errors = []
        self.reserved = 0
        self.key = ""

    def stop(self, *_):
        """Everything that was due before now is still done."""
        self.end = min(self.end, time.monotonic())

    def run(self):
        self.start, number = time.monotonic() + 0.1, 0
        while (due := self.start + number * self.gap) < self.end:
            wait_until(due)
            began = time.monotonic()
            self.one(number)
            self.took.append(time.monotonic() - began)
            self.late.append(began - due)
            number += 1

    def one(self, number):
        """The even ones reserve a key, the odd ones finish it: each a transaction, committed when it returns."""
        try:
            if number % 2 == 0:
                self.key = self.new_key(number)
                values = (self.key, self.key, EXPIRES + number * self.gap)
                self.reserved += self.database.execute(RESERVE, values).rowcount
            else:
                self.database.execute(FINISH, (self.key, self.key, '{"receipt":1}'))
        except sqlite3.OperationalError as error:
            self.errors.append({"transaction": number, "what": error.sqlite_errorname})

    def new_key(self, number):
        if self.kind == "time":
            return f"{0xF00000000000 + number:012x}{secrets.token_hex(10)}"
        return secrets.token_hex(16)

    def record(self):
        """Transaction n was due at start + n * gap (monotonic seconds), began late and took so many microseconds."""
        return {
            "start": self.start,
            "gap": self.gap,
            "late_us": [round(value * 1e6) for value in self.late],
            "took_us": [round(value * 1e6) for value in self.took],
            "errors": self.errors,
            "reserved": self.reserved,
        }


def wait_until(instant):
    if (rest := instant - time.monotonic()) > SLEEP_SHORT:
        time.sleep(rest - SLEEP_SHORT)
    while time.monotonic() < instant:
        pass


def main(path, record, rate, busy_timeout, kind):
    application = Application(path, float(rate), float(busy_timeout), kind)
    signal.signal(signal.SIGTERM, application.stop)
    gc.disable()
    print("ready", flush=True)
    application.run()
    application.database.close()
    with open(record + ".part", "w", encoding="utf-8") as file:
        json.dump(application.record(), file)
    os.rename(record + ".part", record)


if __name__ == "__main__":
    main(*sys.argv[1:])
