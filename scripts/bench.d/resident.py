"""A replicator that stays, watched from outside."""

import os
import signal
import subprocess
import time


class BenchError(Exception):
    """Something that keeps the benchmark from going on, in one line."""


class Resident:
    """A process that replicates one database into one directory."""

    def __init__(self, command, bucket, log):
        self.level0 = os.path.join(bucket, "ltx", "0")
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def stop(self):
        """Ends it as a service manager would."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def check(self):
        if self.process.poll() is None:
            return
        with open(self.log, errors="replace") as file:
            tail = "".join(file.readlines()[-5:]).strip()
        raise BenchError(f"a resident ended: {self.process.args}\n{tail}")

    # What it costs

    def cpu(self):
        """CPU seconds so far, all of its threads, those that ended too."""
        # clock_getcpuclockid(3), as Linux counts it.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def switches(self):
        """Voluntary context switches of each thread: how often it went to sleep, so woke up."""
        tasks = f"/proc/{self.process.pid}/task"
        counts = {}
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/status") as file:
                    for line in file:
                        if line.startswith("voluntary_ctxt_switches"):
                            counts[task] = int(line.split()[1])
            except FileNotFoundError:
                pass
        return counts

    @staticmethod
    def at_rest(residents, seconds):
        """Watches several at once while nothing happens; a run for each, a minute's worth."""
        before = [(resident.cpu(), resident.switches()) for resident in residents]
        started = time.monotonic()
        time.sleep(seconds)
        minutes = (time.monotonic() - started) / 60
        runs = []
        for resident, (cpu, switches) in zip(residents, before):
            resident.check()
            now = resident.switches()
            # A thread that ended woke up for it.
            wakeups = sum(count - switches.get(task, 0) for task, count in now.items())
            wakeups += len(switches.keys() - now.keys())
            runs.append(
                {"wakeups": wakeups / minutes, "minute_cpu": (resident.cpu() - cpu) / minutes}
            )
        return runs

    def settle(self, patience=180):
        """Waits, within bounds, until it no longer works hard and ships nothing for a while.

        One that polls every few milliseconds never rests; one that re-reads a snapshot burns a
        core.
        """
        deadline = time.monotonic() + patience
        quiet = 0
        state = None
        while quiet < 4 and time.monotonic() < deadline:
            cpu = self.cpu()
            time.sleep(0.4)
            self.check()
            files = self.files()
            quiet = quiet + 1 if files == state and self.cpu() - cpu < 0.1 else 0
            state = files

    # What it ships

    def files(self):
        """Names and sizes of the LTX files on level 0."""
        found = {}
        try:
            entries = list(os.scandir(self.level0))
        except FileNotFoundError:
            return found
        for entry in entries:
            if entry.name.endswith(".ltx"):
                try:
                    found[entry.name] = entry.stat().st_size
                except FileNotFoundError:
                    pass
        return found

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self, watch):
        """Lets it go on, and watches for `watch` seconds what that costs.

        `wall` is the time until the largest of the new files stood in the bucket.
        """
        known = self.files().keys()
        arrived = {}
        cpu = self.cpu()
        started = time.monotonic()
        self.process.send_signal(signal.SIGCONT)
        while (now := time.monotonic()) < started + watch:
            for name in os.listdir(self.level0):
                if name.endswith(".ltx") and name not in known and name not in arrived:
                    arrived[name] = now - started
            # Often only at first: this is CPU that the resident might want.
            time.sleep(0.0005 if not arrived else 0.005)
        self.check()
        cpu = self.cpu() - cpu
        if not arrived:
            raise BenchError(f"nothing came from {self.process.args} in {watch} s")
        sizes = self.files()
        largest = max(arrived, key=lambda name: sizes.get(name, 0))
        return {
            "wall": arrived[largest],
            "cpu": cpu,
            "shipped": sum(sizes.get(name, 0) for name in arrived),
            "files": len(arrived),
        }
