"""A deterministic health database and the application that goes on writing it.

The shape is that of a phone's health store: three 1 Hz streams, a flush of 30 seconds in one
transaction, small daily summaries in the same transaction, and, in the default profile, the
sensor's raw packets of the last days. The same seed, size and SQLite give the same bytes.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import random
import sys
import time

import apsw

PAGE_SIZE = 4096
STREAMS = ("heart_rate", "rr_interval", "gravity")
FLUSH_SECONDS = 30
FLUSH_ROWS = FLUSH_SECONDS * len(STREAMS)
FLUSHES_A_DAY = 86_400 // FLUSH_SECONDS
FIRST_SECOND = 1_735_689_600  # 2025-01-01 00:00:00 UTC
DEVICE = 1
BUSY_TIMEOUT_MS = 30_000

SCHEMA = """
CREATE TABLE heart_rate (
    device INTEGER NOT NULL, at INTEGER NOT NULL, bpm INTEGER NOT NULL,
    PRIMARY KEY (device, at)
) WITHOUT ROWID;
CREATE TABLE rr_interval (
    device INTEGER NOT NULL, at INTEGER NOT NULL, ms INTEGER NOT NULL,
    PRIMARY KEY (device, at)
) WITHOUT ROWID;
CREATE TABLE gravity (
    device INTEGER NOT NULL, at INTEGER NOT NULL,
    x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,
    roll REAL NOT NULL, pitch REAL NOT NULL, motion REAL NOT NULL, steps INTEGER NOT NULL,
    PRIMARY KEY (device, at)
);
CREATE TABLE raw_packet (at INTEGER PRIMARY KEY, payload BLOB NOT NULL);
CREATE TABLE daily_summary (
    device INTEGER NOT NULL, day INTEGER NOT NULL, stream TEXT NOT NULL,
    samples INTEGER NOT NULL, newest INTEGER NOT NULL,
    PRIMARY KEY (device, day, stream)
) WITHOUT ROWID;
"""

# One row a second with 31 bits of noise from a linear congruential generator: plain integer
# arithmetic, so that no floating-point library has a say in the bytes.
NOISE = """
WITH RECURSIVE noise(t, s) AS (
    VALUES (:first, :state)
    UNION ALL SELECT t + 1, (s * 1103515245 + 12345) & 2147483647 FROM noise LIMIT :count
)
"""
INSERTS = {
    "heart_rate": NOISE + """
        INSERT INTO heart_rate
        SELECT :device, t, 62 + abs(t % 5400 - 2700) / 90 + (s >> 16) % 5 FROM noise""",
    "rr_interval": NOISE + """
        INSERT INTO rr_interval
        SELECT :device, t, 60000 / (62 + abs(t % 5400 - 2700) / 90) + (s >> 16) % 64 - 32
        FROM noise""",
    "gravity": NOISE + """
        INSERT INTO gravity
        SELECT :device, t,
            ((s >> 3) % 16384 - 8192) / 16384.0, ((s >> 5) % 16384 - 8192) / 16384.0,
            1.0 - ((s >> 15) % 16384) / 16384.0,
            ((s >> 2) % 23040 - 11520) / 64.0, ((s >> 4) % 11520 - 5760) / 64.0,
            ((s >> 9) % 4096) / 1024.0, (t - 1735689600) / 2 + 100000
        FROM noise""",
}
SUMMARY = """
INSERT INTO daily_summary VALUES (:device, :day, :stream, :count, :newest)
ON CONFLICT DO UPDATE SET samples = samples + excluded.samples, newest = excluded.newest"""
RAW = "INSERT INTO raw_packet VALUES (?, ?)"


@dataclasses.dataclass(frozen=True)
class Profile:
    name: str
    rows: int
    raw_bytes: int  # mean size of the raw packet of one flush, 0 for none
    raw_flushes: int  # how many of the newest flushes still have theirs

    @property
    def flushes(self):
        return self.rows // FLUSH_ROWS


def profile(name, rows):
    """The profile of that name, with `rows` sample rows, rounded down to whole flushes."""
    rows -= rows % FLUSH_ROWS
    if rows <= 0:
        raise ValueError(f"at least {FLUSH_ROWS} rows, a flush of all streams")
    if name == "samples":
        return Profile(name, rows, 0, 0)
    # Raw packets are kept for the last 8.5 % of the history: 5.4 of 63 days.
    return Profile(name, rows, 7_200, rows // FLUSH_ROWS * 851 // 10_000)


class Health:
    """Writes flushes, numbered from 0, into an open database."""

    def __init__(self, connection, profile, seed):
        self.connection = connection
        self.profile = profile
        self.seed = seed

    def insert(self, first, count):
        """Inserts `count` flushes that lie within one day."""
        at = FIRST_SECOND + first * FLUSH_SECONDS
        samples = count * FLUSH_SECONDS
        for stream in STREAMS:
            fields = {
                "device": DEVICE,
                "stream": stream,
                "first": at,
                "count": samples,
                "state": self.state(stream, first),
                "day": at // 86_400,
                "newest": at + samples - 1,
            }
            for statement in (INSERTS[stream], SUMMARY):
                self.connection.execute(statement, fields)
        oldest_raw = self.profile.flushes - self.profile.raw_flushes
        if self.profile.raw_bytes:
            packets = range(max(first, oldest_raw), first + count)
            self.connection.executemany(RAW, (self.packet(flush) for flush in packets))

    def state(self, stream, flush):
        digest = hashlib.sha256(f"{self.seed}/{stream}/{flush}".encode()).digest()
        return int.from_bytes(digest[:4], "big") & 0x7FFF_FFFF

    def packet(self, flush):
        """The raw packet of a flush: frames of a constant header and noisy readings."""
        source = random.Random(self.state("raw_packet", flush))
        header = b"\x55\xaa\x01\x03\x18\x00\x00\x10\x00\x00\x00\x00"
        frames = self.profile.raw_bytes * source.randrange(95, 106) // 100 // 32
        noise = source.randbytes(frames * 20)
        payload = b"".join(header + noise[at : at + 20] for at in range(0, len(noise), 20))
        return FIRST_SECOND + flush * FLUSH_SECONDS, payload


def execute_all(connection, statements):
    """Executes several statements; a cursor alone would wait at the first one that has a row."""
    for _ in connection.execute(statements):
        pass


def build(path, profile, seed, progress=lambda done: None):
    """Builds the database at `path` and returns what is known about it, a dictionary."""
    started = time.monotonic()
    partial = f"{path}.partial"
    for name in (partial, path):
        if os.path.exists(name):
            os.remove(name)
    connection = apsw.Connection(partial)
    execute_all(
        connection,
        f"PRAGMA page_size = {PAGE_SIZE}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536;" + SCHEMA,
    )
    health = Health(connection, profile, seed)
    for first in range(0, profile.flushes, FLUSHES_A_DAY):
        connection.execute("BEGIN")
        health.insert(first, min(FLUSHES_A_DAY, profile.flushes - first))
        connection.execute("COMMIT")
        progress(min(1, (first + FLUSHES_A_DAY) / profile.flushes))
    execute_all(connection, "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL")
    pages = connection.execute("PRAGMA page_count").get
    connection.close()
    digest = hashlib.sha256()
    with open(partial, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
        os.fsync(file.fileno())
    os.rename(partial, path)
    return {
        "profile": profile.name,
        "rows": profile.rows,
        "seed": seed,
        "pages": pages,
        "bytes": os.path.getsize(path),
        "sha256": digest.hexdigest(),
        "sqlite": apsw.sqlite_lib_version(),
        "seconds": round(time.monotonic() - started, 1),
    }


def connect(path, wal):
    """The application's connection; appends to `wal` how many frames each commit leaves there."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    execute_all(connection, "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192")
    # This takes the place of SQLite's own hook, which is the one that checkpoints.
    connection.set_wal_hook(lambda _connection, _database, frames: wal.append(frames) or 0)
    return connection


def write(path, profile, seed):
    """The application: keeps its connection open and obeys commands on standard input.

    `step N` commits N flushes and answers with a line of JSON; `truncate N` empties the WAL into
    the database, waiting N milliseconds for others at most; `reopen` closes the connection and
    opens another one; the end of input closes it for good.
    """
    # Frames in the WAL after each commit.
    wal = []
    connection = connect(path, wal)
    health = Health(connection, profile, seed)
    newest = connection.execute("SELECT max(newest) FROM daily_summary").get
    flush = (newest + 1 - FIRST_SECOND) // FLUSH_SECONDS
    reply = {"ready": True}
    while True:
        print(json.dumps(reply), flush=True)
        command, *arguments = sys.stdin.readline().split() or [""]
        if not command:
            break
        if command == "step":
            (count,) = arguments
            before = connection.execute("PRAGMA page_count").get
            frames = []
            for _ in range(int(count)):
                connection.execute("BEGIN IMMEDIATE")
                health.insert(flush, 1)
                held = wal[-1] if wal else None
                connection.execute("COMMIT")
                committed = time.monotonic()
                # The first commit does not tell its frames: there may have been some before.
                if held is not None:
                    frames.append(wal[-1] - held if wal[-1] > held else wal[-1])
                flush += 1
            del wal[:-1]
            reply = {
                "frames": sum(frames),
                "commits": len(frames),
                "grown": connection.execute("PRAGMA page_count").get - before,
                "committed": committed,
                "newest": FIRST_SECOND + flush * FLUSH_SECONDS - 1,
            }
        elif command == "truncate":
            connection.set_busy_timeout(int(arguments[0]))
            started = time.monotonic()
            busy, log, done = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            reply = {
                "seconds": time.monotonic() - started,
                "busy": busy,
                "log": log,
                "checkpointed": done,
            }
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        elif command == "reopen":
            connection.close()
            reply = {"wal": os.path.exists(f"{path}-wal")}
            connection = health.connection = connect(path, wal)
        else:
            raise ValueError(f"unknown command {command!r}")
    connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=("build", "write"))
    parser.add_argument("database")
    parser.add_argument("--rows", type=int, default=16_327_260)
    parser.add_argument("--profile", choices=("default", "samples"), default="default")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    shape = profile(arguments.profile, arguments.rows)
    if arguments.verb == "build":
        print(json.dumps(build(arguments.database, shape, arguments.seed)))
    else:
        write(arguments.database, shape, arguments.seed)


if __name__ == "__main__":
    main()
