"""Every array of a model file, changed by a visible amount: reading refuses it, `verify` refuses it, or it is in the list of what `verify` takes from the model."""

import zlib

import h5py
import numpy as np
import pytest

from support import csv_text, small_rows

TASKS = ("a", "b", "c", "d")
FAST = ["--kernels", "linear gauss:1,4"]

# Other texts that could stand there; the rest get a letter more.
OTHER_TEXTS = {
    "/settings/lambda": ["0.31max", "0.5", "inf"], "/settings/kernels": ["linear", "linear gauss:1,3"], "/settings/normalise": ["none", "variance", "tail:2"],
    "/settings/scale": ["none", "standard", "minmax"], "/settings/class-weight": ["none", "balanced"], "/settings/solver": ["published"],
    "/settings/method": ["coterie", "stl", "mtl", "tang", "cmtl", "metag"], "/settings/parameters": ["lambda=0.2", "share=0.6"], "/settings/loss": ["logistic", "square"],
    "/settings/map": ["none", "kernels:9"], "/features/scaling": ["none", "standard", "minmax"], "/training_data/casting": ["one-vs-one", "one-vs-rest"],
    "/calibration/kind": ["none", "platt", "isotonic"], "/certificates/claim": ["optimum", "given clusters", "stationary"],
    "/certificates/status": ["converged", "stopped", "precision", ""], "/kernels/names": ["linear", "poly:2"],
}

# What no data can tell, and the words by which `verify` lists it. All that is not here must be refused.
TAKEN = {
    "/settings/tolerance": "--tolerance", "/settings/max-steps": "--max-steps", "/settings/solver": "--solver", "/certificates/outer_steps": "outer steps",
    "/settings/loss": "--loss", "/settings/map": "--map", "/calibration/": "the numbers that turn scores", "/training_data/label_column": "the names of the columns",
    "/training_data/task_column": "the names of the columns", "/certificates/bound": "the stated bound", "/certificates/status": "the status",
    "/settings/C": "the C of", "/certificates/lambda_max": "lambda_max =", "/extensions/tolerance": "the tolerance",
}
TAKEN_BY = {  # model: what is taken of it beside that
    "cmtl": {"/settings/C": "--C", "/settings/lambda": "--lambda", "/settings/norm": "--norm", "/settings/kernels": "--kernels", "/settings/normalise": "--normalise",
             "/tasks/group": "the clusters", "/settings/parameters": "the clusters"},
}
for linear in ("metag", "flexclus"):
    TAKEN_BY[linear] = {key: text for key, text in TAKEN_BY["cmtl"].items() if text.startswith("--")}
TAKEN_BY["mapped"] = {key: TAKEN_BY["cmtl"][key] for key in ("/settings/C", "/settings/lambda", "/settings/norm", "/tasks/group")}

# Any pair duals within their balls that give the stated dual value are a certificate as good: one of a kernel that decides nothing may be another.
AS_GOOD = {"/certificates/nu"}


def reseal(path, change):
    """Changes a model file and gives it a checksum that fits."""
    head = path.read_bytes()[:512].rstrip(b"\0").decode().splitlines()
    with h5py.File(path, "r+") as file:
        change(file)
    body = path.read_bytes()[512:]
    head[2], head[3] = f"bytes {len(body)}", f"crc32 {zlib.crc32(body):08x}"
    path.write_bytes(("\n".join(head) + "\n").encode().ljust(512, b"\0") + body)


def replace(file, path, values):
    """The array anew, as its texts may be longer."""
    values = np.asarray(values)
    if values.dtype.kind == "S":
        values = values.astype(h5py.string_dtype("utf-8", max(8, values.dtype.itemsize)))
    del file[path]
    file[path] = values


def arrays(path):
    found = {}
    with h5py.File(path, "r") as file:
        file.visititems(lambda name, item: found.__setitem__("/" + name, item[()]) if isinstance(item, h5py.Dataset) else None)
    return found


def changes(name, value):
    """The array with one value changed, in a few places."""
    values = np.asarray(value)
    if values.size == 0:
        return
    for place in sorted({0, values.size // 2, values.size - 1}):
        old = values.reshape(-1)[place]
        if values.dtype.kind == "S":
            new = [text.encode() for text in OTHER_TEXTS.get(name, [old.decode() + "x"])]
        elif values.dtype.kind == "f":
            new = [old * 1.01 + 0.01, old * 0.98, 2 * old + 0.5]
        else:
            new = [old + 1, old - 1]
        for other in new:
            if other == old or (values.dtype.kind == "f" and abs(other - old) < 1e-3):
                continue
            changed = np.array(values, dtype=f"S{max(values.dtype.itemsize, len(other))}") if values.dtype.kind == "S" else values.copy()
            changed.reshape(-1)[place] = other
            yield changed


def lines_of(coterie, tasks=TASKS, seed=1):
    rows = small_rows(tasks=tasks, n=15, seed=seed)
    return csv_text(rows + small_rows(tasks=tasks[:2], n=5, seed=seed + 7))


def make_joint(coterie):
    coterie("train", "d.csv", "-o", "m.h5", *FAST, "--lambda", "0.3max", "-C", "3", "--calibrate", "platt", "--scale", "standard")


def make_graph(coterie):
    coterie.write("g.csv", "task_a,task_b,weight\na,b,1\nb,c,2\nc,d,1\n")
    coterie.write("C.csv", "task,C\na,2\nd,0.5\n")
    coterie("train", "d.csv", "-o", "m.h5", *FAST, "--lambda", "0.2max", "--task-graph", "g.csv", "--task-C", "C.csv", "--norm", "2")


def make_tang(coterie):
    coterie("train", "d.csv", "-o", "m.h5", *FAST, "--method", "tang", "--parameters", "share=0.5", "--class-weight", "balanced")


def make_linear(method):
    return lambda coterie: coterie("train", "d.csv", "-o", "m.h5", "--method", method, *(["--parameters", "clusters=2"] if method == "cmtl" else []))


def make_mapped(coterie):
    coterie("train", "d.csv", "-o", "m.h5", "--method", "cmtl", "--map", "kernels:8", *FAST, "--parameters", "clusters=2 lambda=0.001")


def make_extended(coterie):
    coterie.write("new.csv", lines_of(coterie, tasks=("e", "f"), seed=5))
    coterie("train", "d.csv", "-o", "base.h5", *FAST, "--lambda", "0.3max")
    coterie("extend", "base.h5", "new.csv", "-o", "m.h5")


MODELS = {"joint": make_joint, "graph": make_graph, "tang": make_tang, "cmtl": make_linear("cmtl"), "metag": make_linear("metag"), "flexclus": make_linear("flexclus"),
          "mapped": make_mapped, "extended": make_extended}


def judge(coterie, tables):
    """What is said of the model: refused, or the list of what was taken from it."""
    taken = []
    for table in tables:
        result = coterie("verify", "m.h5", table, "--json", code=None)
        if result.code != 0:
            return "refused"
        taken += result.json["taken_from_model"]
    return taken


@pytest.mark.parametrize("name", MODELS)
def test_every_array_is_checked_or_listed(coterie, name):
    coterie.write("d.csv", lines_of(coterie))
    MODELS[name](coterie)
    tables = ["d.csv", "new.csv"] if name == "extended" else ["d.csv"]
    path = coterie.folder / "m.h5"
    sound = path.read_bytes()
    assert judge(coterie, tables) != "refused"
    listed = {**TAKEN, **TAKEN_BY.get(name, {})}
    hidden = []
    for array, value in arrays(path).items():
        words = next((text for key, text in listed.items() if array.startswith(key)), None)
        verdicts = []
        for changed in changes(array, value):
            path.write_bytes(sound)
            reseal(path, lambda file: replace(file, array, changed))
            verdict = judge(coterie, tables)
            verdicts.append(verdict)
            if array in AS_GOOD:
                continue
            if verdict != "refused" and (words is None or not any(words in text for text in verdict)):
                hidden.append(f"{array}: {np.asarray(value).reshape(-1)[:4]} -> {changed.reshape(-1)[:4]}")
        if array in AS_GOOD and verdicts and "refused" not in verdicts:
            hidden.append(f"{array}: no change of it is refused")
    assert not hidden, "\n".join(hidden)


def test_the_scale_of_older_versions_is_refused(coterie):
    """It would switch off checks."""
    coterie.write("d.csv", lines_of(coterie))
    make_joint(coterie)
    reseal(coterie.folder / "m.h5", lambda file: file["/certificates/scale_floor"].__setitem__(0, 1))
    assert "by the rule of versions before 4" in coterie("verify", "m.h5", "d.csv", code=2).err


def test_a_raised_bound_hides_nothing(coterie):
    coterie.write("d.csv", lines_of(coterie))
    coterie("train", "d.csv", "-o", "m.h5", *FAST, "--tolerance", "1e-6")

    def change(file):
        file["/certificates/bound"][0] = 1e-5
        file["/certificates/primal"][0] *= 1 + 1e-6
        replace(file, "/certificates/status", [b"stopped"])
    reseal(coterie.folder / "m.h5", change)
    result = coterie("verify", "m.h5", "d.csv", code=1)
    assert "the objective is" in result.err and "is far above" in result.err


def test_parts_of_an_extended_model_are_checked_apart(coterie):
    coterie.write("d.csv", lines_of(coterie))
    coterie.write("new.csv", lines_of(coterie, tasks=("e", "f"), seed=5))
    coterie.write("links.csv", "task_a,task_b,weight\na,e,2\ne,f,1\n")
    coterie.write("other.csv", "task_a,task_b,weight\na,e,1\ne,f,1\n")
    coterie.write("C.csv", "task,C\na,1\n")
    coterie("train", "d.csv", "-o", "base.h5", *FAST, "--lambda", "0.3")
    coterie("extend", "base.h5", "new.csv", "-o", "m.h5", "--links", "links.csv")
    assert "the links, 2 of them" in coterie("verify", "m.h5", "new.csv", "--json").json["taken_from_model"]
    assert "the links" not in str(coterie("verify", "m.h5", "new.csv", "--task-graph", "links.csv", "--json").json["taken_from_model"])
    assert "the links are not those given" in coterie("verify", "m.h5", "new.csv", "--task-graph", "other.csv", code=1).err
    assert "--task-C: the tasks of an extension" in coterie("verify", "m.h5", "new.csv", "--task-C", "C.csv", code=2).err
    coterie("verify", "m.h5", "d.csv", "--task-C", "C.csv")
    assert "task 'a' is of the training, task 'e' of extension 1" in coterie("verify", "m.h5", "d.csv", "new.csv", code=2).err
