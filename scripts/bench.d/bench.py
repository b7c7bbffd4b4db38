"""Measures Dormouse against Litestream on a health database. `scripts/bench` starts it."""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys

import apsw

import acts
import health
from report import Report
from resident import BenchError
from sitting import Contestant, Sitting

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_ROWS = 16_327_260
QUICK_ROWS = 270_000
MIB = 1024 * 1024

PUSH = {
    acts.OURS: "{dormouse} push {db} --to {to}",
    acts.PEER: "{litestream} replicate -once {db} file://{to}",
}
RESTORE = {
    # Neither checks what it restored: Litestream does not by default.
    acts.OURS: "{dormouse} restore {to} -o {out} --integrity-check none",
    acts.PEER: "{litestream} restore -o {out} file://{to}",
}
CHECKED_RESTORE = "{dormouse} restore {to} -o {out}"
RESIDENT = {
    acts.OURS: "{dormouse} replicate {db} --to {to} --interval {interval} --pin {pin}",
    acts.PEER: "{litestream} replicate -config {config}",
}


def note(text):
    print(f"==> {text}", file=sys.stderr, flush=True)


def parse_arguments():
    # What they mean is in scripts/bench, which answers --help before anything is built.
    parser = argparse.ArgumentParser(
        prog="scripts/bench", add_help=False, usage="scripts/bench [OPTION]... (--help tells more)"
    )
    parser.add_argument("--work")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--profile", choices=("default", "samples"), default="default")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=acts.ACTS, metavar="ACT")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--push", default=PUSH[acts.OURS])
    parser.add_argument("--restore", default=RESTORE[acts.OURS])
    parser.add_argument("--resident", default=RESIDENT[acts.OURS])
    for program in ("dormouse", "litestream", "sqlite3_rsync", "measure", "floor", "crc"):
        parser.add_argument(f"--with-{program}", required=True)
    arguments = parser.parse_args()
    if arguments.rows is None:
        arguments.rows = QUICK_ROWS if arguments.quick else DEFAULT_ROWS
    if arguments.pairs is None:
        arguments.pairs = 2 if arguments.quick else 5
    if arguments.rows < 4 * health.FLUSH_ROWS:
        parser.error(f"--rows must be at least {4 * health.FLUSH_ROWS}")
    if arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    return arguments


class Databases:
    """The databases of a profile and seed, made unless they are there."""

    def __init__(self, work, profile_name, seed):
        self.work = work
        self.profile_name = profile_name
        self.seed = seed

    def prepare(self, rows):
        """The path of one, and what is known of it."""
        profile = health.profile(self.profile_name, rows)
        with open(os.path.join(HERE, "health.py"), "rb") as file:
            recipe = file.read() + apsw.sqlite_lib_version().encode()
        name = f"health-{profile.name}-{profile.rows}-{self.seed}"
        path = os.path.join(
            self.work, f"{name}-{hashlib.sha256(recipe).hexdigest()[:12]}.sqlite"
        )
        facts = f"{path}.json"
        if os.path.exists(facts) and os.path.exists(path):
            with open(facts) as file:
                known = json.load(file)
            if os.path.getsize(path) == known["bytes"]:
                return path, known
        note(f"making a database: {profile.rows:,} rows")
        known = health.build(path, profile, self.seed)
        with open(facts, "w") as file:
            json.dump(known, file)
        note(f"made in {known['seconds']} s: {known['bytes']:,} bytes, SHA-256 {known['sha256']}")
        return path, known

    def shape_arguments(self, rows):
        profile = health.profile(self.profile_name, rows)
        return ["--profile", profile.name, "--rows", str(profile.rows), "--seed", str(self.seed)]


def require_room(work, size):
    """Copies of the database, buckets and staging, restored files, images and yardsticks."""
    needed = 12 * size + 512 * MIB
    free = shutil.disk_usage(work).free
    if free < needed:
        raise BenchError(
            f"{work} has {free / 1e9:.1f} GB free and {needed / 1e9:.1f} GB are needed;"
            " --work says where else, --rows how much smaller"
        )


def run_acts(sitting, keys, pairs):
    """Runs the acts; the runs that count, by measurement and name."""
    results = {}

    def record(measurement, name, run):
        results.setdefault(measurement, {}).setdefault(name, []).append(run)

    for key in keys:
        act = acts.ACTS[key]
        warm_up = " and one to warm up" if act.warm_up else ""
        note(f"{key}: {act.title}: {pairs * act.repeat} rounds{warm_up}")
        acts.run(sitting, key, pairs, record)
        if key == "restore":
            note("comparing what was restored with what was pushed")
            for side in sitting.sides:
                side.check_output()
    ours = sitting.sides[0]
    if ours.writer:
        note("restoring what all this has left in the bucket, and comparing it with the database")
        ours.push()
        ours.restore()
        ours.check_output()
    return results


def version(command):
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.stdout.strip().splitlines()[0] if result.stdout.strip() else "unknown"


def main():
    arguments = parse_arguments()
    work = os.path.abspath(arguments.work or os.path.join(HERE, "../../.build/bench"))
    os.makedirs(work, exist_ok=True)
    require_room(work, 50 * arguments.rows)
    databases = Databases(work, arguments.profile, arguments.seed)
    base, database = databases.prepare(arguments.rows)

    contestants = [
        Contestant(acts.OURS, arguments.push, arguments.restore, arguments.resident),
        Contestant(acts.PEER, PUSH[acts.PEER], RESTORE[acts.PEER], RESIDENT[acts.PEER]),
    ]
    programs = {
        "dormouse": arguments.with_dormouse,
        "litestream": arguments.with_litestream,
        "sqlite3_rsync": arguments.with_sqlite3_rsync,
        "measure": arguments.with_measure,
        "floor": arguments.with_floor,
        "crc": arguments.with_crc,
    }
    sitting = Sitting(
        work, base, databases.shape_arguments(arguments.rows), contestants, programs
    )
    replaced = [
        given
        for given, usual in (
            (arguments.push, PUSH[acts.OURS]),
            (arguments.restore, RESTORE[acts.OURS]),
            (arguments.resident, RESIDENT[acts.OURS]),
        )
        if given != usual
    ]
    quarter = arguments.rows // 4
    sitting.quarter = lambda: (
        databases.prepare(quarter)[0],
        databases.shape_arguments(quarter),
    )
    sitting.idle_seconds = 5 if arguments.quick else 20
    sitting.agent_seconds = 5 if arguments.quick else 60
    sitting.fleet = 50 if arguments.quick else 1000
    sitting.fleet_seconds = 2 if arguments.quick else 30
    sitting.fleet_rounds = arguments.pairs
    sitting.restore_flushes = 360 if arguments.quick else health.FLUSHES_A_DAY
    # Only Dormouse checks by default.
    sitting.checked_restore = None if replaced else CHECKED_RESTORE
    keys = [key for key in acts.ACTS if not arguments.only or key in arguments.only]
    try:
        results = run_acts(sitting, keys, arguments.pairs)
    finally:
        sitting.close()

    versions = {
        "Dormouse": f"(in its place: {'; '.join(replaced)})"
        if replaced
        else version(["git", "-C", HERE, "rev-parse", "--short=10", "HEAD"]),
        "Litestream": version([arguments.with_litestream, "version"]),
        "SQLite of the application": apsw.sqlite_lib_version(),
        "sqlite3_rsync": version([arguments.with_sqlite3_rsync, "--version"]).split(" ")[0],
        "lz4": version(["sh", "-c", "lz4 --version | grep -o 'v[0-9.]*[0-9]' | head -n 1"]),
        "C compiler": version(["cc", "--version"]),
    }
    report = Report(results, database, sitting.steps, versions, judged=not arguments.quick)
    if arguments.output:
        with open(arguments.output, "w") as file:
            file.write(report.as_markdown())
    print(json.dumps(report.as_json(), indent=2) if arguments.json else report.as_markdown())
    missed = [row.line.title for row in report.bounds if row.met is False]
    for title in missed:
        note(f"bound missed: {title}")
    return 1 if missed and arguments.check else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
