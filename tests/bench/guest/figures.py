"""Numbers from many numbers."""

from statistics import median


def percentile(values, share):
    """Nearest rank: a value that was measured. `share` from 0 to 1."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Figure:
    """One figure of several runs."""

    def __init__(self, values):
        self.values = [value for value in values if value is not None]

    def __bool__(self):
        return bool(self.values)

    @property
    def median(self):
        return median(self.values)

    def text(self, form="{:.2f}"):
        """The median, and in brackets the least and the most."""
        if not self:
            return "not measured"
        low, high = min(self.values), max(self.values)
        shown = form.format(self.median)
        return shown if len(self.values) == 1 else f"{shown} ({form.format(low)} to {form.format(high)})"


def of(runs, key, **wanted):
    """The figure `key` of those runs that did not break and match all that is wanted."""
    return Figure([run[key] for run in matching(runs, **wanted) if key in run])


def matching(runs, **wanted):
    return [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]


def ratio(runs, key, over, by=("data", "round"), **wanted):
    """`key` of the runs wanted over the same of the contender `over` in the same round."""
    values = []
    for run in matching(runs, **wanted):
        same = {name: run[name] for name in by}
        base = matching(runs, **{**wanted, **same, "contender": over})
        if key in run and base and base[0].get(key):
            values.append(run[key] / base[0][key])
    return Figure(values)
