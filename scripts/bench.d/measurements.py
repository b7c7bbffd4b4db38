"""What is made of the runs: the rows of the table, and what each means."""

from dataclasses import dataclass
from typing import Optional

import health
from acts import (
    AGENT,
    ALL_COPIES,
    BYTE_TABLE,
    CHECKED,
    CP,
    CURL,
    FEW_FLUSHES,
    FLOOR,
    FLUSHES,
    JUDGE,
    LIVE_FLUSHES,
    LZ4,
    NOBODY,
    OURS,
    PATIENCE_MS,
    PEER,
    QUARTER,
    SLICES,
    TO_SINK,
    UNLZ4,
)

MIB = 1024 * 1024

# Their titles, and the figures that their tables show.
MEASUREMENTS = {
    "first": ("First push, empty bucket", "wall cpu peak written shipped files"),
    "nothing-after-first": (
        "Push of nothing straight after the first push",
        "wall cpu peak written shipped",
    ),
    "increment-after-first": (
        f"Push of {FLUSHES} flushes straight after the first push",
        "wall cpu peak written shipped files pages",
    ),
    "increment": (
        f"Push of {FLUSHES} flushes (3 h), a process each",
        "wall cpu peak written shipped files pages surplus",
    ),
    "nothing": ("Push of nothing, a process each", "wall cpu peak written shipped"),
    "resident": (
        f"Push of {FLUSHES} flushes by a resident that was suspended meanwhile",
        "wall cpu shipped files",
    ),
    "idle": ("A resident at rest", "wakeups minute_cpu"),
    "agent": ("An agent in the foreground, between pushes", "wakeups minute_cpu"),
    "held-up": (
        "The application's TRUNCATE beside a resident, between pushes",
        "held refused",
    ),
    "held-up-at-once": (
        "The application's TRUNCATE beside a resident, straight after a commit",
        "held refused",
    ),
    "restore": ("Restore to a new file", "wall cpu peak written shipped"),
    "truncate": (
        f"Push after {FEW_FLUSHES} flushes, a foreign TRUNCATE, {FEW_FLUSHES} flushes",
        "wall cpu peak shipped pages differing_pages differing",
    ),
    "last-close": (
        f"Push after {FEW_FLUSHES} flushes, a last close, {FEW_FLUSHES} flushes",
        "wall cpu peak shipped pages differing_pages differing",
    ),
    "live": ("From a commit on the device to the row in the mirror", "median worst peak"),
    "sink-snapshot": (
        "First push to an empty sink, until it is in the mirror",
        "wall cpu peak sink_cpu sink_peak shipped",
    ),
    "fleet": ("A sink that many devices push to", "databases cores sink_peak"),
    "crc": ("CRC-64 over pages of 4 KiB", "rate"),
}


@dataclass(frozen=True)
class Term:
    """A figure of one contestant in one measurement."""

    measurement: str
    name: str
    figure: str


@dataclass(frozen=True)
class Line:
    """A figure, or its ratio to or difference from another one, and what it should be.

    Two terms of one measurement are combined pair by pair; of two, the medians are.
    """

    title: str
    term: Term
    over: Optional[Term] = None
    minus: Optional[Term] = None
    bound: Optional[float] = None
    digits: Optional[int] = None  # of the bound: what rounds to it meets it
    at_least: bool = False
    within_spread: bool = False  # a difference within the spread of `minus` counts as 0
    beside: Optional[str] = None  # whose figure stands beside ours
    means: str = ""


def versus(title, measurement, figure, name=PEER, **rest):
    return Line(
        title, Term(measurement, OURS, figure), over=Term(measurement, name, figure), **rest
    )


def after(title, measurement):
    return Line(
        f"bytes after {title} / bytes that differ",
        Term(measurement, OURS, "shipped"),
        over=Term(measurement, OURS, "differing"),
        bound=1.1,
        beside=PEER,
        means=f"{FEW_FLUSHES} flushes, {title}, {FEW_FLUSHES} flushes, a push by a process of its"
        " own. What differs from the last push is found by comparing both states byte by byte;"
        " its bytes are those of the differing pages, each packed with LZ4 by a C program",
    )


def rescan(title, measurement):
    return Line(
        f"CPU of the rescan after {title} / sqlite3_rsync",
        Term(measurement, OURS, "cpu"),
        over=Term(measurement, JUDGE, "cpu"),
        bound=0.8,
        beside=PEER,
        means="CPU of that whole push, against sqlite3_rsync (both of its processes) bringing a"
        " copy of the last pushed state up to date, on the same disk",
    )


# The bounds, in the order of the issue that set them.
BOUNDS = (
    versus(
        "first push, wall / Litestream",
        "first",
        "wall",
        bound=0.5,
        means="a process that ships the whole database into an empty directory:"
        " `dormouse push` and `litestream replicate -once`",
    ),
    versus(
        "first push, CPU / one C pass of LZ4 + CRC",
        "first",
        "cpu",
        FLOOR,
        bound=2,
        beside=PEER,
        means="user and system time of the push, against `floor.c`: read the database, pack"
        " each page with LZ4 (acceleration 1), add it to a CRC-64 16 bytes a step; it writes"
        " nothing",
    ),
    Line(
        "first push, bytes written / bytes shipped",
        Term("first", OURS, "written"),
        over=Term("first", OURS, "shipped"),
        bound=1.0,
        digits=1,
        beside=PEER,
        means="what the kernel accounts to the process as written to disk (512-byte blocks), over"
        " the size of the new files in the bucket; the page ledger is 8 bytes a page of it",
    ),
    versus(
        f"push of {FLUSHES} flushes by a resident, wall / Litestream",
        "resident",
        "wall",
        bound=0.35,
        means="`dormouse replicate` and `litestream replicate`, both with intervals of 10 ms, so"
        " that next to nothing of the time is spent waiting for a tick (with their default of 1 s"
        " Litestream ships a second later): stopped with SIGSTOP, "
        f"{FLUSHES} commits, SIGCONT; from there until the file with the pages stands in the"
        " bucket, looked for every 0.5 ms. CPU is that of the 1.5 s from there. Litestream's"
        " compaction is put off to a time when it is not in the way",
    ),
    Line(
        "the same, pages shipped − pages that differ",
        Term("increment", OURS, "surplus"),
        bound=0,
        beside=PEER,
        means="pages in the files of a push, less the pages that sqlite3_rsync sends to bring a"
        " copy of the state before to the state after",
    ),
    Line(
        "first push after a snapshot / a normal push, wall",
        Term("increment-after-first", OURS, "wall"),
        over=Term("increment", OURS, "wall"),
        bound=1.1,
        beside=PEER,
        means=f"{FLUSHES} flushes either time, a process each; medians. A normal one comes after"
        " a push that copied the WAL back, and a process that was not there when the WAL was"
        " started again may have to compare all pages; the first one goes on from its place",
    ),
    Line(
        "push of nothing, wall",
        Term("nothing", OURS, "wall"),
        bound=0.015,
        beside=PEER,
        means="a fresh process, from its start to its end",
    ),
    Line(
        "push of nothing straight after a snapshot, wall",
        Term("nothing-after-first", OURS, "wall"),
        bound=0.015,
        beside=PEER,
        means="the same, as the first push after the first",
    ),
    after("a foreign TRUNCATE", "truncate"),
    after("a last close", "last-close"),
    rescan("a TRUNCATE", "truncate"),
    rescan("a last close", "last-close"),
    Line(
        "time an application's TRUNCATE is held up, `pin: yield`",
        Term("held-up", OURS, "held"),
        minus=Term("held-up", NOBODY, "held"),
        bound=0,
        within_spread=True,
        beside=PEER,
        means=f"{FEW_FLUSHES} flushes, which the resident pushes, then"
        " `PRAGMA wal_checkpoint(TRUNCATE)` by the application: how much longer it takes than"
        " where nobody replicates. No longer than what that varies by counts as 0. The busy"
        f" timeout is {PATIENCE_MS / 1000:.0f} s",
    ),
    Line(
        "idle wake-ups a minute",
        Term("idle", OURS, "wakeups"),
        bound=0,
        digits=0,
        beside=PEER,
        means="voluntary context switches of all threads of the resident while nothing happens",
    ),
    Line(
        "idle CPU a minute",
        Term("idle", OURS, "minute_cpu"),
        bound=0,
        digits=3,
        beside=PEER,
        means="CPU time of all its threads meanwhile",
    ),
    Line(
        "agent in the foreground, wake-ups a minute",
        Term("agent", AGENT, "wakeups"),
        bound=120,
        digits=0,
        means="`dormouse agent` collects three streams of 1 Hz, flushes every 30 s and looks at"
        " the clock; voluntary context switches of all its threads between two pushes",
    ),
    Line(
        "agent in the foreground, CPU a minute",
        Term("agent", AGENT, "minute_cpu"),
        bound=0.12,
        digits=3,
        means="0.2 % of one processor",
    ),
    versus(
        "restore, wall / Litestream",
        "restore",
        "wall",
        bound=0.3,
        means="from the bucket as the acts before left it, up to a file that is synced; neither"
        " checks the database (`--integrity-check none`, Litestream's default)",
    ),
    versus(
        "restore, CPU / lz4 -d of the same database",
        "restore",
        "cpu",
        UNLZ4,
        bound=3,
        beside=PEER,
        means="against the lz4 program unpacking that database from one file",
    ),
    Line(
        "first push, peak memory",
        Term("first", OURS, "peak"),
        bound=24 * MIB,
        beside=PEER,
        means="resident memory, the program's own pages and those of its libraries included",
    ),
    Line("first push, peak memory, a quarter of the database", Term("first", QUARTER, "peak")),
    Line(
        "restore, peak memory", Term("restore", OURS, "peak"), bound=24 * MIB, beside=PEER
    ),
    Line("restore, peak memory, a quarter of the database", Term("restore", QUARTER, "peak")),
    Line(
        "from a commit to the row in a sink's mirror, p50",
        Term("live", TO_SINK, "median"),
        bound=0.05,
        means=f"`dormouse replicate --interval 1ms` to a sink on loopback; {LIVE_FLUSHES} flushes"
        " of 30 s, one at a time: from the end of the application's COMMIT until somebody who"
        " reads the mirror every millisecond sees its newest sample",
    ),
    Line(
        "the same, p99",
        Term("live", TO_SINK, "worst"),
    ),
    Line(
        "snapshot push to a sink and apply, wall / curl and fsync",
        Term("sink-snapshot", TO_SINK, "wall"),
        over=Term("sink-snapshot", CURL, "wall"),
        bound=1.3,
        means="`dormouse push` of the whole database to an empty sink, from its start until the"
        " mirror has it; against `curl -T` of the very file that was shipped to a receiver that"
        " writes it and syncs it. Ours also reads and packs the database, checks every page at"
        " the other end, and writes the mirror",
    ),
    Line(
        "sink with 1,000 databases, a small delta each every 30 s, cores",
        Term("fleet", TO_SINK, "cores"),
        bound=1,
        means="CPU time of the sink over the time of one round: every database gets one delta of"
        " a flush by a plain PUT on a connection of its own, spread over 30 s, and is applied to"
        " its mirror",
    ),
    Line(
        "the same, peak memory",
        Term("fleet", TO_SINK, "sink_peak"),
        bound=256 * MIB,
    ),
    Line("sink, peak memory in a snapshot push", Term("sink-snapshot", TO_SINK, "sink_peak")),
    Line(
        "CRC-64 / a byte table, speed",
        Term("crc", OURS, "rate"),
        over=Term("crc", BYTE_TABLE, "rate"),
        bound=6,
        at_least=True,
        means="the codec's own source and a loop over a table of 256 entries, compiled together",
    ),
)

# Ratios without a bound.
OTHERS = (
    versus("first push, CPU / Litestream", "first", "cpu"),
    versus("first push, CPU / lz4 -1", "first", "cpu", LZ4),
    versus("first push, bytes shipped / Litestream", "first", "shipped"),
    versus(f"{FLUSHES} flushes, a process each, wall / Litestream", "increment", "wall"),
    versus(f"{FLUSHES} flushes, a process each, CPU / Litestream", "increment", "cpu"),
    versus(f"{FLUSHES} flushes, a process each, wall / sqlite3_rsync", "increment", "wall", JUDGE),
    versus(f"{FLUSHES} flushes, bytes shipped / Litestream", "increment", "shipped"),
    versus(f"{FLUSHES} flushes by a resident, CPU / Litestream", "resident", "cpu"),
    versus("push of nothing, wall / Litestream", "nothing", "wall"),
    Line(
        "pages shipped after a TRUNCATE − pages that differ",
        Term("truncate", OURS, "surplus"),
        beside=PEER,
    ),
    Line(
        "TRUNCATE straight after a commit, held up, `pin: yield`",
        Term("held-up-at-once", OURS, "held"),
        minus=Term("held-up-at-once", NOBODY, "held"),
        beside=PEER,
    ),
    versus("restore, CPU / Litestream", "restore", "cpu"),
    versus("restore, wall / cp", "restore", "wall", CP),
    Line(
        "restore with the default check, wall / Litestream, which checks nothing",
        Term("restore", CHECKED, "wall"),
        over=Term("restore", PEER, "wall"),
    ),
    Line(
        "snapshot push to a sink and apply, wall / its three files copied and synced",
        Term("sink-snapshot", TO_SINK, "wall"),
        over=Term("sink-snapshot", ALL_COPIES, "wall"),
    ),
    Line(
        "CRC-64 without carry-less multiplication / a byte table, speed",
        Term("crc", SLICES, "rate"),
        over=Term("crc", BYTE_TABLE, "rate"),
    ),
)
