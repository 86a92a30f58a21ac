"""What the checks of the running service share: the process, a client that notices half answers, and small texts.

Standard library only. The binary is `$SAMEISH`, or the one that `cargo build` leaves in the target folder.
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
    if os.environ.get("SAMEISH"):
        return os.environ["SAMEISH"]
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    found = [path for path in (target / "debug/sameish", target / "release/sameish") if path.exists()]
    if not found:
        sys.exit(f"no binary in {target}: run `cargo build`, or name one with SAMEISH=PATH")
    return str(max(found, key=lambda path: path.stat().st_mtime))


class Failed(Exception):
    """The service did what it must not do."""


class Refused(Failed):
    """The service did not start."""

    def __init__(self, code, words):
        super().__init__(f"did not start, exit {code}: {words}")
        self.code, self.words = code, words


def check(holds, what):
    if not holds:
        raise Failed(what)


class NoAnswer(Exception):
    """The connection ended before the first byte of an answer: what was asked may have been done or not."""


class HalfAnswer(Exception):
    """The connection ended inside an answer. What had come of it is in `lines`, without an unfinished last line."""

    def __init__(self, body):
        super().__init__(f"the answer ended after {len(body)} bytes of its body")
        self.lines = body.split(b"\n")[:-1]


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Client:
    """One connection, kept open and made again when it has gone."""

    def __init__(self, address, timeout=30):
        self.address, self.timeout = address, timeout
        self.socket = self.file = None

    def close(self):
        for thing in (self.file, self.socket):
            if thing:
                thing.close()
        self.socket = self.file = None

    def ask(self, method, path, body=None, kind="application/json"):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if body is not None:
            head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, self.timeout)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.file = self.socket.makefile("rb")
            self.socket.sendall(head.encode() + b"\r\n" + (body or b""))
        except socket.timeout:
            self.close()
            raise Failed(f"{method} {path}: not taken within {self.timeout} s") from None
        except OSError as error:
            self.close()
            raise NoAnswer(str(error)) from None
        try:
            answer = self.read(method)
        except socket.timeout:
            self.close()
            raise Failed(f"{method} {path}: no answer within {self.timeout} s") from None
        except (NoAnswer, HalfAnswer):
            self.close()
            raise
        if answer.headers.get("connection") == "close":
            self.close()
        return answer

    def read(self, method):
        first = self.line(b"")
        if not first:
            raise NoAnswer("closed")
        if not first.endswith(b"\r\n"):
            raise HalfAnswer(b"")
        headers = {}
        while (line := self.line(b"")) != b"\r\n":
            if not line.endswith(b"\r\n"):
                raise HalfAnswer(b"")
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        status = int(first.split()[1])
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, self.chunks())
        length = 0 if method == "HEAD" or status == 204 else int(headers["content-length"])
        return Answer(status, headers, self.exactly(length, b""))

    def line(self, before):
        try:
            return self.file.readline()
        except ConnectionError:
            if before:
                raise HalfAnswer(before) from None
            return b""

    def exactly(self, length, before):
        """So many bytes; `before` is what the body had so far."""
        got = b""
        while len(got) < length:
            try:
                piece = self.file.read1(length - len(got))
            except ConnectionError:
                piece = b""
            if not piece:
                raise HalfAnswer(before + got)
            got += piece
        return got

    def chunks(self):
        body = b""
        while True:
            size = self.line(body)
            if not size.endswith(b"\r\n"):
                raise HalfAnswer(body)
            length = int(size, 16)
            body += self.exactly(length, body)
            if self.exactly(2, body) != b"\r\n":
                raise Failed("a chunk without its end")
            if length == 0:
                return body


class Service:
    """A running `sameish serve`."""

    def __init__(self, data, *flags, log=None, level="warn", under=()):
        self.data, self.log = Path(data), Path(log or f"{data}.log")
        command = [*under, binary(), "serve", "--listen", "127.0.0.1:0", "--data", str(data), "--log", level, *flags]
        started = time.monotonic()
        with open(self.log, "ab") as words:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=words, text=True)
        first = self.process.stdout.readline()
        self.ready_after = time.monotonic() - started
        if not first.startswith("listening on http://"):
            code = self.process.wait(10)
            raise Refused(code, self.last_words())
        host, port = first.split("http://")[1].strip().rsplit(":", 1)
        self.address = (host, int(port))
        self.wait_for_ears()

    def wait_for_ears(self):
        """Just after the start a signal may not be heard yet, and would end the process the hard way."""
        for _ in range(500):
            status = Path(f"/proc/{self.process.pid}/status")
            caught = [line for line in status.read_text().splitlines() if line.startswith("SigCgt")] if status.exists() else []
            if not caught or int(caught[0].split()[1], 16) >> signal.SIGTERM - 1 & 1:
                return
            time.sleep(0.01)

    def last_words(self):
        return self.log.read_text(errors="replace")[-600:].strip()

    def client(self):
        return Client(self.address)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self, within=10):
        """Ends it in good order: exit 0 in time."""
        asked = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed(f"still there {within} s after SIGTERM: {self.last_words()}") from None
        self.process.stdout.close()
        check(code == 0, f"exit {code} after SIGTERM: {self.last_words()}")
        return time.monotonic() - asked

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


def command(*arguments):
    return subprocess.run([binary(), *map(str, arguments)], capture_output=True, text=True)


def verify(data):
    """Every row and the index against a rebuild, by the command that an operator has."""
    ran = command("index", "verify", data)
    check(ran.returncode == 0, f"index verify: exit {ran.returncode}\n{ran.stdout[:2000]}{ran.stderr[-500:]}")


class Texts:
    """Small articles of a few families, so that there is something to match and to cluster."""

    WORDS = [a + b + c for a in "b d f g k l m n p r s t v".split() for b in "a e i o u".split()
             for c in "n r s t ld mp nd st".split()]

    def __init__(self, seed, families=12, words=60):
        self.random = random.Random(seed)
        shared = random.Random(1)
        self.families = [[shared.choice(self.WORDS) for _ in range(words)] for _ in range(families)]

    def text(self, mark):
        """A family's text with some other words. The mark is in it, so no two texts are equal."""
        words = list(self.random.choice(self.families))
        for _ in range(self.random.choice((0, 1, 3, 10, 30))):
            words[self.random.randrange(len(words))] = self.random.choice(self.WORDS)
        return " ".join(words) + f" {mark}."

    def document(self, name, mark):
        return {"id": name, "title": f"Title {mark}", "text": self.text(mark), "host": f"{mark}.example"}


def same(stored, sent):
    return all(stored.get(field) == value for field, value in sent.items())


class Folder:
    """A folder that goes away, unless something failed."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="sameish-"))
        return self.path

    def __exit__(self, kind, *_):
        if kind is None:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            print(f"left for a look: {self.path}", file=sys.stderr)


def run(main):
    """Runs a check; what failed is told in a line."""
    try:
        main()
    except Failed as failed:
        sys.exit(f"FAILED: {failed}")
