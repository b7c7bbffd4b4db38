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


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table with what came of it."""

    line: measurements.Line
    value: Series
    beside: object  # the peer's Series, or None
    met: object  # None where there is no bound, or where it is not meant

    def as_json(self):
        return {
            "title": self.line.title,
            "bound": self.line.bound,
            "at_least": self.line.at_least,
            "met": self.met,
            "beside": self.beside and self.beside.as_json(),
        } | self.value.as_json()


class Report:
    def __init__(self, results, database, steps, versions, judged):
        self.results = results  # measurement → name → runs
        self.database = database
        self.steps = steps
        self.versions = versions
        self.judged = judged  # whether the bounds are meant for a database of this size
        self.date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        self.bounds = self.rows(measurements.BOUNDS)
        self.others = self.rows(measurements.OTHERS)

    # What the lines come to

    def series(self, term):
        runs = self.results.get(term.measurement, {}).get(term.name, [])
        return Series([run[term.figure] for run in runs]) if runs else None

    def value(self, line):
        """The line's value with its spread, or None when a part was not measured."""
        other = line.over or line.minus
        value = self.series(line.term)
        if other is None or value is None:
            return value
        against = self.series(other)
        if against is None:
            return None
        if line.term.measurement == other.measurement:
            pairs = list(zip(value.values, against.values))
        else:
            pairs = [(value, against.median) for value in value.values]
        if line.minus:
            return Series([a - b for a, b in pairs])
        return Series([a / b for a, b in pairs]) if all(b for _, b in pairs) else None

    def beside(self, line):
        """The same for the peer: in place of us, wherever we stand in the line."""
        if not line.beside:
            return None

        def replaced(term):
            mine = term and term.name == line.term.name
            return dataclasses.replace(term, name=line.beside) if mine else term

        return self.value(
            dataclasses.replace(
                line,
                term=replaced(line.term),
                over=replaced(line.over),
                minus=replaced(line.minus),
            )
        )

    def rows(self, lines):
        """Every line that was measured, with its value and whether its bound is met."""
        found = []
        for line in lines:
            value = self.value(line)
            if value is not None:
                judged = self.judged and line.bound is not None
                met = self.excess(line, value) <= 0 if judged else None
                found.append(Row(line, value, self.beside(line), met))
        return found

    def excess(self, line, value):
        """By how much the median is beyond the bound."""
        bound = line.bound
        if line.within_spread:
            usual = self.series(line.minus)
            bound += usual.most - usual.least
        if line.at_least:
            return bound - value.median
        median = value.median if line.digits is None else round(value.median, line.digits)
        return median - bound

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
            "measurements": self.results,
            "bounds": [row.as_json() for row in self.bounds],
            "others": [row.as_json() for row in self.others],
        }

    # For people

    def as_markdown(self):
        """The whole report; its tables are aligned, so that it reads well unrendered too."""
        parts = ["# Benchmarks", self.introduction()]
        if self.bounds:
            parts += ["## Bounds", self.bounds_table(), self.meanings()]
        if self.others:
            parts += ["## Other ratios", self.others_table()]
        for measurement, (title, figures) in measurements.MEASUREMENTS.items():
            if measurement in self.results:
                parts += [f"## {title}", self.table(self.results[measurement], figures.split())]
        return "\n\n".join(parts) + "\n"

    def introduction(self):
        database, host = self.database, machine()
        lines = [
            "Everything is run in turn (A B A B …) on one machine in one sitting: medians, with the",
            "least and the most in brackets. A ratio is taken pair by pair, each part from the same",
            "round. Seconds compare within a table only. Every bucket is a local directory. Made by",
            "`scripts/bench`, which makes the database too.",
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
                f" {shape['growth_bytes_a_day'] / 1e6:.1f} MB of growth a day; its connection stays"
                " open"
            ]
        lines += [
            "- CPU, peak memory and bytes written are the kernel's accounting of the finished",
            "  process and its children; of a resident, that of its CPU clock",
        ]
        return "\n".join(lines)

    def bounds_table(self):
        rows = []
        for row in self.bounds:
            show = self.unit(row.line)
            bound = verdict = ""
            if row.line.bound is not None:
                sign = "≥" if row.line.at_least else "≤" if row.line.bound else "="
                bound = f"{sign} {single(row.line.bound, show)}"
                verdict = {None: "", True: "met", False: f"**missed**{self.miss(row)}"}[row.met]
            beside = spread(row.beside, show) if row.beside else ""
            rows.append([row.line.title, spread(row.value, show), bound, verdict, beside])
        text = table(["", "measured", "bound", "", "Litestream"], rows)
        if not self.judged:
            text += "\n\nThe bounds are meant for the whole database; nothing is judged here."
        return text

    def miss(self, row):
        excess = self.excess(row.line, row.value)
        if row.line.bound and not row.line.within_spread:
            return f" by {excess / row.line.bound:.0%}"
        return f" by {single(excess, self.unit(row.line))}"

    def meanings(self):
        lines = [
            f"- **{row.line.title}**: {row.line.means}." for row in self.bounds if row.line.means
        ]
        return "What the rows mean:\n\n" + "\n".join(lines)

    def others_table(self):
        rows = []
        for row in self.others:
            show = self.unit(row.line)
            beside = spread(row.beside, show) if row.beside else ""
            rows.append([row.line.title, spread(row.value, show), beside])
        return table(["", "measured", "Litestream"], rows)

    def unit(self, line):
        return ratio if line.over else FIGURES[line.term.figure].show

    def table(self, names, figures):
        count = max(len(runs) for runs in names.values())
        rows = []
        for name, runs in names.items():
            cells = [name]
            for key in figures:
                values = [run[key] for run in runs if key in run]
                cells.append(spread(Series(values), FIGURES[key].show) if values else "")
            rows.append(cells)
        return table([f"n = {count}"] + [FIGURES[key].title for key in figures], rows)


# Figures in words: the unit goes by the first value, so that a spread has one unit


def seconds(values):
    if abs(values[0]) >= 1:
        return [f"{value:.2f}" for value in values], " s"
    return [f"{value * 1e3:.1f}" for value in values], " ms"


def size(values):
    if values[0] >= 1e5:
        return [f"{value / 1e6:,.1f}" for value in values], " MB"
    return [f"{value:,.0f}" for value in values], " B"


def memory(values):
    return [f"{value / measurements.MIB:.1f}" for value in values], " MiB"


def ratio(values):
    digits = 3 if values[0] < 0.1 else 2 if values[0] < 100 else 0
    return [f"{value:,.{digits}f}" for value in values], ""


def rate(values):
    return [f"{value / 1e6:,.0f}" for value in values], " MB/s"


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
    "pages": Figure("pages", count),
    "surplus": Figure("pages beyond those that differ", count),
    "differing_pages": Figure("pages that differ", count),
    "differing": Figure("packed", size),
    "held": Figure("took", seconds),
    "median": Figure("p50", seconds),
    "worst": Figure("p99", seconds),
    "sink_cpu": Figure("CPU of the sink", seconds),
    "sink_peak": Figure("peak memory of the sink", memory),
    "cores": Figure("cores", ratio),
    "databases": Figure("databases", count),
    "requests": Figure("requests a push", ratio),
    "refused": Figure("refused as busy", count),
    "wakeups": Figure("wake-ups a minute", count),
    "minute_cpu": Figure("CPU a minute", seconds),
    "rate": Figure("speed", rate),
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
