"""What borrowing from other tasks brings, harms and costs, as tables.

  python3 experiments/borrow.py PROGRAM [FOLDER OF THE DATA [PART...]]      parts: planted, growth, groups, costs

Planted data: tasks with equal classifiers and few rows, unrelated tasks, and tasks of which half turn the labels around; accuracy on 200 new rows a task, mean and standard error over the draws. How the
seconds of `train` grow with the number of tasks. Then, where there is a folder of data: the groups found on landmine against its two kinds of ground (tasks 1 to 15, 16 to 29) as adjusted Rand index, and seconds of `train` and `select` with and without what the others know.
"""

import collections
import csv
import gzip
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = sys.argv[1]
DRAWS = 5
GROWTH = (10, 30, 100, 300)  # tasks
FORMS = [
    ("each task alone", ["--method", "stl", "--kernels", "linear gauss:2,4"]),
    ("one for all", ["--method", "pooled", "--kernels", "linear gauss:2,4"]),
    ("a part for all and one for each", ["--method", "joint", "--parameters", "own=0.5", "--kernels", "linear gauss:2,4"]),
    ("groups, searched", ["--method", "groups", "--parameters", "clusters=2 restarts=5", "--kernels", "linear gauss:2,4"]),
    ("with the score of all", ["--kernels", "linear gauss:2,4 linear:raw@pooled"]),
    ("with the score of its group", ["--kernels", "linear gauss:2,4 linear:raw@group"]),
    ("with the scores of the others", ["--kernels", "linear gauss:2,4 linear:raw@others"]),
]


def run(folder, *arguments):
    """The JSON that the program prints, and its seconds."""
    start = time.monotonic()
    done = subprocess.run([PROGRAM, *map(str, arguments), "--json", "--quiet"], cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return json.loads(done.stdout), time.monotonic() - start


def planted(path, weights, rows, source):
    """Labels by sign(w'x) with 5 % turned around, of tasks with weights w."""
    lines = []
    for t, w in enumerate(weights):
        labels = set()
        while len(labels) < 2:
            drawn = []
            for _ in range(rows):
                x = [source.gauss(0, 1) for _ in w]
                y = (sum(a * b for a, b in zip(w, x)) > 0) != (source.random() < 0.05)
                drawn.append([f"t{t}", "yes" if y else "no", *(f"{v:.6f}" for v in x)])
            labels = {row[1] for row in drawn}
        lines += drawn
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["task", "label", *(f"x{j}" for j in range(len(weights[0])))], *lines])


def draw(kind, source, tasks=12, d=8):
    def direction():
        w = [source.gauss(0, 1) for _ in range(d)]
        return [v / math.hypot(*w) for v in w]

    common = direction()
    return [direction() if kind == "unrelated" else [-v for v in common] if kind == "opposite" and t % 2 else common for t in range(tasks)]


def spread(values):
    mean = sum(values) / len(values)
    return f"{100 * mean:.1f} ± {100 * math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)):.1f}"


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()


def planted_table(folder):
    found = collections.defaultdict(list)
    for seed in range(DRAWS):
        for kind in ("equal", "unrelated", "opposite"):
            source = random.Random(1000 * seed + 7)
            weights = draw(kind, source)
            planted(folder / "train.csv", weights, 12, source)
            planted(folder / "test.csv", weights, 200, source)
            for name, options in FORMS:
                run(folder, "train", "train.csv", "-o", "m.h5", *options)
                tasks = run(folder, "evaluate", "m.h5", "test.csv")[0]["tasks"]
                found[name, kind].append(sum(task["accuracy"] for task in tasks) / len(tasks))
    table(["12 tasks of 12 rows, accuracy in percent", "equal classifiers", "unrelated", "half turned around"],
          [[name, *(spread(found[name, kind]) for kind in ("equal", "unrelated", "opposite"))] for name, _ in FORMS])


def sample(rows, share, source):
    """Of every task and label, about `share` of the rows."""
    cells = collections.defaultdict(list)
    for row in rows:
        cells[row["task"], row["label"]].append(row)
    return [row for cell in cells.values() for row in source.sample(cell, max(1, round(share * len(cell))))]


def write(path, rows):
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, rows[0].keys())
        out.writeheader()
        out.writerows(rows)


def rand_index(one, other):
    pairs = lambda counts: sum(n * (n - 1) / 2 for n in counts)
    both, a, b = pairs(collections.Counter(zip(one, other)).values()), pairs(collections.Counter(one).values()), pairs(collections.Counter(other).values())
    expected = a * b / pairs([len(one)])
    return (both - expected) / ((a + b) / 2 - expected) if (a + b) / 2 != expected else 1


def landmine_groups(folder, rows):
    order = list(dict.fromkeys(row["task"] for row in rows))
    lines = []
    for share in (0.2, 0.5):
        for name, restarts in (("searched", 5), ("alike", 0)):
            index = []
            for seed in range(DRAWS):
                write(folder / "l.csv", sample(rows, share, random.Random(seed)))
                out, _ = run(folder, "train", "l.csv", "-o", "m.h5", "--method", "groups", "--parameters", f"clusters=2 restarts={restarts}", "--kernels", "gauss:8", "--class-weight", "balanced", "-C", "1")
                number = {task: g for g, tasks in enumerate(out["groups"]) for task in tasks}
                index.append(rand_index([number[task] for task in order], [i >= 15 for i in range(len(order))]))
            lines.append([f"{share:.0%}", name, " ".join(f"{v:.2f}" for v in index), f"{sum(index) / len(index):.2f}"])
    table(["landmine, share", "groups", "adjusted Rand index on each sample", "mean"], lines)


def costs(folder, rows):
    write(folder / "l.csv", sample(rows, 0.5, random.Random(1)))
    lines = []
    for name, options in (("paper", []), ("with @group, searched", ["--kernels", "paper linear:raw@group", "--first-stage", "C=1"]), ("with @group, alike", ["--kernels", "paper linear:raw@group", "--first-stage", "C=1 restarts=0"]),
                          ("with @pooled", ["--kernels", "paper linear:raw@pooled", "--first-stage", "C=1"]), ("with @others", ["--kernels", "paper linear:raw@others", "--first-stage", "C=1"]),
                          ("smooth 5", ["--smooth", "5"]), ("groups, alike", ["--method", "groups", "--parameters", "restarts=0", "--kernels", "gauss:8"]),
                          ("pooled", ["--method", "pooled", "--kernels", "gauss:8"]), ("joint", ["--method", "joint", "--kernels", "gauss:8"])):
        options = [*options, "--class-weight", "balanced", "--threads", "1"]
        train = run(folder, "train", "l.csv", "-o", "m.h5", *options)[1]
        lines.append([name, f"{train:.1f}"])
    table(["landmine, half of the rows", "seconds of train"], lines)


def growth(folder):
    """CPU seconds of `train` on two planted groups of tasks with 20 rows each; a form that took more than two minutes gets no more tasks."""
    kernels = "linear gauss:2,4"
    forms = [("paper", ["--kernels", "paper"]), ("pooled", ["--method", "pooled", "--kernels", kernels]),
             ("joint", ["--method", "joint", "--kernels", kernels]),
             ("groups, searched", ["--method", "groups", "--kernels", kernels]),
             ("groups, alike", ["--method", "groups", "--parameters", "restarts=0", "--kernels", kernels]),
             *((f"with @{block}", ["--kernels", f"{kernels} linear:raw@{block}", "--first-stage", "C=1"]) for block in ("pooled", "group", "others"))]
    seconds = {name: [] for name, _ in forms}
    for tasks in GROWTH:
        planted(folder / "g.csv", draw("opposite", random.Random(tasks), tasks), 20, random.Random(tasks))
        for name, options in forms:
            if seconds[name] and seconds[name][-1] > 120:
                continue
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run(folder, "train", "g.csv", "-o", "m.h5", *options, "--threads", "1")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    table(["tasks of 20 rows", *map(str, GROWTH)],
          [[name, *(f"{v:.2g}" for v in seconds[name]), *["" for _ in GROWTH[len(seconds[name]):]]] for name, _ in forms])


PARTS = {"planted": planted_table, "growth": growth, "groups": landmine_groups, "costs": costs}
OF_LANDMINE = {"groups", "costs"}

with tempfile.TemporaryDirectory() as name:
    landmine = list(csv.DictReader(gzip.open(Path(sys.argv[2]) / "landmine/data.csv.gz", "rt"))) if len(sys.argv) > 2 else None
    for part in sys.argv[3:] or PARTS:
        if part not in OF_LANDMINE:
            PARTS[part](Path(name))
        elif landmine:
            PARTS[part](Path(name), landmine)
