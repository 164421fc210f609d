"""Runs the program as a user does, and makes small tables for it."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

SANITIZER_MARKS = ("ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "runtime error:", "AddressSanitizer:DEADLYSIGNAL", "Assertion")


@dataclass
class Result:
    command: list
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one document on standard output; anything else there is an error."""
        return json.loads(self.out)

    def describe(self):
        return f"{' '.join(map(str, self.command))}\nexit code {self.code}\n--- stdout\n{self.out[:4000]}\n--- stderr\n{self.err[:4000]}"


def is_sanitized():
    """Whether the program was built with sanitizers, which make it slow and large."""
    cache = Path(os.environ.get("COTERIE_BUILD", "")) / "CMakeCache.txt"
    return cache.exists() and re.search(r"^COTERIE_SANITIZERS:\w+=.", cache.read_text(), re.MULTILINE) is not None


def check_sound(result):
    """No sanitizer report, failed assertion or signal, whatever the command was."""
    for mark in SANITIZER_MARKS:
        assert mark not in result.err, result.describe()
    assert result.code in (0, 1, 2, 3), result.describe()
    return result


class Program:
    """The program, run in a folder of its own."""

    def __init__(self, path, folder):
        self.path = str(path)
        self.folder = Path(folder)

    def __call__(self, *arguments, code=0, environment=None, timeout=300, stdout=subprocess.PIPE):
        """Runs `coterie arguments...` and expects the exit code (None: any of the four)."""
        command = [self.path, *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                              timeout=timeout, env={**os.environ, **(environment or {})})
        result = Result(command, done.returncode, (done.stdout or b"").decode(errors="replace"), done.stderr.decode(errors="replace"))
        check_sound(result)
        assert code is None or result.code == code, result.describe()
        return result

    def interrupt(self, *arguments, after, timeout=240):
        """Runs the program, sends SIGINT once `after` stands on standard error, and waits for the end."""
        command = [self.path, *map(str, arguments)]
        log = self.folder.parent / (self.folder.name + ".stderr")
        deadline = time.monotonic() + timeout
        with open(log, "wb") as sink:
            process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=sink)
            try:
                while after not in log.read_text(errors="replace"):
                    assert process.poll() is None, f"ended before it could be stopped: {log.read_text(errors='replace')}"
                    assert time.monotonic() < deadline, f"never said {after!r}: {log.read_text(errors='replace')}"
                    time.sleep(0.02)
                process.send_signal(signal.SIGINT)
                out, _ = process.communicate(timeout=timeout)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        return check_sound(Result(command, process.returncode, out.decode(errors="replace"), log.read_text(errors="replace")))

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def files(self):
        """Every file below the folder with its bytes (None for what is no regular file)."""
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else None
                for path in sorted(self.folder.rglob("*"))}


def small_rows(tasks=("a", "b"), n=14, features=3, seed=1, labels=("no", "yes")):
    """Rows [x..., label, task] with some signal in the first feature."""
    source = random.Random(seed)
    rows = []
    for number, task in enumerate(tasks):
        for i in range(n):
            y = i % 2
            x = [round(source.gauss((2 * y - 1) * (1 if (j + number) % 2 == 0 else 0.3), 1), 6) for j in range(features)]
            rows.append([*x, labels[y], task])
    return rows


def csv_text(rows, delimiter=",", header=None):
    header = header or [f"f{j + 1}" for j in range(len(rows[0]) - 2)] + ["label", "task"]
    return "".join(delimiter.join(map(str, row)) + "\n" for row in [header, *rows])


def small_csv(**options):
    return csv_text(small_rows(**options))


def libsvm_text(rows):
    """LIBSVM lines of rows [x..., label, task]; the task is left out."""
    return "".join(f"{row[-2]} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row[:-2]) if value) + "\n" for row in rows)


def gzipped(text):
    return gzip.compress(text.encode(), mtime=0)
