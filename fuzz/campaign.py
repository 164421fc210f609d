"""Runs the fuzz targets of build/fuzz, two at a time: campaign.py SECONDS [TARGET...]. Called by ./run fuzz.

Inputs that reach new code are kept in build/fuzz/corpus, for the next time; findings in build/fuzz/findings. The limits are those of every
input: an allocation, or the memory of the process, of 512 MB; ten seconds. Exits with 1 when there are findings.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
FINDINGS = BUILD / "findings"
LIMIT_MB = 512
TIMEOUT_SECONDS = 10
AT_A_TIME = 2
# Bytes; else 4096. A sparse file may ask for memory in proportion to its size (io/libsvm_reader.cpp).
LONGEST_INPUT = {"gzip": 512, "libsvm": 512, "mat": 16384, "model": 32768, "problem": 2048, "table": 512}
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    # Freed memory counts as long as it is kept to find uses of it: so it is not kept for long.
    "ASAN_OPTIONS": "quarantine_size_mb=1:allocator_release_to_os_interval_ms=-1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def command(target, scratch):
    words = [str(BUILD / "fuzz" / f"fuzz_{target}"), f"-timeout={TIMEOUT_SECONDS}", f"-malloc_limit_mb={LIMIT_MB}", f"-rss_limit_mb={LIMIT_MB}"]
    dictionary = ROOT / "fuzz" / "dictionaries" / f"{target}.txt"
    if dictionary.exists():
        words.append(f"-dict={dictionary}")
    return words, {**os.environ, **ENVIRONMENT, "TMPDIR": scratch}


def last(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(target, seconds, scratch):
    kept = BUILD / "corpus" / target
    kept.mkdir(parents=True, exist_ok=True)
    words, environment = command(target, scratch)
    words += [f"-max_total_time={seconds}", "-print_final_stats=1", f"-artifact_prefix={FINDINGS}/{target}-",
              f"-max_len={LONGEST_INPUT.get(target, 4096)}", str(kept), str(ROOT / "fuzz" / "corpus" / target)]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    log = BUILD / "logs" / f"{target}.txt"
    log.parent.mkdir(exist_ok=True)
    log.write_text(text)
    executions = last(r"number_of_executed_units: (\d+)", text)
    at_first = re.search(r"INITED cov: (\d+)", text)
    return {
        "target": target,
        "executions": executions,
        "speed": last(r"average_exec_per_sec: +(\d+)", text),
        "coverage": last(r"cov: (\d+)", text),
        "new": last(r"cov: (\d+)", text) - int(at_first[1]) if at_first else 0,
        "inputs": last(r"new_units_added: +(\d+)", text),
        "memory": last(r"peak_rss_mb: +(\d+)", text),
        "failed": done.returncode != 0,
        "artifact": re.findall(r"Test unit written to (\S+)", text),
        "log": log,
    }


def main(seconds, chosen):
    known = sorted(folder.name for folder in (ROOT / "fuzz" / "corpus").iterdir())
    for target in chosen:
        if target not in known:
            sys.exit(f"error: there is no fuzz target {target}; there are {', '.join(known)}")
    FINDINGS.mkdir(parents=True, exist_ok=True)
    print(f"{'target':<12}{'executions':>12}{'a second':>10}{'edges':>8}{'new edges':>11}{'new inputs':>12}{'memory':>9}", flush=True)
    total, failures = 0, []
    with tempfile.TemporaryDirectory(prefix="coterie-fuzz-") as scratch, ThreadPoolExecutor(AT_A_TIME) as pool:
        for result in pool.map(lambda target: run(target, seconds, scratch), chosen or known):
            print(f"{result['target']:<12}{result['executions']:>12,}{result['speed']:>10,}{result['coverage']:>8}{result['new']:>11}"
                  f"{result['inputs']:>12}{result['memory']:>6} MB{'  FOUND' if result['failed'] else ''}", flush=True)
            total += result["executions"]
            if result["failed"]:
                failures.append(result)
    print(f"{'sum':<12}{total:>12,}   {len(failures) or 'no'} findings; limits {LIMIT_MB} MB, {TIMEOUT_SECONDS} s")
    for result in failures:
        words, _ = command(result["target"], "")
        print(f"\n{result['target']}: see {result['log'].relative_to(ROOT)}; repeat with")
        settings = " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items())
        print(f"  {settings} {' '.join([*words, *result['artifact']])}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
