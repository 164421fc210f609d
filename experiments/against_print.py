"""Readings of the published iteration next to the paper's printed accuracies of its own method, as a Markdown table.

  python3 experiments/against_print.py results/published/readings.csv TABLE1.csv

TABLE1.csv: train_percent,dataset,method,accuracy_percent. Readings are means over the splits; the difference is that of the reading to the
print, with the standard error of the mean of the reading. The print states none of its own.
"""

import collections
import csv
import math
import sys

READINGS = ("last", "script", "script, chosen C", "largest")


def mean_and_error(values):
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))


def main():
    with open(sys.argv[2], newline="") as file:
        printed = {(row["dataset"], int(row["train_percent"])): float(row["accuracy_percent"]) for row in csv.DictReader(file) if row["method"] == "Ours"}
    scores = collections.defaultdict(list)
    with open(sys.argv[1], newline="") as file:
        for row in csv.DictReader(file):
            scores[row["dataset"], round(100 * float(row["share"])), row["reading"]].append(100 * float(row["score"]))
    print("| data | printed | " + " | ".join(READINGS) + " | " + " | ".join(f"{reading} - printed" for reading in ("last", "script, chosen C")) + " | splits |")
    print("|---|---|" + "---|" * (len(READINGS) + 3))
    for name, share in sorted({key[:2] for key in scores}):
        cells = [mean_and_error(scores[name, share, reading]) for reading in READINGS]
        count = len(scores[name, share, "last"])
        own = printed.get((name, share))
        differences = ["" if own is None else f"{cells[k][0] - own:+.2f} ± {cells[k][1]:.2f}" for k in (0, 2)]
        shown = [f"{mean:.2f} ± {error:.2f}" for mean, error in cells]
        print(f"| {name} {share} % | {'' if own is None else f'{own:.2f}'} | " + " | ".join(shown + differences) + f" | {count} |")


if __name__ == "__main__":
    main()
