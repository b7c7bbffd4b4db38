"""One sitting: the same work done by every contestant in turn, and what each run cost.

A run is a dictionary of figures: times in seconds, sizes in bytes, the rest counts.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass

import health
from resident import BenchError, Resident

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Contestant:
    """A program under test: its commands.

    `{db}`, `{to}` and `{out}` stand for the paths it is given, `{interval}` and `{pin}` for how a
    resident shall behave, `{config}` for a configuration of Litestream that says the same.
    """

    name: str
    push: str
    restore: str
    resident: str


class Side:
    """A contestant's own copy of the database, the application that writes it, and its bucket."""

    def __init__(self, name, sitting, contestant=None, base=None, shape_arguments=None):
        self.name = name
        self.contestant = contestant
        self.sitting = sitting
        self.base = base or sitting.base
        self.shape_arguments = shape_arguments or sitting.shape_arguments
        self.home = os.path.join(sitting.work, "sides", name.replace(" ", "-"))
        self.database = os.path.join(self.home, "health.sqlite")
        self.bucket = os.path.join(self.home, "bucket")
        self.output = os.path.join(self.home, "restored.sqlite")
        self.image = os.path.join(self.home, "image.sqlite")
        self.writer = None

    # The application

    def start(self):
        """Begins anew: a fresh copy of the database, the application open, no bucket."""
        self.stop()
        os.makedirs(self.home)
        copy(self.base, self.database)
        self.writer = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "health.py"), "write", self.database]
            + self.shape_arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer()

    def need(self):
        """Makes sure that the application runs and that its database has been pushed once."""
        if not self.writer:
            self.start()
        if self.contestant and not inventory(self.bucket):
            self.push()

    def stop(self):
        if self.writer:
            self.writer.stdin.close()
            self.writer.wait()
            self.writer.stdout.close()
            self.writer = None
        shutil.rmtree(self.home, ignore_errors=True)

    def answer(self):
        line = self.writer.stdout.readline()
        if not line:
            raise BenchError(f"the writer of {self.name}'s database ended")
        return json.loads(line)

    def ask(self, command):
        self.writer.stdin.write(command + "\n")
        self.writer.stdin.flush()
        return self.answer()

    def step(self, commits):
        """Lets the application commit that many flushes; its connection stays open.

        The answer has the instant of the last commit, and the newest sample.
        """
        answer = self.ask(f"step {commits}")
        self.sitting.steps.append(answer | {"asked": commits})
        return answer

    def truncate(self, patience_ms=health.BUSY_TIMEOUT_MS):
        """The application's own checkpoint; how long it took and whether it was refused."""
        return self.ask(f"truncate {patience_ms}")

    def checkpoint(self):
        """The application's own checkpoint, which must succeed."""
        result = self.truncate()
        if result["busy"]:
            raise BenchError(f"somebody still holds {self.name}'s database: {result}")

    def close_last(self):
        """Closes the database as SQLite does by default, which must delete the WAL; opens it."""
        if self.ask("reopen")["wal"]:
            raise BenchError(f"somebody still has {self.name}'s database open")

    # The contestant

    def push(self):
        before = inventory(self.bucket)
        run = self.sitting.measure(self.contestant.push, db=self.database, to=self.bucket)
        if not inventory(self.bucket):
            raise BenchError(f"{self.name} exited with status 0 and left no file in its bucket")
        return run | self.shipped_since(before)

    def shipped_since(self, before):
        """Number and bytes of the files that are new in the bucket, and pages on level 0."""
        after = inventory(self.bucket)
        new = [name for name, state in after.items() if before.get(name) != state]
        level0 = os.path.join(self.bucket, "ltx", "0")
        pages = self.sitting.ltx_pages([name for name in new if os.path.dirname(name) == level0])
        return {
            "shipped": sum(after[name][0] for name in new),
            "files": len(new),
            "pages": pages,
        }

    def restore(self, template=None):
        """Restores into a new file, which stays until `forget_output`."""
        self.forget_output()
        template = template or self.contestant.restore
        run = self.sitting.measure(template, to=self.bucket, out=self.output)
        if not os.path.exists(self.output):
            raise BenchError(f"{self.name} exited with status 0 and restored nothing")
        return run | {"shipped": os.path.getsize(self.output), "files": 1}

    def forget_output(self):
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(self.output + suffix):
                os.remove(self.output + suffix)

    def check_output(self):
        """Raises unless the restored file is the database, page by page.

        Header fields that tell the journal mode and how often it was opened may differ.
        """
        self.checkpoint()
        size = os.path.getsize(self.database)
        if os.path.getsize(self.output) != size:
            raise BenchError(
                f"{self.name} restored {os.path.getsize(self.output)} bytes of {size}"
            )
        with open(self.database, "rb") as source, open(self.output, "rb") as restored:
            offset = 0
            while expected := source.read(1 << 20):
                found = restored.read(1 << 20)
                if offset == 0:
                    expected, found = without_volatile(expected), without_volatile(found)
                if expected != found:
                    raise BenchError(f"{self.name} restored other bytes near offset {offset}")
                offset += len(expected)

    def resident(self, interval="1s", pin="hold"):
        """Starts the contestant as a resident process and waits until it has come to rest."""
        config = os.path.join(self.home, "litestream.yml")
        with open(config, "w") as file:
            # YAML is a superset of JSON. Without compaction, which Litestream's own timetable
            # would start in the middle of a measurement.
            replica = {"url": f"file://{self.bucket}", "sync-interval": interval}
            database = {
                "path": self.database,
                "monitor-interval": interval,
                "replica": replica,
            }
            json.dump({"levels": [{"interval": "24h"}], "dbs": [database]}, file)
        command = self.sitting.command(
            self.contestant.resident,
            db=self.database,
            to=self.bucket,
            interval=interval,
            pin=pin,
            config=config,
        )
        resident = Resident(command, self.bucket, os.path.join(self.home, "resident.log"))
        try:
            # Litestream comes to rest only with the first commit after a snapshot.
            resident.settle(patience=15)
            self.step(1)
            resident.settle()
        except BaseException:
            resident.stop()
            raise
        return resident

    # The judges

    def take_image(self):
        """Keeps a copy of the database for the judges; the WAL must be empty."""
        self.checkpoint()
        copy(self.database, self.image)

    def judge(self):
        """Lets sqlite3_rsync bring the image up to date; its run, with the pages it sent."""
        run = self.sitting.measure(
            "{sqlite3_rsync} {db} {image} -vvv", db=self.database, image=self.image
        )
        found = re.search(r"page updates: ([0-9,]+)", self.sitting.output())
        if not found:
            raise BenchError("sqlite3_rsync does not tell how many pages it sent")
        return run | {"pages": int(found[1].replace(",", ""))}

    def differing(self):
        """Pages that differ from the image, and their bytes once packed; the WAL is emptied."""
        self.checkpoint()
        self.sitting.measure(
            "{floor} differ {image} {db}", db=self.database, image=self.image
        )
        found = json.loads(self.sitting.output())
        return {"differing_pages": found["pages"], "differing": found["bytes"]}

    def forget_old_snapshots(self):
        """Deletes all but the newest file of a database's size, of which there would be many."""
        large = os.path.getsize(self.database) / 4
        for folder, _, names in os.walk(self.home):
            files = [os.path.join(folder, name) for name in sorted(names) if name.endswith(".ltx")]
            for path in [path for path in files if os.path.getsize(path) > large][:-1]:
                os.remove(path)


class Sitting:
    """The contestants side by side, with the tools and places that they share."""

    def __init__(self, work, base, shape_arguments, contestants, programs):
        self.work = work
        self.base = base
        self.shape_arguments = shape_arguments
        self.sides = [Side(contestant.name, self, contestant) for contestant in contestants]
        self.programs = programs
        self.steps = []
        self.others = []

    def other_side(self, name, **arguments):
        """One more copy of a database, closed with the sitting."""
        side = Side(name, self, **arguments)
        self.others.append(side)
        return side

    def command(self, template, **places):
        return [word.format(**self.programs, **places) for word in shlex.split(template)]

    def measure(self, template, **places):
        """Runs a command to its end, below a small process of its own, and says what it cost."""
        command = self.command(template, **places)
        result = os.path.join(self.work, "result.json")
        with open(self.log, "wb") as output:
            status = subprocess.run(
                [self.programs["measure"], result] + command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ).returncode
        if status != 0:
            tail = "".join(self.output().splitlines(keepends=True)[-5:]).strip()
            raise BenchError(f"status {status} of: {shlex.join(command)}\n{tail}")
        with open(result) as file:
            cost = json.load(file)
        return {
            "wall": cost["wall_ns"] / 1e9,
            "cpu": (cost["user_us"] + cost["system_us"]) / 1e6,
            "peak": cost["peak_kib"] * 1024,
            "written": cost["written_blocks"] * 512,
        }

    @property
    def log(self):
        return os.path.join(self.work, "output.log")

    def output(self):
        """What the last command that was measured printed."""
        with open(self.log, errors="replace") as file:
            return file.read()

    def ltx_pages(self, paths):
        """How many pages some LTX files hold together."""
        if not paths:
            return 0
        command = [self.programs["dormouse"], "ltx", "info", "--json"] + paths
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        return sum(file["pages"] for file in json.loads(result.stdout))

    def yardstick(self, template, source):
        """Measures a plain tool that turns `{source}` into `{product}`, which is removed."""
        product = os.path.join(self.work, "product")
        run = self.measure(template, source=source, product=product)
        if os.path.exists(product):
            run |= {"shipped": os.path.getsize(product), "files": 1}
            os.remove(product)
        return run

    def compressed(self, source):
        """The file as `lz4 -1` packs it, made once."""
        product = os.path.join(self.work, "sides", "compressed.lz4")
        if not os.path.exists(product):
            self.measure("lz4 -1 -f -q {source} {product}", source=source, product=product)
        return product

    def close(self):
        for side in self.sides + self.others:
            side.stop()
        shutil.rmtree(os.path.join(self.work, "sides"), ignore_errors=True)


def copy(source, target):
    shutil.copyfile(source, target)
    with open(target, "rb") as file:
        os.fsync(file.fileno())


def inventory(directory):
    """Every file below a directory with its size, and what tells that it was written again."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            state = os.stat(path)
            found[path] = (state.st_size, state.st_ino, state.st_mtime_ns)
    return found


def without_volatile(first_bytes):
    """The start of a database file without what may rightly differ in a restored copy."""
    bytes_ = bytearray(first_bytes)
    for start, end in ((18, 20), (24, 28), (92, 100)):
        bytes_[start:end] = bytes(end - start)
    return bytes_
