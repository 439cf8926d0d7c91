"""How large each form of the benchmark is."""

from dataclasses import dataclass
from itertools import product

from data import Data


@dataclass(frozen=True)
class Scale:
    rows: tuple
    keys: tuple
    indexes: tuple
    journals: tuple
    runs: int
    rate: int  # keys a second
    steady_seconds: float  # also the interval of cron
    backlog_seconds: float  # a contender that does not end by itself is stopped after this
    longest_sweep: float
    defaults: str  # keysweep's [defaults]; "" is keysweep's own
    idle_rows: tuple
    idle_seconds: float
    fleet: int
    fleet_seconds: float
    scrapes: int
    starts: int
    beside_all: bool  # the application runs beside every kind of data, not only the first

    def data(self):
        """Every kind of data, half of it expired."""
        kinds = product(self.rows, self.keys, self.indexes, self.journals)
        return [Data(*kind) for kind in kinds]

    def data_beside(self):
        return self.data() if self.beside_all else self.data()[:1]


SHORT = Scale(
    rows=(50_000,), keys=("random",), indexes=(True,), journals=("wal",), runs=1, rate=200,
    steady_seconds=3.0, backlog_seconds=2.0, longest_sweep=20.0, defaults='every = "1s"',
    idle_rows=(10_000,), idle_seconds=2.0, fleet=100, fleet_seconds=3.0, scrapes=50, starts=3, beside_all=False,
)  # fmt: skip
DEFAULT = Scale(
    rows=(1_000_000,), keys=("random", "time"), indexes=(True,), journals=("wal",), runs=5, rate=200,
    steady_seconds=60.0, backlog_seconds=60.0, longest_sweep=300.0, defaults="",
    idle_rows=(10_000, 1_000_000), idle_seconds=30.0, fleet=1_000, fleet_seconds=60.0, scrapes=300, starts=20,
    beside_all=False,
)  # fmt: skip
FULL = Scale(
    rows=(1_000_000, 10_000_000), keys=("random", "time"), indexes=(True, False), journals=("wal", "delete"),
    runs=5, rate=200, steady_seconds=60.0, backlog_seconds=60.0, longest_sweep=900.0, defaults="",
    idle_rows=(10_000, 1_000_000, 10_000_000), idle_seconds=30.0, fleet=1_000, fleet_seconds=60.0, scrapes=300,
    starts=20, beside_all=True,
)  # fmt: skip
