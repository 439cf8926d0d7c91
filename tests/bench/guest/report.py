"""The report: Markdown tables and two kinds of plots."""

import json

import aims
import plots
from beside import in_window
from contenders import ALL, LABELS
from figures import matching, of, ratio

TITLES = {
    "steady": "Steady state: as many rows expire as the application writes",
    "backlog": "Backlog: half of the rows is due at once",
    "impatient": "The same backlog, the application's busy_timeout at 0.1 s",
}


def write(results, out):
    """Write report.md and the plots into `out`; returns the text of the report."""
    runs = results["runs"]
    parts = [heading(results), aims_table(runs)]
    for scenario in TITLES:
        for data in aims.unique(run["data"] for run in matching(runs, scenario=scenario)):
            parts.append(beside_table(runs, scenario, data))
            parts += [f"![]({name})" for name in draw(runs, scenario, data, out)]
    parts.append(alone_table(runs))
    text = "\n\n".join(part for part in parts if part) + "\n"
    (out / "report.md").write_text(text)
    return text


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def heading(results):
    scale = results["scale"]
    said = [f"- {name}: {value}" for name, value in results["about"].items()]
    said.append(f"- rounds: {scale['runs']}; the application reserves and finishes {scale['rate']} keys a second")
    if scale["defaults"]:
        small = f"small data, little time, keysweep with `{scale['defaults']}`"
        said.append(f"- **short form**: {small}: these figures prove nothing")
    broken = [f"- **broke:** {what}" for what in results["broken"]]
    return "# A good guest\n\n" + "\n".join(said + broken)


def aims_table(runs):
    rows = [[line.figure, line.aim, line.measured, line.met] for line in aims.lines(runs)]
    said = "Median of the rounds, in brackets the least and the most."
    return f"{said}\n\n{table(['figure', 'aim', 'measured', 'met'], rows)}"


def beside_table(runs, scenario, data):
    """Contender by contender. A latency counts from when the transaction was due."""
    rows = []
    for contender in aims.unique(run["contender"] for run in matching(runs, scenario=scenario)):
        which = {"scenario": scenario, "data": data, "contender": contender}
        rows.append([
            LABELS[contender],
            *(of(runs, key, **which).text() for key in ("p50", "p99", "p999", "longest", "longest_single")),
            ratio(runs, "p99", "nothing", **which).text(),
            of(runs, "errors", **which).text("{:.0f}"),
            *(of(runs, key, **which).text("{:,.0f}") for key in ("rate", "deleted", "left_due")),
            of(runs, "window", **which).text("{:.1f}"),
        ])  # fmt: skip
    order = {contender.label: place for place, contender in enumerate(ALL)}
    rows.sort(key=lambda row: order[row[0]])
    head = ["contender", "p50, ms", "p99, ms", "p99.9, ms", "longest, ms", "longest transaction, ms", "p99 over alone"]
    head += ["errors", "rows a second", "deleted", "left due", "window, s"]
    return f"## {TITLES[scenario]}\n\n{data}\n\n{table(head, rows)}" + warning(runs, scenario, data)


def warning(runs, scenario, data):
    """An application that is slow alone makes every figure beside it worthless."""
    if not aims.overloaded(runs, scenario, data):
        return ""
    said = f"Alone, the application's p99 is above {aims.SLOW_ALONE} ms, so these figures say nothing: "
    said += "the machine is busy, or the disk too slow for this `--rate`."
    return f"\n\n**{said}**"


def alone_table(runs):
    rows = []
    for data in aims.unique(run["data"] for run in matching(runs, scenario="alone")):
        for contender in ("one-delete", "full-speed"):
            which = {"scenario": "alone", "data": data, "contender": contender}
            cut = sum(of(runs, "cut", **which).values)
            rows.append([
                data, LABELS[contender], *(of(runs, key, **which).text("{:,.0f}") for key in ("rate", "deleted")),
                of(runs, "us_a_row", **which).text(), of(runs, "seconds", **which).text(), str(cut or ""),
            ])  # fmt: skip
    head = ["data", "contender", "rows a second", "deleted", "us a row", "s, exec to exit", "runs cut short"]
    return "## Full speed, without an application\n\n" + table(head, rows) if rows else ""


def draw(runs, scenario, data, out):
    """Latency percentiles of all contenders over all rounds, and latency over time in the first round."""
    latencies, courses = {}, {}
    for contender in ALL:
        for run in matching(runs, scenario=scenario, data=data, contender=contender.name):
            points = read(out / "raw" / run["record"])
            latencies.setdefault(contender.name, []).extend(latency for _, latency in points)
            courses.setdefault(contender.name, points)
    name = f"{scenario}-{data.replace(',', '').replace(' ', '-')}"
    drawn = {f"{name}-percentiles.svg": plots.percentiles(TITLES[scenario], data, latencies)}
    if scenario == "backlog":
        drawn[f"{name}-over-time.svg"] = plots.over_time(TITLES[scenario], data, courses)
    for file, svg in drawn.items():
        (out / file).write_text(svg)
    return list(drawn)


def read(record):
    """Each transaction that was due in the window: seconds since it began, latency in ms."""
    raw = json.loads(record.read_text())
    return [(due, late + took) for due, late, took in in_window(raw, raw["window"])]
