"""SVG by hand: lines and dots in panels, with logarithmic milliseconds upwards."""

import math
from html import escape

from contenders import LABELS
from figures import percentile

COLOURS = {
    "nothing": "#6b7280", "one-delete": "#c2410c", "tight-loop": "#b91c8c",
    "cron-loop": "#a16207", "keysweep": "#1d4ed8", "full-speed": "#0f9d8a",
}  # fmt: skip
WIDTH, LEFT, RIGHT = 860, 70, 210
# Dots across a panel.
MOMENTS = 400
# As far right as 1 in so many: 50 %, 90 %, 99 %, 99.9 %, 99.99 %.
SHARES = [(2, "50 %"), (10, "90 %"), (100, "99 %"), (1_000, "99.9 %"), (10_000, "99.99 %")]
STYLE = "text{font:12px sans-serif;fill:#1f2937}.title{font-size:15px;font-weight:bold}.quiet{fill:#6b7280}"


class Panel:
    """A plotting area with its own place on the page."""

    def __init__(self, top, height, across, upward):
        self.top, self.height = top, height
        self.across = across  # from a value to 0..1
        self.low, self.high = upward
        self.parts = []
        self.ticks_up()

    def x(self, value):
        return LEFT + self.across(value) * (WIDTH - LEFT - RIGHT)

    def y(self, milliseconds):
        share = math.log10(max(milliseconds, self.low) / self.low) / math.log10(self.high / self.low)
        return self.top + self.height * (1 - share)

    def ticks_up(self):
        decades = round(math.log10(self.high / self.low))
        apart = math.ceil(decades * 20 / self.height)  # a label needs 20 of height
        for decade in range(decades + 1):
            value = self.low * 10**decade
            y = self.y(value)
            self.parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e5e7eb"/>')
            if decade % apart == 0:
                self.text(LEFT - 6, y + 4, told(value), anchor="end", kind="quiet")

    def tick_across(self, value, label):
        x, bottom = self.x(value), self.top + self.height
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{bottom}" stroke="#f3f4f6"/>')
        self.text(x, bottom + 16, label, anchor="middle", kind="quiet")

    def text(self, x, y, words, anchor="start", kind="", colour=""):
        fill = f' style="fill:{colour}"' if colour else ""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{fill}'
        self.parts.append(f"<text {place}>{escape(words)}</text>")

    def line(self, points, colour):
        path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def dots(self, points, colour):
        circles = (f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="1.6"/>' for x, y in points)
        self.parts.append(f'<g fill="{colour}">{"".join(circles)}</g>')


def told(milliseconds):
    return f"{milliseconds:.3g} ms" if milliseconds < 1_000 else f"{milliseconds / 1_000:.3g} s"


def round_steps(end):
    """0, and some four to eight round numbers up to `end`."""
    step = 10.0 ** math.floor(math.log10(end))
    step *= 0.2 if end / step < 2 else 0.5 if end / step < 5 else 1
    return [number * step for number in range(int(end / step) + 1)]


def decades(values):
    """Powers of ten around all the values."""
    low = math.floor(math.log10(max(min(values), 1e-3)))
    high = math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def page(title, subtitle, height, panels):
    body = "".join("".join(panel.parts) for panel in panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="16" y="24" class="title">{escape(title)}</text>'
        f'<text x="16" y="42" class="quiet">{escape(subtitle)}</text>{body}</svg>\n'
    )


def percentiles(title, data, latencies):
    """A line a contender: how long the slowest 1 in 10, 100, 1,000 transactions took, in all rounds together."""
    lines = {name: percentile_points(values) for name, values in latencies.items() if values}
    upward = decades([y for points in lines.values() for _, y in points])
    panel = Panel(60, 320, lambda one_in: math.log10(one_in / 2) / math.log10(5_000), upward)
    for one_in, label in SHARES:
        panel.tick_across(one_in, label)
    for name, points in lines.items():
        panel.line(points, COLOURS[name])
    label_ends(panel, lines)
    return page(title, f"{data}. Latency that this share of the transactions did not exceed", 410, [panel])


def percentile_points(values):
    """As far as there are enough values to say so."""
    steps = [2 * 5_000 ** (step / 60) for step in range(61)]
    return [(one_in, percentile(values, 1 - 1 / one_in)) for one_in in steps if one_in <= len(values)]


def label_ends(panel, lines):
    """Names at the right, from the slowest down, none on top of another."""
    at = panel.top
    for name, points in sorted(lines.items(), key=lambda line: -line[1][-1][1]):
        at = max(panel.y(points[-1][1]) + 4, at + 16)
        panel.text(WIDTH - RIGHT + 8, at, LABELS[name], colour=COLOURS[name])


def over_time(title, data, courses):
    """A panel a contender, all on one scale: the slowest transaction of each moment."""
    courses = {name: points for name, points in courses.items() if points}
    end = max(points[-1][0] for points in courses.values())
    courses = {name: slowest(points, end / MOMENTS) for name, points in courses.items()}
    upward = decades([latency for points in courses.values() for _, latency in points])
    panels = []
    for number, (name, points) in enumerate(courses.items()):
        panel = Panel(64 + number * 120, 84, lambda seconds: seconds / end, upward)
        for seconds in round_steps(end):
            panel.tick_across(seconds, f"{seconds:g} s")
        panel.dots(points, COLOURS[name])
        panel.text(WIDTH - RIGHT + 8, panel.top + 14, LABELS[name], colour=COLOURS[name])
        panel.text(WIDTH - RIGHT + 8, panel.top + 30, f"done or stopped after {points[-1][0]:.1f} s", kind="quiet")
        panels.append(panel)
    return page(title, f"{data}. Slowest transaction of each moment, first round", 80 + 120 * len(panels), panels)


def slowest(points, moment):
    """The largest latency in each moment."""
    largest = {}
    for seconds, latency in points:
        place = min(int(seconds / moment), MOMENTS - 1)
        largest[place] = max(largest.get(place, 0.0), latency)
    return [(place * moment, latency) for place, latency in largest.items()]
