"""Which runs there are, in which order."""

import sys
from itertools import count

import alone
import beside
import footprint
from contenders import ALL
from processes import Broken, stop_all

BESIDE = {scenario.name: scenario for scenario in (beside.STEADY, beside.BACKLOG, beside.IMPATIENT)}
SCENARIOS = [*BESIDE, "alone", "idle", "fleet", "scrape-reads", "start", "binary"]


class Suite:
    """Runs what was asked for, in rounds, and keeps every figure. One run that breaks stops no other."""

    def __init__(self, scale, asked, cache, work, out):
        self.scale = scale
        self.scenarios = asked.scenarios or SCENARIOS
        self.contenders = [one for one in ALL if one.name in (asked.contenders or [one.name]) or one.name == "nothing"]
        self.full_speed = asked.full_speed
        self.cache, self.work, self.out, self.raw = cache, work, out, out / "raw"
        self.keysweep = work / "keysweep"
        self.runs, self.broken = [], []
        self.numbers = count(1)

    def number(self):
        return next(self.numbers)

    def minutes(self):
        """A guess from what has a fixed length; copies and deletions by others add to it."""
        scale, wanted = self.scale, set(self.scenarios)
        lengths = {"steady": scale.steady_seconds, "backlog": scale.backlog_seconds, "impatient": scale.backlog_seconds}
        overhead = 2 + max(scale.rows) / 200_000
        beside = sum(length + overhead for name, length in lengths.items() if name in wanted)
        beside *= len(self.contenders) * len(scale.data_beside())
        idle = len(scale.idle_rows) * (scale.idle_seconds + overhead) if "idle" in wanted else 0
        fleet = scale.fleet_seconds + scale.scrapes / 20 + scale.fleet / 50 if "fleet" in wanted else 0
        alone = len(scale.data()) * 4 * overhead if "alone" in wanted else 0
        return (beside + idle + fleet + alone) * scale.runs / 60

    def run(self):
        for data in self.scale.data_beside():
            for scenario in BESIDE.values():
                self.rounds(scenario.name, self.one_round_beside, scenario, data)
        self.rounds("alone", self.one_round_alone)
        self.rounds("idle", self.one_round_idle)
        self.rounds("fleet", lambda _: self.once("fleet", footprint.fleet))
        self.once("scrape-reads", footprint.scrape_reads)
        for _ in range(self.scale.starts if "start" in self.scenarios else 0):
            self.once("start", footprint.start_to_ready)
        self.once("binary", footprint.binary)

    def rounds(self, scenario, one_round, *arguments):
        for number in range(self.scale.runs if scenario in self.scenarios else 0):
            one_round(number, *arguments)

    def one_round_beside(self, number, scenario, data):
        """In turn; each round begins with another one, so that no drift favours anybody."""
        for contender in turned(self.contenders, number):
            self.keep(
                lambda: beside.run(scenario, contender, data, self),
                {"scenario": scenario.name, "contender": contender.name, "round": number, "data": data.name},
            )

    def one_round_alone(self, number):
        for data in self.scale.data():
            for name in turned(alone.CONTENDERS, number):
                about = {"scenario": "alone", "contender": name, "round": number, "data": data.name}
                self.keep(lambda: alone.run(name, data, self), about)

    def one_round_idle(self, number):
        for rows in self.scale.idle_rows:
            self.keep(lambda: footprint.idle_tick(rows, self), {"scenario": "idle", "round": number})

    def once(self, scenario, measure):
        if scenario in self.scenarios:
            self.keep(lambda: measure(self), {"scenario": scenario})

    def keep(self, measure, about):
        label = " · ".join(str(value) for value in about.values())
        print(label, end=" ... ", file=sys.stderr, flush=True)
        try:
            self.runs.append(measure() | about)
            print("done", file=sys.stderr)
        except (Broken, OSError) as error:
            self.broken.append(f"{label}: {error}")
            print(f"broke: {error}", file=sys.stderr)
        finally:
            stop_all()


def turned(several, by):
    by %= len(several)
    return [*several[by:], *several[:by]]
