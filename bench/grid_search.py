"""CoterieClassifierCV next to scikit-learn's GridSearchCV around SVC: accuracy, and time of one core, on the same folds.

    COTERIE_DATA=FOLDER ./run python bench/grid_search.py [--folds N] [--update FILE] [DATA...]

SVC searches the grid that LIBSVM's guide recommends: C = 2^-5, 2^-3, .., 2^15 and gamma = 2^-15, 2^-13, .., 2^3. Coterie searches its defaults.
Features are standardised on the training rows of every outer fold, for both, but those of digits, whose columns are alike. Of landmine, 29 tasks of
which few rows are positive, a fifth of the rows is trained on and the others are tested on (so that every outer fold is trained on once); there
are three inner folds, classes are balanced, and the score is the mean AUC of the tasks. SVC is searched for each task, and with --pooled also
for all as one, which takes hours.
A difference is called significant by the corrected resampled t test (Nadeau and Bengio, 2003) at 0.05. Times are of the processor, with one
thread for each.
"""

import argparse
import os
import platform
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.stats
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import coterie

GRID = {"C": 2.0 ** np.arange(-5, 16, 2), "gamma": 2.0 ** np.arange(-15, 4, 2)}


def seconds_of(work):
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def significance(differences, share):
    """p of the corrected resampled t test; `share`: test rows per training row."""
    k = len(differences)
    deviation = np.std(differences, ddof=1)
    if deviation == 0:
        return 1.0
    t = np.mean(differences) / (deviation * np.sqrt(1 / k + share))
    return 2 * scipy.stats.t.sf(abs(t), k - 1)


class ForAll:
    """One search."""

    def __init__(self, make, scoring):
        self.make, self.scoring = make, scoring

    def run(self, X, y, tasks, new_X, new_tasks):
        model = self.make().fit(X, y)
        return model.decision_function(new_X) if self.scoring == "roc_auc" else model.predict(new_X)


class ForEach(ForAll):
    """A search for every task."""

    def run(self, X, y, tasks, new_X, new_tasks):
        out = np.empty(len(new_X))
        for task in np.unique(tasks):
            out[new_tasks == task] = self.make().fit(X[tasks == task], y[tasks == task]).decision_function(new_X[new_tasks == task])
        return out


class Coterie:
    def __init__(self, **how):
        self.how = how

    def run(self, X, y, tasks, new_X, new_tasks):
        model = coterie.CoterieClassifierCV(n_jobs=1, **self.how).fit(X, y, tasks=tasks)
        if self.how.get("scoring") == "roc_auc":
            return model.decision_function(new_X, tasks=new_tasks)
        return model.predict(new_X)


def svc(scoring="accuracy", folds=5, **how):
    return lambda: GridSearchCV(SVC(kernel="rbf", **how), GRID, cv=StratifiedKFold(folds), scoring=scoring)


def table_of(name):
    if name == "landmine":
        table = np.loadtxt(Path(os.environ["COTERIE_DATA"]) / "landmine" / "data.csv.gz", delimiter=",", skiprows=1)
        return table[:, :9], table[:, 9].astype(int), table[:, 10].astype(int)
    load = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}[name]
    X, y = load(return_X_y=True)
    return X, y, None


def methods_of(name, pooled):
    if name == "landmine":
        how = {"scoring": "roc_auc", "class_weight": "balanced"}
        methods = {"coterie": Coterie(cv=3, **how), "SVC, one for each task": ForEach(svc(folds=3, **how), "roc_auc")}
        return methods | ({"SVC, one for all": ForAll(svc(folds=3, **how), "roc_auc")} if pooled else {})
    return {"coterie": Coterie(), "SVC": ForAll(svc(), "accuracy")}


def score_of(name, said, y, tasks):
    if name != "landmine":
        return np.mean(said == y)
    values = [roc_auc_score(y[tasks == task], said[tasks == task]) for task in np.unique(tasks) if 0 < y[tasks == task].mean() < 1]
    return np.mean(values)


def compare(name, folds, pooled):
    X, y, tasks = table_of(name)
    parts = np.zeros(len(y), dtype=int) if tasks is None else tasks
    scores, seconds = {}, {}
    for train, test in coterie.TaskStratifiedKFold(folds, shuffle=True, random_state=1).split(X, y, parts):
        if name == "landmine":
            train, test = test, train
        scale = StandardScaler(with_mean=name != "digits", with_std=name != "digits").fit(X[train])
        a, b = scale.transform(X[train]), scale.transform(X[test])
        own, new = (None, None) if tasks is None else (tasks[train], tasks[test])
        for method, way in methods_of(name, pooled).items():
            spent, said = seconds_of(lambda: way.run(a, y[train], own, b, new))
            scores.setdefault(method, []).append(score_of(name, said, y[test], parts[test]))
            seconds.setdefault(method, []).append(spent)
            print(f"{name}: {method} {scores[method][-1]:.4f} in {spent:.1f} s", file=sys.stderr, flush=True)
    rows = []
    ours = np.array(scores["coterie"])
    for method, values in scores.items():
        p = significance(ours - np.array(values), folds - 1 if name == "landmine" else 1 / (folds - 1))
        verdict = "" if method == "coterie" else ("not significant" if p >= 0.05 else "coterie better" if ours.mean() > np.mean(values) else "coterie worse")
        rows.append((method, np.mean(values), np.std(values, ddof=1), verdict, p, np.sum(seconds[method]), np.sum(seconds[method]) / np.sum(seconds["coterie"])))
    return rows


def markdown(results, folds):
    lines = ["| data | method | score | deviation over folds | difference from coterie | seconds of a core, all folds | times as long |", "|---|---|--:|--:|---|--:|--:|"]
    for name, rows in results.items():
        for method, score, deviation, verdict, p, spent, factor in rows:
            difference = "" if not verdict else f"{verdict} (p {p:.2f})"
            lines.append(f"| {name} | {method} | {score:.4f} | {deviation:.4f} | {difference} | {spent:.1f} | {factor:.1f} |")
    lines.append("")
    lines.append(f"{folds} outer folds; Python {platform.python_version()}, scikit-learn {sklearn.__version__}, coterie {coterie.__version__}, {platform.machine()}.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["digits", "breast cancer", "wine", "landmine"])
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--pooled", action="store_true", help="of landmine, also one SVC for all tasks")
    parser.add_argument("--update", help="a document whose table between the marks of this script is replaced")
    options = parser.parse_args()
    warnings.simplefilter("ignore", coterie.Note)
    results = {name: compare(name, options.folds, options.pooled) for name in options.data if name != "landmine" or "COTERIE_DATA" in os.environ}
    text = markdown(results, options.folds)
    if not options.update:
        print(text)
        return
    path = Path(options.update)
    begin, end = "<!-- bench grid_search -->\n", "<!-- end -->"
    before, rest = path.read_text().split(begin)
    path.write_text(before + begin + text + "\n" + rest[rest.index(end) :])


if __name__ == "__main__":
    main()
