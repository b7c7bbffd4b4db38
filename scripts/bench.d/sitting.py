"""One sitting: the same work done by every contestant in turn, and what each run cost."""

import dataclasses
import json
import os
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class BenchError(Exception):
    """Something that keeps the benchmark from going on, in one line."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What one run cost. Times in seconds, the rest in bytes or counts."""

    wall: float
    cpu: float  # user and system
    peak: int  # resident memory
    written: int  # what the process dirtied on disk
    waits: int  # voluntary context switches
    shipped: int = 0  # size of the files that it made: new or changed ones in the bucket, a copy
    files: int = 0  # how many those are


@dataclasses.dataclass(frozen=True)
class Contestant:
    """A program under test. `{db}`, `{to}` and `{out}` stand for the paths it is given."""

    name: str
    push: str
    restore: str


class Side:
    """A contestant's own copy of the database, the application that writes it, and its bucket."""

    def __init__(self, contestant, sitting):
        self.name = contestant.name
        self.contestant = contestant
        self.sitting = sitting
        self.home = os.path.join(sitting.work, "sides", contestant.name)
        self.database = os.path.join(self.home, "health.sqlite")
        self.bucket = os.path.join(self.home, "bucket")
        self.output = os.path.join(self.home, "restored.sqlite")
        self.writer = None

    def start(self):
        """Begins anew: a fresh copy of the database, the application open, no bucket."""
        self.stop()
        os.makedirs(self.home)
        shutil.copyfile(self.sitting.base, self.database)
        sync_file(self.database)
        self.writer = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "health.py"), "write", self.database]
            + self.sitting.shape_arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer()

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
        """Lets the application commit that many flushes; its connection stays open."""
        self.sitting.steps.append(self.ask(f"step {commits}") | {"asked": commits})

    def push(self):
        before = inventory(self.bucket)
        run = self.sitting.measure(self.contestant.push, db=self.database, to=self.bucket)
        after = inventory(self.bucket)
        if not after:
            raise BenchError(f"{self.name} exited with status 0 and left no file in its bucket")
        new = [name for name, state in after.items() if before.get(name) != state]
        return dataclasses.replace(
            run, files=len(new), shipped=sum(after[name][0] for name in new)
        )

    def restore(self):
        """Restores into a new file, which stays until `forget_output`."""
        self.forget_output()
        run = self.sitting.measure(self.contestant.restore, to=self.bucket, out=self.output)
        if not os.path.exists(self.output):
            raise BenchError(f"{self.name} exited with status 0 and restored nothing")
        return dataclasses.replace(run, files=1, shipped=os.path.getsize(self.output))

    def forget_output(self):
        for suffix in ("", "-wal", "-shm", "-journal"):
            if os.path.exists(self.output + suffix):
                os.remove(self.output + suffix)

    def check_output(self):
        """Raises unless the restored file is the database, page by page.

        Header fields that tell the journal mode and how often it was opened may differ.
        """
        result = self.ask("checkpoint")
        if result["busy"]:
            raise BenchError(f"somebody still holds {self.name}'s database: {result}")
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


class Sitting:
    """The contestants side by side, with the tools and places that they share."""

    def __init__(self, work, base, shape_arguments, contestants, programs):
        self.work = work
        self.base = base
        self.shape_arguments = shape_arguments
        self.sides = [Side(contestant, self) for contestant in contestants]
        self.programs = programs
        self.steps = []

    def measure(self, template, **places):
        """Runs a command to its end, below a small process of its own, and says what it cost."""
        command = [
            word.format(**self.programs, **places) for word in shlex.split(template)
        ]
        result = os.path.join(self.work, "result.json")
        log = os.path.join(self.work, "output.log")
        with open(log, "wb") as output:
            status = subprocess.run(
                [self.programs["measure"], result] + command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ).returncode
        if status != 0:
            with open(log, errors="replace") as file:
                tail = "".join(file.readlines()[-5:]).strip()
            raise BenchError(f"status {status} of: {shlex.join(command)}\n{tail}")
        with open(result) as file:
            cost = json.load(file)
        return Run(
            wall=cost["wall_ns"] / 1e9,
            cpu=(cost["user_us"] + cost["system_us"]) / 1e6,
            peak=cost["peak_kib"] * 1024,
            written=cost["written_blocks"] * 512,
            waits=cost["waits"],
        )

    def yardstick(self, template, source):
        """Measures a plain tool that turns `{source}` into `{product}`, which is removed."""
        product = os.path.join(self.work, "product")
        run = self.measure(template, source=source, product=product)
        size = os.path.getsize(product)
        os.remove(product)
        return dataclasses.replace(run, shipped=size, files=1)

    def compressed(self, source):
        """The file as `lz4 -1` packs it, made once."""
        product = os.path.join(self.work, "sides", "compressed.lz4")
        if not os.path.exists(product):
            self.measure("lz4 -1 -f -q {source} {product}", source=source, product=product)
        return product

    def close(self):
        for side in self.sides:
            side.stop()
        shutil.rmtree(os.path.join(self.work, "sides"), ignore_errors=True)


def sync_file(path):
    with open(path, "rb") as file:
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
