"""Helpers for the HTTP tests: the service process, a client that detects truncated responses, and generated texts.

Uses only the standard library. The binary is `$SAMEISH`, or the newest one that `cargo build` left in the target directory.
"""
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def binary():
    """Returns the path of the `sameish` binary to test."""
    if os.environ.get("SAMEISH"):
        return os.environ["SAMEISH"]
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    candidates = [path for path in (target / "debug/sameish", target / "release/sameish") if path.exists()]
    if not candidates:
        sys.exit(f"no binary in {target}; run `cargo build` or set SAMEISH to its path")
    return str(max(candidates, key=lambda path: path.stat().st_mtime))


class Failed(Exception):
    """The service violated an expectation of a test."""


class StartFailed(Failed):
    """The service exited before it listened."""

    def __init__(self, code, log):
        super().__init__(f"the service did not start; exit code {code}: {log}")
        self.code, self.log = code, log


def check(condition, message):
    """Raises `Failed` with the message unless the condition holds."""
    if not condition:
        raise Failed(message)


class NoResponse(Exception):
    """The connection ended before the first byte of a response; the service may or may not have processed the request."""


class TruncatedResponse(Exception):
    """The connection ended within a response. `lines` has the complete lines received so far."""

    def __init__(self, body):
        super().__init__(f"the response ended after {len(body)} bytes of its body")
        self.lines = body.split(b"\n")[:-1]


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Client:
    """A client with one persistent connection, which is opened again after it was closed."""

    def __init__(self, address, timeout=30):
        self.address, self.timeout = address, timeout
        self.socket = self.file = None

    def close(self):
        for resource in (self.file, self.socket):
            if resource:
                resource.close()
        self.socket = self.file = None

    def request(self, method, path, body=None, content_type="application/json"):
        """Sends a request and returns the response."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if body is not None:
            head += f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, self.timeout)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.file = self.socket.makefile("rb")
            self.socket.sendall(head.encode() + b"\r\n" + (body or b""))
        except socket.timeout:
            self.close()
            raise Failed(f"{method} {path}: the request was not accepted within {self.timeout} s") from None
        except OSError as error:
            self.close()
            raise NoResponse(str(error)) from None
        try:
            response = self.read(method)
        except socket.timeout:
            self.close()
            raise Failed(f"{method} {path}: no response within {self.timeout} s") from None
        except (NoResponse, TruncatedResponse):
            self.close()
            raise
        if response.headers.get("connection") == "close":
            self.close()
        return response

    def read(self, method):
        first = self.line(b"")
        if not first:
            raise NoResponse("connection closed")
        if not first.endswith(b"\r\n"):
            raise TruncatedResponse(b"")
        headers = {}
        while (line := self.line(b"")) != b"\r\n":
            if not line.endswith(b"\r\n"):
                raise TruncatedResponse(b"")
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        status = int(first.split()[1])
        if headers.get("transfer-encoding") == "chunked":
            return Response(status, headers, self.chunks())
        length = 0 if method == "HEAD" or status == 204 else int(headers["content-length"])
        return Response(status, headers, self.exactly(length, b""))

    def line(self, before):
        """Reads a line; `before` is the part of the body received so far."""
        try:
            return self.file.readline()
        except ConnectionError:
            if before:
                raise TruncatedResponse(before) from None
            return b""

    def exactly(self, length, before):
        """Reads exactly `length` bytes; `before` is the part of the body received so far."""
        received = b""
        while len(received) < length:
            try:
                chunk = self.file.read1(length - len(received))
            except ConnectionError:
                chunk = b""
            if not chunk:
                raise TruncatedResponse(before + received)
            received += chunk
        return received

    def chunks(self):
        """Reads a chunked body."""
        body = b""
        while True:
            size = self.line(body)
            if not size.endswith(b"\r\n"):
                raise TruncatedResponse(body)
            length = int(size, 16)
            body += self.exactly(length, body)
            if self.exactly(2, body) != b"\r\n":
                raise Failed("a chunk does not end with CRLF")
            if length == 0:
                return body


class Service:
    """A running `sameish serve` process."""

    def __init__(self, data, *flags, log=None, level="warn", under=()):
        self.data, self.log = Path(data), Path(log or f"{data}.log")
        command = [*under, binary(), "serve", "--listen", "127.0.0.1:0", "--data", str(data), "--log", level, *flags]
        started = time.monotonic()
        with open(self.log, "ab") as log_file:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log_file, text=True)
        first = self.process.stdout.readline()
        self.ready_after = time.monotonic() - started
        if not first.startswith("listening on http://"):
            code = self.process.wait(10)
            raise StartFailed(code, self.log_tail())
        host, port = first.split("http://")[1].strip().rsplit(":", 1)
        self.address = (host, int(port))
        self.wait_for_signal_handler()

    def wait_for_signal_handler(self):
        """Waits until the process handles SIGTERM; before that, the signal would kill it."""
        for _ in range(500):
            status = Path(f"/proc/{self.process.pid}/status")
            caught = [line for line in status.read_text().splitlines() if line.startswith("SigCgt")] if status.exists() else []
            if not caught or int(caught[0].split()[1], 16) >> signal.SIGTERM - 1 & 1:
                return
            time.sleep(0.01)

    def log_tail(self):
        """Returns the end of the log."""
        return self.log.read_text(errors="replace")[-600:].strip()

    def client(self):
        return Client(self.address)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, within=10):
        """Sends SIGTERM and checks that the process exits with code 0 in time. Returns the seconds it took."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f"still running {within} s after SIGTERM: {self.log_tail()}") from None
        self.process.stdout.close()
        check(code == 0, f"exit code {code} after SIGTERM: {self.log_tail()}")
        return time.monotonic() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def command(*arguments):
    """Runs a `sameish` command and returns the completed process."""
    return subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True)


def verify(data):
    """Runs `index verify`, which checks every row and compares the index with a rebuilt one."""
    result = command("index", "verify", data)
    check(result.returncode == 0, f"index verify: exit code {result.returncode}\n{result.stdout[:2000]}{result.stderr[-500:]}")


class Texts:
    """Generates small articles of a few families, so that some of them match and form clusters."""

    WORDS = [a + b + c for a in "b d f g k l m n p r s t v".split() for b in "a e i o u".split()
             for c in "n r s t ld mp nd st".split()]

    def __init__(self, seed, families=12, words=60):
        self.random = random.Random(seed)
        shared = random.Random(1)
        self.families = [[shared.choice(self.WORDS) for _ in range(words)] for _ in range(families)]

    def text(self, mark):
        """Returns a family's text with some words replaced. It contains the mark, so that no two texts are equal."""
        words = list(self.random.choice(self.families))
        for _ in range(self.random.choice((0, 1, 3, 10, 30))):
            words[self.random.randrange(len(words))] = self.random.choice(self.WORDS)
        return " ".join(words) + f" {mark}."

    def document(self, name, mark):
        return {"id": name, "title": f"Title {mark}", "text": self.text(mark), "host": f"{mark}.example"}


def same(stored, sent):
    """Returns whether a stored document has all fields as they were sent."""
    return all(stored.get(field) == value for field, value in sent.items())


class TemporaryDirectory:
    """A temporary directory that is kept if a test fails."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="sameish-"))
        return self.path

    def __exit__(self, kind, *_):
        if kind is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            print(f"kept for inspection: {self.path}", file=sys.stderr)


def run(main):
    """Runs a test and prints its failure in one line."""
    try:
        main()
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
