"""What is measured, and what is made of it. A new number is a new entry in these tables.

An act does a piece of work with every contestant in turn (A B A B …) and records runs under the
names of measurements. A line compares two of them, and may have a bound.
"""

import dataclasses
from typing import Callable, Optional

OURS = "dormouse"
PEER = "litestream"
LZ4, UNLZ4, CP = "lz4 -1", "lz4 -d", "cp"  # the yardsticks
FLUSHES = 360  # three hours

MEASUREMENTS = {
    "first": "First push, empty bucket",
    "nothing-after-first": "Push of nothing straight after the first push",
    "increment-after-first": f"Push of {FLUSHES} flushes straight after the first push",
    "increment": f"Push of {FLUSHES} flushes (3 h)",
    "nothing": "Push of nothing",
    "restore": "Restore to a new file",
}


def first_push(sitting, record):
    for side in sitting.sides:
        side.start()
    for side in sitting.sides:
        record("first", side.name, side.push())
    record("first", LZ4, sitting.yardstick("lz4 -1 -f -q {source} {product}", sitting.base))
    for side in sitting.sides:
        record("nothing-after-first", side.name, side.push())
    for side in sitting.sides:
        side.step(FLUSHES)
    for side in sitting.sides:
        record("increment-after-first", side.name, side.push())


def increment(sitting, record):
    for side in sitting.sides:
        side.step(FLUSHES)
    for side in sitting.sides:
        record("increment", side.name, side.push())


def nothing(sitting, record):
    for side in sitting.sides:
        record("nothing", side.name, side.push())


def restore(sitting, record):
    for side in sitting.sides:
        record("restore", side.name, side.restore())
    restored = sitting.sides[0].output
    record("restore", CP, sitting.yardstick("cp {source} {product}", restored))
    compressed = sitting.compressed(restored)
    record("restore", UNLZ4, sitting.yardstick("lz4 -d -f -q {source} {product}", compressed))


@dataclasses.dataclass(frozen=True)
class Act:
    """One uncounted round to warm up, then `pairs` counted ones, times `repeat`."""

    title: str
    body: Callable
    measurements: tuple
    repeat: int = 1


# In this order: each act goes on with the databases and buckets that the one before it left.
ACTS = (
    Act("first push", first_push, ("first", "nothing-after-first", "increment-after-first")),
    Act("pushes of 360 flushes", increment, ("increment",)),
    Act("pushes of nothing", nothing, ("nothing",), repeat=4),
    Act("restores", restore, ("restore",)),
)


@dataclasses.dataclass(frozen=True)
class Term:
    """A figure (a field of Run) of one contestant in one measurement."""

    measurement: str
    name: str
    figure: str


@dataclasses.dataclass(frozen=True)
class Line:
    """A figure, or its ratio to another one, that should not exceed the bound.

    Two terms of one measurement are divided pair by pair; of two measurements, the medians are.
    """

    title: str
    term: Term
    against: Optional[Term] = None
    bound: Optional[float] = None


MIB = 1024 * 1024


def versus(title, measurement, figure, name=PEER, bound=None):
    return Line(
        title,
        Term(measurement, OURS, figure),
        Term(measurement, name, figure),
        bound,
    )


LINES = (
    versus("first push, wall / Litestream", "first", "wall", bound=1.0),
    versus("first push, CPU / Litestream", "first", "cpu"),
    versus("first push, CPU / lz4 -1", "first", "cpu", LZ4),
    Line(
        "first push, bytes written / bytes shipped",
        Term("first", OURS, "written"),
        Term("first", OURS, "shipped"),
    ),
    versus("first push, bytes shipped / Litestream", "first", "shipped"),
    Line("first push, peak memory", Term("first", OURS, "peak"), bound=48 * MIB),
    versus("360 flushes, wall / Litestream", "increment", "wall"),
    versus("360 flushes, CPU / Litestream", "increment", "cpu"),
    versus("360 flushes, bytes shipped / Litestream", "increment", "shipped"),
    Line(
        "360 flushes after the first push / later, wall",
        Term("increment-after-first", OURS, "wall"),
        Term("increment", OURS, "wall"),
    ),
    Line("push of nothing, wall", Term("nothing", OURS, "wall")),
    versus("push of nothing, wall / Litestream", "nothing", "wall"),
    Line(
        "push of nothing after the first push, wall", Term("nothing-after-first", OURS, "wall")
    ),
    versus("restore, wall / Litestream", "restore", "wall", bound=0.5),
    versus("restore, CPU / Litestream", "restore", "cpu"),
    versus("restore, CPU / lz4 -d", "restore", "cpu", UNLZ4),
    versus("restore, wall / cp", "restore", "wall", CP),
    Line("restore, peak memory", Term("restore", OURS, "peak"), bound=48 * MIB),
)
