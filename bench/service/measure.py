"""Helpers of the benchmarks of the service."""
import os
import subprocess
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent


def percentile(times, share):
    return sorted(times)[min(int(len(times) * share), len(times) - 1)] * 1e3


def row(what, figure):
    print(f"| {what} | {figure} |", flush=True)


class Process:
    """CPU time and memory of the service, from /proc."""

    def __init__(self, service):
        self.pid = service.process.pid

    def cpu(self):
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def make_articles(directory, count):
    path, generator = directory / f"articles-{count}.jsonl", directory / "gen_text"
    if not path.exists():
        subprocess.run(["rustc", "-O", BENCH / "gen_text.rs", "-o", generator], check=True)
        subprocess.run([generator, str(count), "5", path, directory / "truth.tsv"], check=True)
    return path
