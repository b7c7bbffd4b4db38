"""What is done. An act does a piece of work with every contestant in turn (A B A B …) and records
runs under the names of measurements.
"""

import contextlib
import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from typing import Callable

import sinks
from resident import Resident

OURS = "dormouse"
AGENT = "dormouse agent"
PEER = "litestream"
NOBODY = "no replicator"
JUDGE = "sqlite3_rsync"
FLOOR = "C floor"
LZ4, UNLZ4, CP = "lz4 -1", "lz4 -d", "cp"  # the yardsticks
CHECKED = "dormouse, with its default check"
QUARTER = "dormouse, a quarter of the database"
TO_SINK, CURL = "dormouse to a sink", "curl and fsync"
ALL_COPIES = "curl and fsync, dd of the rest"
BYTE_TABLE, SLICES = "byte table", "dormouse, 16 tables"

FLUSHES = 360  # three hours
LIVE_FLUSHES = 40  # each waited for in the mirror
FEW_FLUSHES = 20  # ten minutes, on either side of an interruption
PATIENCE_MS = 3_000  # the application's busy timeout where it could be held up


@dataclass(frozen=True)
class Act:
    """A generator: what comes before its first `yield` prepares, then each round is one pair."""

    title: str
    body: Callable  # of a sitting; yields lists of (measurement, name, run)
    repeat: int = 1  # rounds for each pair that was asked for
    warm_up: bool = True  # the first round does not count


def first_push(sitting):
    yield
    while True:
        for side in sitting.sides:
            side.start()
        rounds = [("first", side.name, side.push()) for side in sitting.sides]
        rounds.append(("first", FLOOR, sitting.yardstick("{floor} pass {source}", sitting.base)))
        lz4 = sitting.yardstick("lz4 -1 -f -q {source} {product}", sitting.base)
        rounds.append(("first", LZ4, lz4))
        rounds += [("nothing-after-first", side.name, side.push()) for side in sitting.sides]
        for side in sitting.sides:
            side.step(FLUSHES)
        rounds += [("increment-after-first", side.name, side.push()) for side in sitting.sides]
        yield rounds


def increment(sitting):
    for side in sitting.sides:
        side.need()
        side.take_image()
        side.push()
    yield
    while True:
        for side in sitting.sides:
            side.step(FLUSHES)
        runs = [side.push() for side in sitting.sides]
        judged = [side.judge() for side in sitting.sides]
        rounds = []
        for side, run, verdict in zip(sitting.sides, runs, judged):
            run["surplus"] = run["pages"] - verdict["pages"]
            rounds.append(("increment", side.name, run))
        rounds.append(("increment", JUDGE, judged[0]))
        yield rounds


def nothing(sitting):
    for side in sitting.sides:
        side.need()
        side.push()
    yield
    while True:
        yield [("nothing", side.name, side.push()) for side in sitting.sides]


@contextlib.contextmanager
def residents(sitting, **behaviour):
    """Every contestant as a resident process, at rest."""
    with contextlib.ExitStack() as stack:
        found = []
        for side in sitting.sides:
            side.need()
            resident = side.resident(**behaviour)
            stack.callback(resident.stop)
            found.append(resident)
        yield found


def resident_push(sitting):
    # An interval so short that it does not matter when after the last tick the work begins.
    with residents(sitting, interval="10ms") as found:
        yield
        while True:
            rounds = []
            for side, resident in zip(sitting.sides, found):
                resident.suspend()
                side.step(FLUSHES)
                rounds.append(("resident", side.name, resident.resume(watch=1.5)))
                resident.settle()
            yield rounds


def idle(sitting):
    with residents(sitting) as found:
        yield
        while True:
            runs = Resident.at_rest(found, sitting.idle_seconds)
            yield [("idle", side.name, run) for side, run in zip(sitting.sides, runs)]


def agent(sitting):
    """The app in the foreground: three streams of 1 Hz, flushed every 30 s, and a replicator."""
    side = sitting.sides[0]
    home = os.path.join(side.home, "agent")
    shutil.rmtree(home, ignore_errors=True)
    os.makedirs(home)
    bucket = os.path.join(home, "bucket")
    command = [
        sitting.programs["dormouse"], "agent", "--source", "simulated",
        "--database", os.path.join(home, "health.db"), "--to", bucket,
    ]
    resident = Resident(command, bucket, os.path.join(home, "agent.log"))
    try:
        resident.settle(patience=15)
        yield
        while True:
            # Two flushes in each round.
            runs = Resident.at_rest([resident], sitting.agent_seconds)
            yield [("agent", AGENT, run) for run in runs]
    finally:
        resident.stop()


def held_up(sitting):
    nobody = sitting.other_side(NOBODY)
    nobody.start()
    with residents(sitting, pin="yield") as found:
        writers = [(nobody, None)] + list(zip(sitting.sides, found))
        yield
        while True:
            rounds = []
            for measurement, lets_push in (("held-up", True), ("held-up-at-once", False)):
                for side, resident in writers:
                    side.step(FEW_FLUSHES)
                    if resident and lets_push:
                        resident.settle()
                    result = side.truncate(PATIENCE_MS)
                    run = {"held": result["seconds"], "refused": result["busy"]}
                    rounds.append((measurement, side.name, run))
            yield rounds


def restore(sitting):
    for side in sitting.sides:
        side.need()
        # Up to 799 MB: the day that was measured at the peers.
        side.step(sitting.restore_flushes)
        side.push()
    yield
    ours = sitting.sides[0]
    compressed = None
    while True:
        rounds = [("restore", side.name, side.restore()) for side in sitting.sides]
        rounds.append(("restore", CP, sitting.yardstick("cp {source} {product}", ours.output)))
        compressed = compressed or sitting.compressed(ours.output)
        unpacked = sitting.yardstick("lz4 -d -f -q {source} {product}", compressed)
        rounds.append(("restore", UNLZ4, unpacked))
        if sitting.checked_restore:
            rounds.append(("restore", CHECKED, ours.restore(sitting.checked_restore)))
        yield rounds


def interruption(measurement, interrupt):
    """A push after something that loses a replicator its place in the WAL."""

    def body(sitting):
        for side in sitting.sides:
            side.need()
            side.take_image()
            side.push()
        yield
        while True:
            rounds = []
            for side in sitting.sides:
                side.step(FEW_FLUSHES)
                interrupt(side)
                side.step(FEW_FLUSHES)
            runs = [side.push() for side in sitting.sides]
            for side, run in zip(sitting.sides, runs):
                run |= side.differing()
                run["surplus"] = run["pages"] - run["differing_pages"]
                rounds.append((measurement, side.name, run))
            judged = [side.judge() for side in sitting.sides]
            rounds.append((measurement, JUDGE, judged[0]))
            for side in sitting.sides:
                side.forget_old_snapshots()
            yield rounds

    return body


def memory(sitting):
    """The same program on a quarter of the database."""
    base, shape_arguments = sitting.quarter()
    contestant = sitting.sides[0].contestant
    side = sitting.other_side(
        QUARTER, contestant=contestant, base=base, shape_arguments=shape_arguments
    )
    yield
    while True:
        side.start()
        yield [("first", QUARTER, side.push()), ("restore", QUARTER, side.restore())]


def live(sitting):
    """From a commit on the device to the row in the mirror, one flush at a time."""
    side = sitting.other_side(TO_SINK)
    side.start()
    sink = sinks.Sink(sitting.programs["dormouse"], os.path.join(side.home, "sink"))
    with contextlib.ExitStack() as stack:
        stack.callback(sink.stop)
        resident = sinks.replicate(sitting, side, sink.url("health"))
        stack.callback(resident.stop)
        newest = side.step(1)["newest"]
        deadline = time.monotonic() + 60
        while not os.path.exists(sink.mirror("health")) and time.monotonic() < deadline:
            time.sleep(0.01)
        follower = sinks.Follower(sink.mirror("health"))
        follower.await_newest(newest, patience=60)
        yield
        while True:
            times = []
            for _ in range(LIVE_FLUSHES):
                answer = side.step(1)
                times.append(follower.await_newest(answer["newest"]) - answer["committed"])
            yield [
                (
                    "live",
                    TO_SINK,
                    {
                        "median": sinks.percentile(times, 0.5),
                        "worst": sinks.percentile(times, 0.99),
                        "peak": sink.memory(),
                    },
                )
            ]


def snapshot(sitting):
    """A whole database to an empty sink, until it is in the mirror."""
    side = sitting.other_side(TO_SINK)
    yield
    while True:
        side.start()
        sink = sinks.Sink(sitting.programs["dormouse"], os.path.join(side.home, "sink"))
        with contextlib.ExitStack() as stack:
            stack.callback(sink.stop)
            started = time.monotonic()
            run = sitting.measure(
                "{dormouse} push {db} --to {url} --json",
                db=side.database,
                url=sink.url("health"),
            )
            sink.await_applied("health", json.loads(sitting.output())["txid"])
            run["wall"] = time.monotonic() - started
            run["sink_cpu"] = sink.cpu()
            run["sink_peak"] = sink.memory()
            level0 = os.path.join(sink.data, "health", "bucket", "ltx", "0")
            (name,) = os.listdir(level0)
            file = os.path.join(level0, name)
            run["shipped"] = os.path.getsize(file)
            copy = sinks.curl_copy(sitting, file)
            rest = [
                sitting.yardstick("dd if={source} of={product} bs=1M conv=fsync", source)
                for source in (file, sink.mirror("health"))
            ]
        copies = {
            key: copy[key] + sum(part[key] for part in rest) for key in ("wall", "cpu", "shipped")
        }
        yield [
            ("sink-snapshot", TO_SINK, run),
            ("sink-snapshot", CURL, copy),
            ("sink-snapshot", ALL_COPIES, copies),
        ]


def fleet(sitting):
    """Many devices that push a small delta each every half minute."""
    side = sitting.other_side("fleet")
    os.makedirs(side.home)
    files = sinks.small_deltas(sitting, side, count=sitting.fleet_rounds + 2)
    sink = sinks.Sink(sitting.programs["dormouse"], os.path.join(side.home, "sink"))
    with contextlib.ExitStack() as stack:
        stack.callback(sink.stop)
        devices = sinks.Fleet(sink, sitting.fleet)
        devices.push(files[0], spread=0)
        yield
        for path in files[1:]:
            cpu, started = sink.cpu(), time.monotonic()
            devices.push(path, spread=sitting.fleet_seconds)
            run = {
                "databases": sitting.fleet,
                "cores": (sink.cpu() - cpu) / (time.monotonic() - started),
                "sink_peak": sink.memory(),
            }
            yield [("fleet", TO_SINK, run)]


def crc(sitting):
    yield
    while True:
        output = subprocess.run(
            [sitting.programs["crc"], "1"], capture_output=True, text=True, check=True
        ).stdout
        found = json.loads(output)
        yield [
            ("crc", name, {"rate": found["bytes"] / (found[key] / 1e9)})
            for name, key in (
                (OURS, "ours_ns"), (SLICES, "portable_ns"), (BYTE_TABLE, "table_ns")
            )
        ]


# In this order: each act goes on with the databases and buckets that the one before it left, and
# makes them where there are none.
ACTS = {
    "first": Act("first push, and what follows it", first_push),
    "increment": Act(f"pushes of {FLUSHES} flushes", increment),
    "nothing": Act("pushes of nothing", nothing, repeat=4),
    "resident": Act(f"pushes of {FLUSHES} flushes by residents", resident_push),
    "idle": Act("residents at rest", idle, warm_up=False),
    "agent": Act("an agent in the foreground", agent, warm_up=False),
    "held-up": Act("the application's own checkpoints beside residents", held_up),
    "restore": Act("restores", restore),
    "truncate": Act(
        "pushes after a foreign TRUNCATE",
        interruption("truncate", lambda side: side.checkpoint()),
    ),
    "last-close": Act(
        "pushes after a last close",
        interruption("last-close", lambda side: side.close_last()),
    ),
    "memory": Act("a smaller database", memory),
    "live": Act("commits until they are in a sink's mirror", live),
    "sink-snapshot": Act("first pushes to a sink", snapshot),
    "fleet": Act("a sink with many databases", fleet),
    "crc": Act("CRC-64", crc),
}


def run(sitting, key, pairs, record):
    """Runs one act, `record`ing what counts."""
    act = ACTS[key]
    body = act.body(sitting)
    try:
        next(body)
        if act.warm_up:
            next(body)
        for _ in range(pairs * act.repeat):
            for measurement, name, found in next(body):
                record(measurement, name, found)
    finally:
        body.close()
