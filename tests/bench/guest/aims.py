"""The aims, and what was measured for each."""

from dataclasses import dataclass, replace

from figures import Figure, matching, of, ratio

OURS = "keysweep"
# Milliseconds at p99. A quiet machine with a solid-state disk has a few.
SLOW_ALONE = 50


@dataclass(frozen=True)
class Line:
    figure: str
    aim: str
    measured: str
    met: str  # yes or no; "" where no aim was set or nothing was measured; "void" on an overloaded machine


def line(figure, aim, value, form="{:.2f}", most=None, least=None):
    """A line whose median must be `most` at most, or `least` at least."""
    met = ""
    if value and most is not None:
        met = "yes" if value.median <= most else "no"
    if value and least is not None:
        met = "yes" if value.median >= least else "no"
    return Line(figure, aim, value.text(form), met)


def lines(runs):
    """All of them, in the order of the aims."""
    beside = unique(run["data"] for run in runs if run["scenario"] in ("steady", "backlog", "impatient"))
    found = []
    for data in beside:
        found += application(runs, data)
    for data in unique(run["data"] for run in matching(runs, scenario="alone")):
        found.append(full_speed(runs, data))
    return [*found, *growth(runs), *idle(runs), *fleet(runs), *small(runs)]


def unique(values):
    return list(dict.fromkeys(values))


def overloaded(runs, scenario, data):
    """Whether the application is slow even alone: then the disk, or what else runs, is what is measured."""
    alone = of(runs, "p99", scenario=scenario, data=data, contender="nothing")
    return bool(alone) and alone.median > SLOW_ALONE


def application(runs, data):
    """What the application feels; void where it is slow alone."""
    found = application_lines(runs, data)
    if not any(overloaded(runs, scenario, data) for scenario in ("steady", "backlog", "impatient")):
        return found
    return [replace(one, met="void" if one.met else "") for one in found]


def application_lines(runs, data):
    steady, backlog = ({"scenario": name, "data": data, "contender": OURS} for name in ("steady", "backlog"))
    over_alone, loop = (ratio(runs, "p99", other, **backlog) for other in ("nothing", "tight-loop"))
    both = Figure(of(runs, "longest_single", **steady).values + of(runs, "longest_single", **backlog).values)
    errors = of(runs, "errors", data=data, contender=OURS)
    total = Figure([sum(errors.values)] if errors else [])
    felt, kept_up = ratio(runs, "p99", "nothing", **steady), of(runs, "kept_up", **steady)
    found = [
        line("p99 in steady state over p99 alone", "1.5 or less", felt, most=1.5),
        line("rows deleted over rows that came due meanwhile", "it keeps up: 0.9 or more", kept_up, least=0.9),
        line("p99 during a backlog over p99 alone", "3 or less", over_alone, most=3),
        line("the same over p99 beside the tight loop", "a third or less", loop, most=1 / 3),
        line("rows a second during that backlog", "shown", of(runs, "rate", **backlog), "{:,.0f}"),
        worst("longest wait of one transaction, ms", both, 30),
        line("application errors in all runs, busy_timeout 5 s and 0.1 s", "0", total, "{:.0f}", most=0),
    ]
    return [replace(one, figure=f"{one.figure}; {data}") for one in found]


def worst(figure, value, bound):
    """Here the worst run counts, not the median."""
    met = ("yes" if max(value.values) < bound else "no") if value else ""
    return Line(figure, f"under {bound} in every run", value.text("{:.1f}"), met)


def full_speed(runs, data):
    least, aim = (0.5, "0.5 or more (random keys)") if "random" in data else (0.7, "0.7 or more")
    value = ratio(runs, "rate", "one-delete", scenario="alone", contender="full-speed", data=data)
    return line(f"rows a second at full speed over one unbounded DELETE; {data}", aim, value, least=least)


def growth(runs):
    """What a row costs in 10,000,000 over what it costs in 1,000,000, for data alike in all else."""
    ours = matching(runs, scenario="alone", contender="full-speed")
    kinds = unique(run["data"].partition(" rows, ")[2] for run in ours if run["rows"] == 10_000_000)
    found = []
    for kind in kinds:
        large, small = (of(ours, "us_a_row", data=f"{rows:,} rows, {kind}") for rows in (10_000_000, 1_000_000))
        value = Figure([large.median / small.median] if large and small else [])
        found.append(line(f"cost of a row at 10,000,000 over 1,000,000; {kind}", "1.2 or less", value, most=1.2))
    return found or [line("cost of a row at 10,000,000 over 1,000,000", "1.2 or less", Figure([]))]


def idle(runs):
    ticks = matching(runs, scenario="idle")
    title = "CPU of a tick with nothing to do, ms"
    return [
        line(f"{title}; {rows:,} rows", "under 1", of(ticks, "cpu_ms", rows=rows), "{:.3f}", most=1)
        for rows in unique(run["rows"] for run in ticks)
    ]


def fleet(runs):
    many = matching(runs, scenario="fleet")
    if not many:
        return []
    title = f"{many[0]['databases']:,} databases"
    reads = of(runs, "reads", scenario="scrape-reads")
    sql = many[0]["databases"]
    return [
        line(f"{title}: resident, MiB, the most", "under 40", of(many, "resident_mb"), "{:.1f}", most=40),
        line(f"{title}: share of one core, %", "under 2", of(many, "cpu_percent"), most=2),
        line(f"{title}: threads, the most", "16 or fewer", of(many, "threads"), "{:.0f}", most=16),
        line(f"{title}: open files beside the listener, the most", "64 or fewer", of(many, "files"), "{:.0f}", most=64),
        line(f"{title}: p99 of a scrape, ms", "under 20", of(many, "scrape_p99"), most=20),
        line(f"{title}: file reads a scrape (SQL: one a database at least)", "no SQL", reads, "{:.1f}", most=sql / 2),
    ]


def small(runs):
    return [
        line("start to ready, ms", "under 50", of(runs, "ready_ms"), "{:.1f}", most=50),
        line("binary, stripped, MB", "under 10", of(runs, "binary_mb"), most=10),
    ]
