"""What a sitting says, as tables for people and as JSON for programs."""

import dataclasses
import datetime
import os
import platform
import statistics

import health
import measurements


class Series:
    """The values of one figure, one a pair."""

    def __init__(self, values):
        self.values = values
        self.median = statistics.median(values)
        self.least = min(values)
        self.most = max(values)

    def as_json(self):
        return {"median": self.median, "min": self.least, "max": self.most}


class Report:
    def __init__(self, results, database, steps, versions, judged):
        self.results = results  # measurement → name → runs
        self.database = database
        self.steps = steps
        self.versions = versions
        self.judged = judged  # whether the bounds are meant for a database of this size
        self.date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()

    # What the lines come to

    def series(self, term):
        runs = self.results.get(term.measurement, {}).get(term.name, [])
        return Series([getattr(run, term.figure) for run in runs]) if runs else None

    def line(self, line):
        """The line's value with its spread, or None when a part was not measured."""
        value = self.series(line.term)
        if line.against is None or value is None:
            return value
        against = self.series(line.against)
        if against is None:
            return None
        if line.term.measurement == line.against.measurement:
            pairs = list(zip(value.values, against.values))
            return Series([a / b for a, b in pairs]) if all(b for _, b in pairs) else None
        if not against.median:
            return None
        return Series([value / against.median for value in value.values])

    def verdicts(self):
        """Every line with its value and whether its bound is met; None where there is none."""
        for line in measurements.LINES:
            value = self.line(line)
            if value is not None:
                met = None
                if self.judged and line.bound is not None:
                    met = value.median <= line.bound
                yield line, value, met

    def shape(self):
        """What the application's steps wrote, a commit and a day."""
        commits = sum(step["commits"] for step in self.steps)
        asked = sum(step["asked"] for step in self.steps)
        if not commits:
            return None
        frames = sum(step["frames"] for step in self.steps) / commits
        grown = sum(step["grown"] for step in self.steps) / asked
        return {
            "pages_a_commit": frames,
            "wal_bytes_a_day": frames * health.FLUSHES_A_DAY * (health.PAGE_SIZE + 24),
            "growth_bytes_a_day": grown * health.FLUSHES_A_DAY * health.PAGE_SIZE,
        }

    # For programs

    def as_json(self):
        return {
            "date": self.date,
            "machine": machine(),
            "versions": self.versions,
            "database": self.database,
            "shape": self.shape(),
            "measurements": {
                measurement: {
                    name: [dataclasses.asdict(run) for run in runs] for name, runs in names.items()
                }
                for measurement, names in self.results.items()
            },
            "lines": [
                {"title": line.title, "bound": line.bound, "met": met} | value.as_json()
                for line, value, met in self.verdicts()
            ],
        }

    # For people

    def as_markdown(self):
        """The whole report; its tables are aligned, so that it reads well unrendered too."""
        parts = ["# Benchmarks", self.introduction(), "## Bounds", self.bounds()]
        for measurement, title in measurements.MEASUREMENTS.items():
            if measurement in self.results:
                parts += [f"## {title}", self.table(self.results[measurement])]
        return "\n\n".join(parts) + "\n"

    def introduction(self):
        database, host = self.database, machine()
        lines = [
            "Whole processes, run in turn (A B A B …) on one machine in one sitting: medians, with",
            "the least and the most in brackets. A ratio is taken pair by pair. Seconds compare",
            "within a table only. Made by `scripts/bench`, which makes the database too.",
            "",
            f"- {self.date}, {host['cores']} cores ({host['processor']}), {host['system']}",
            "- " + ", ".join(f"{name} {version}" for name, version in self.versions.items()),
            f"- database: profile {database['profile']}, {database['rows']:,} rows,"
            f" {database['pages']:,} pages of {health.PAGE_SIZE} bytes"
            f" ({database['bytes'] / 1e6:,.1f} MB), seed {database['seed']},",
            f"  SHA-256 `{database['sha256']}`",
        ]
        if shape := self.shape():
            lines += [
                f"- the application: {shape['pages_a_commit']:.1f} pages a commit of"
                f" {health.FLUSH_SECONDS} s, {shape['wal_bytes_a_day'] / 1e6:,.0f} MB of WAL and"
                f" {shape['growth_bytes_a_day'] / 1e6:.1f} MB of growth a day"
            ]
        lines += [
            "- peak memory cannot be told below the 5 MB of the process that waits for each run;",
            "  bytes written are those the kernel accounts to the process",
        ]
        return "\n".join(lines)

    def bounds(self):
        rows = []
        for line, value, met in self.verdicts():
            show = ratio if line.against else FIGURES[line.term.figure].show
            bound = "" if line.bound is None else f"≤ {single(line.bound, show)}"
            verdict = {None: "", True: "met", False: "**missed**"}[met]
            rows.append([line.title, spread(value, show), bound, verdict])
        text = table(["", "measured", "bound", ""], rows)
        if not self.judged:
            text += "\n\nThe bounds are meant for the whole database; nothing is judged here."
        return text

    def table(self, names):
        count = max(len(runs) for runs in names.values())
        rows = [
            [name]
            + [
                spread(Series([getattr(run, key) for run in runs]), figure.show)
                for key, figure in FIGURES.items()
            ]
            for name, runs in names.items()
        ]
        return table([f"n = {count}"] + [figure.title for figure in FIGURES.values()], rows)


# Figures in words: the unit goes by the first value, so that a spread has one unit


def seconds(values):
    if values[0] >= 1:
        return [f"{value:.2f}" for value in values], " s"
    return [f"{value * 1e3:.1f}" for value in values], " ms"


def size(values):
    if values[0] >= 1e5:
        return [f"{value / 1e6:,.1f}" for value in values], " MB"
    return [f"{value:,.0f}" for value in values], " B"


def memory(values):
    return [f"{value / measurements.MIB:.1f}" for value in values], " MiB"


def ratio(values):
    digits = 3 if values[0] < 0.1 else 2
    return [f"{value:.{digits}f}" for value in values], ""


def count(values):
    return [f"{value:,.0f}" for value in values], ""


@dataclasses.dataclass(frozen=True)
class Figure:
    title: str
    show: object


FIGURES = {
    "wall": Figure("wall", seconds),
    "cpu": Figure("CPU", seconds),
    "peak": Figure("peak memory", memory),
    "written": Figure("bytes written", size),
    "shipped": Figure("shipped or made", size),
    "files": Figure("files", count),
}


def spread(series, show):
    """A median with the least and the most."""
    (median, least, most), unit = show([series.median, series.least, series.most])
    return median + unit if least == most else f"{median}{unit} ({least}–{most})"


def single(value, show):
    (text,), unit = show([value])
    return text + unit


def table(header, rows):
    widths = [max(len(row[column]) for row in [header] + rows) for column in range(len(header))]

    def render(cells):
        return "| " + " | ".join(c.ljust(width) for c, width in zip(cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([render(header), rule] + [render(row) for row in rows])


def machine():
    processor = platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        processor = names[0] if names else processor
    except OSError:
        pass
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": processor,
        "system": f"{platform.system()} {platform.release()}",
    }
