"""A sink, and what is pushed to it, watched from outside."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import threading
import time

import apsw

from resident import BenchError, Resident


class Sink:
    """A `dormouse sink` with a directory of its own."""

    def __init__(self, program, data):
        self.data = data
        self.log = f"{data}.log"
        os.makedirs(data)
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                [program, "sink", "--data", data, "--listen", "127.0.0.1:0"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if key != "JOURNAL_STREAM"},
            )
        self.port = self.await_port()

    def await_port(self, patience=20):
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.process.poll() is None:
            with open(self.log, errors="replace") as file:
                for line in file:
                    if "kind=sink-start" in line and "address=" in line:
                        address = line.split("address=")[1].split()[0].strip('"')
                        return int(address.rsplit(":", 1)[1])
            time.sleep(0.01)
        self.stop()
        with open(self.log, errors="replace") as file:
            raise BenchError(f"the sink did not start: {file.read()[-500:]}")

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/db/{name}"

    def mirror(self, name):
        return os.path.join(self.data, name, "mirror.sqlite")

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().read()

    def applied(self, name):
        return json.loads(self.get(f"/db/{name}/freshness")).get("applied_txid")

    def await_applied(self, name, txid, patience=120):
        deadline = time.monotonic() + patience
        while self.applied(name) != txid:
            if time.monotonic() > deadline:
                raise BenchError(f"the mirror of {name} does not reach {txid}")
            time.sleep(0.002)

    def cpu(self):
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def memory(self, key="VmHWM"):
        """Bytes of resident memory: the most so far, or `VmRSS`, now."""
        with open(f"/proc/{self.process.pid}/status") as file:
            for line in file:
                if line.startswith(key):
                    return int(line.split()[1]) * 1024
        return 0

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Receiver(threading.Thread):
    """Takes one upload of curl's, writes it to a file and syncs that before it answers."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path = path
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        connection, _ = self.listener.accept()
        with contextlib.closing(self.listener), connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            head, _, rest = head.partition(b"\r\n\r\n")
            length = next(
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            )
            buffer = memoryview(bytearray(1 << 20))
            with open(self.path, "wb", buffering=0) as file:
                file.write(rest)
                left = length - len(rest)
                while left:
                    count = connection.recv_into(buffer, min(left, len(buffer)))
                    if not count:
                        return
                    file.write(buffer[:count])
                    left -= count
                os.fsync(file.fileno())
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def curl_copy(sitting, source):
    """What it costs to copy a file over loopback with curl, synced at the other end."""
    product = os.path.join(sitting.work, "received")
    receiver = Receiver(product)
    run = sitting.measure(
        "curl -sS -H Expect: -T {source} http://127.0.0.1:{port}/",
        source=source,
        port=receiver.port,
    )
    receiver.join()
    size = os.path.getsize(product)
    os.remove(product)
    if size != os.path.getsize(source):
        raise BenchError("curl's copy is not whole")
    return run | {"shipped": size}


class Follower:
    """Somebody who reads the mirror and wants to see a commit."""

    def __init__(self, path):
        self.connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self.connection.set_busy_timeout(5_000)

    def newest(self):
        try:
            return self.connection.execute("SELECT max(newest) FROM daily_summary").get
        except apsw.SQLError:
            return None  # a mirror that is still empty has no table

    def await_newest(self, value, patience=20):
        """Waits for it; the instant at which it was there."""
        deadline = time.monotonic() + patience
        while True:
            found = self.newest()
            now = time.monotonic()
            if found is not None and found >= value:
                return now
            if now > deadline:
                raise BenchError(f"the mirror does not show {value}")
            time.sleep(0.001)


def small_deltas(sitting, side, count):
    """Level-0 files of a small database: a first one, and as many deltas of a flush."""
    database = os.path.join(side.home, "small.sqlite")
    bucket = os.path.join(side.home, "small-bucket")
    connection = apsw.Connection(database)
    for _ in connection.execute(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
        "CREATE TABLE sample(id INTEGER PRIMARY KEY, at INTEGER, v REAL)"
    ):
        pass
    for _ in range(count):
        connection.execute(
            "INSERT INTO sample(at, v) WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1"
            " FROM n LIMIT 90) SELECT i, random() / 1e9 FROM n"
        )
        sitting.measure("{dormouse} push {db} --to {to}", db=database, to=bucket)
    connection.close()
    level0 = os.path.join(bucket, "ltx", "0")
    return [os.path.join(level0, name) for name in sorted(os.listdir(level0))]


class Fleet:
    """Devices that each keep a connection and push the same files to a database of their own."""

    THREADS = 16

    def __init__(self, sink, count):
        self.connections = [
            (f"device-{number}", http.client.HTTPConnection("127.0.0.1", sink.port))
            for number in range(count)
        ]

    def push(self, path, spread):
        """Every device pushes a file, evenly over so many seconds."""
        with open(path, "rb") as file:
            body = file.read()
        target = f"ltx/0/{os.path.basename(path)}"
        started = time.monotonic()
        step = spread / len(self.connections)
        failures = []

        def work(first):
            for index in range(first, len(self.connections), self.THREADS):
                time.sleep(max(0, started + index * step - time.monotonic()))
                name, connection = self.connections[index]
                connection.request("PUT", f"/db/{name}/{target}", body)
                response = connection.getresponse()
                reason = response.read()
                if response.status != 200:
                    failures.append(f"{name}: {response.status} {reason!r}")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(self.THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        time.sleep(max(0, started + spread - time.monotonic()))
        if failures:
            raise BenchError(f"{len(failures)} pushes failed, such as {failures[0]}")


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def replicate(sitting, side, url):
    """A resident that ships every commit at once."""
    command = [
        sitting.programs["dormouse"], "replicate", side.database, "--to", url,
        "--interval", "1ms",
    ]
    return Resident(command, side.bucket, os.path.join(side.home, "resident.log"))
