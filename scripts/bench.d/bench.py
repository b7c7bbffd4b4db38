"""Measures Dormouse against Litestream on a health database. `scripts/bench` starts it."""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys

import apsw

import health
import measurements
from report import Report
from sitting import BenchError, Contestant, Sitting

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_ROWS = 16_327_260
QUICK_ROWS = 270_000

PUSH = {
    measurements.OURS: "{dormouse} push {db} --to {to}",
    measurements.PEER: "{litestream} replicate -once {db} file://{to}",
}
RESTORE = {
    # Neither checks what it restored: Litestream does not by default.
    measurements.OURS: "{dormouse} restore {to} -o {out} --integrity-check none",
    measurements.PEER: "{litestream} restore -o {out} file://{to}",
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
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--output")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--push", default=PUSH[measurements.OURS])
    parser.add_argument("--restore", default=RESTORE[measurements.OURS])
    for program in ("dormouse", "litestream", "measure"):
        parser.add_argument(f"--with-{program}", required=True)
    arguments = parser.parse_args()
    if arguments.rows is None:
        arguments.rows = QUICK_ROWS if arguments.quick else DEFAULT_ROWS
    if arguments.pairs is None:
        arguments.pairs = 2 if arguments.quick else 5
    if arguments.rows < health.FLUSH_ROWS:
        parser.error(f"--rows must be at least {health.FLUSH_ROWS}")
    if arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    return arguments


def prepare_database(work, profile, seed):
    """The database of that profile and seed, made unless it is there, and what is known of it."""
    with open(os.path.join(HERE, "health.py"), "rb") as file:
        recipe = hashlib.sha256(file.read() + apsw.sqlite_lib_version().encode()).hexdigest()[:12]
    path = os.path.join(work, f"health-{profile.name}-{profile.rows}-{seed}-{recipe}.sqlite")
    facts = f"{path}.json"
    if os.path.exists(facts) and os.path.exists(path):
        with open(facts) as file:
            known = json.load(file)
        if os.path.getsize(path) == known["bytes"]:
            return path, known
    note(f"making the database: {profile.rows:,} rows")
    known = health.build(path, profile, seed)
    with open(facts, "w") as file:
        json.dump(known, file)
    note(f"made in {known['seconds']} s: {known['bytes']:,} bytes, SHA-256 {known['sha256']}")
    return path, known


def require_room(work, size):
    """Both contestants' databases, buckets and staging, restored files and yardsticks."""
    needed = 8 * size + 256 * measurements.MIB
    free = shutil.disk_usage(work).free
    if free < needed:
        raise BenchError(
            f"{work} has {free / 1e9:.1f} GB free and {needed / 1e9:.1f} GB are needed;"
            " --work says where else, --rows how much smaller"
        )


def run_acts(sitting, pairs):
    """Runs every act; the runs it counts, by measurement and name."""
    results = {}

    def count(measurement, name, run):
        results.setdefault(measurement, {}).setdefault(name, []).append(run)

    def warm_up(_measurement, _name, _run):
        pass

    for act in measurements.ACTS:
        rounds = pairs * act.repeat
        note(f"{act.title}: {rounds} pairs and one to warm up")
        act.body(sitting, warm_up)
        for _ in range(rounds):
            act.body(sitting, count)
    note("comparing what was restored with what was pushed")
    for side in sitting.sides:
        side.check_output()
    return results


def version(command):
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.stdout.strip().splitlines()[0] if result.stdout.strip() else "unknown"


def main():
    arguments = parse_arguments()
    work = os.path.abspath(arguments.work or os.path.join(HERE, "../../.build/bench"))
    os.makedirs(work, exist_ok=True)
    profile = health.profile(arguments.profile, arguments.rows)
    require_room(work, 50 * profile.rows)
    base, database = prepare_database(work, profile, arguments.seed)

    contestants = [
        Contestant(measurements.OURS, arguments.push, arguments.restore),
        Contestant(measurements.PEER, PUSH[measurements.PEER], RESTORE[measurements.PEER]),
    ]
    programs = {
        "dormouse": arguments.with_dormouse,
        "litestream": arguments.with_litestream,
        "measure": arguments.with_measure,
    }
    shape_arguments = ["--profile", profile.name, "--rows", str(profile.rows)]
    shape_arguments += ["--seed", str(arguments.seed)]
    sitting = Sitting(work, base, shape_arguments, contestants, programs)
    try:
        results = run_acts(sitting, arguments.pairs)
    finally:
        sitting.close()

    ours = version(["git", "-C", HERE, "rev-parse", "--short=10", "HEAD"])
    if arguments.push != PUSH[measurements.OURS]:
        ours = f"(in its place: {arguments.push})"
    versions = {
        "Dormouse": ours,
        "Litestream": version([arguments.with_litestream, "version"]),
        "SQLite of the application": apsw.sqlite_lib_version(),
        "lz4": version(["sh", "-c", "lz4 --version | grep -o 'v[0-9.]*[0-9]' | head -n 1"]),
    }
    report = Report(results, database, sitting.steps, versions, judged=not arguments.quick)
    if arguments.output:
        with open(arguments.output, "w") as file:
            file.write(report.as_markdown())
    print(json.dumps(report.as_json(), indent=2) if arguments.json else report.as_markdown())
    missed = [line.title for line, _, met in report.verdicts() if met is False]
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
