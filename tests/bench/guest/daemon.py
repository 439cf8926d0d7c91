"""The daemon: its config, its life, and what its metrics say."""

import http.client
import os
import re
import socket
import time

from processes import Broken, start, stop, wait_for

LINE = re.compile(r"^(\w+)(?:\{.*\})? (\S+)$", re.MULTILINE)


def config(paths, port=None, defaults=""):
    """A config of `paths`; `defaults` is TOML for [defaults]. What is not said is keysweep's default."""
    listen = f"127.0.0.1:{port}" if port else ""
    blocks = [f'[[database]]\nname = "d{number}"\npath = "{path}"\n' for number, path in enumerate(paths)]
    return f'[http]\nlisten = "{listen}"\n\n[defaults]\n{defaults}\n\n' + "\n".join(blocks)


def environment():
    """Nothing of the caller's keysweep may leak into a run."""
    mine = ("KEYSWEEP", "STATE_DIRECTORY")
    return {name: value for name, value in os.environ.items() if not name.startswith(mine)}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Daemon:
    """`keysweep run` on `paths`. Its config and log lie in `folder`."""

    def __init__(self, keysweep, paths, folder, defaults=""):
        self.port = free_port()
        self.config = folder / "keysweep.toml"
        self.config.write_text(config(paths, self.port, defaults))
        self.log = folder / "keysweep.log"
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with open(self.log, "ab") as log:
            command = [keysweep, "run", "--config", self.config, "--log-level", "warn"]
            self.began = time.monotonic()
            self.process = start(command, stdout=log, stderr=log, env=environment())
        self.pid = self.process.pid

    def ready_after(self):
        """Seconds from exec to a 200 of /readyz."""
        wait_for(self.is_ready, "/readyz", every=0.0005)
        return time.monotonic() - self.began

    def is_ready(self):
        self.check_alive()
        try:
            return self.get("/readyz")[0] == 200
        except OSError:
            return False

    def check_alive(self):
        if self.process.poll() is not None:
            raise Broken(f"keysweep ended with {self.process.returncode}: {self.log.read_text()[-2000:]}")

    def get(self, path):
        try:
            self.connection.request("GET", path)
            answer = self.connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise OSError(f"GET {path}: {error}") from error

    def metrics(self):
        """Each metric summed over its labels."""
        sums = {}
        for name, value in LINE.findall(self.get("/metrics")[1]):
            sums[name] = sums.get(name, 0.0) + float(value)
        return sums

    def deleted(self):
        return self.metrics().get("keysweep_deleted_rows_total", 0.0)

    def wait_for_first_looks(self, databases, patience=300.0):
        """Until every database was swept and counted once."""

        def done():
            self.check_alive()
            text = self.get("/metrics")[1]
            counted = len(re.findall(r"^keysweep_census_timestamp_seconds\{.*\} [1-9]", text, re.MULTILINE))
            swept = len(re.findall(r"^keysweep_last_success_timestamp_seconds\{.*\} [1-9]", text, re.MULTILINE))
            return min(counted, swept) >= databases

        wait_for(done, "the first sweep and census of every database", patience, every=0.2)

    def stop(self):
        self.connection.close()
        stop(self.process)
