"""Every format read, written and converted into every other by the program; files of SciPy and NumPy; damaged files."""

import gzip
import itertools
import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from support import csv_text, gzipped, small_rows

TASKS = ("a", "b")
# The formats, by a name to write and the names to read then, with the tasks that a format does not keep.
FORMATS = {
    "csv": ("d.csv", ["d.csv"]),
    "tsv.gz": ("d.tsv.gz", ["d.tsv.gz"]),
    "svm": ("d.svm", ["d-a.svm:a", "d-b.svm:b"]),
    "svm.gz": ("d.svm.gz", ["d-a.svm.gz:a", "d-b.svm.gz:b"]),
    "mat": ("d.mat", ["d.mat"]),
    "npy": ("d.npy", ["d.npy"]),
    "idx": ("d.idx", ["d-a.idx:a", "d-b.idx:b"]),
    "idx-images.gz": ("d-images-idx3-double.gz", ["d-a-images-idx3-double.gz:a", "d-b-images-idx3-double.gz:b"]),
}


def unequal_rows(seed=3):
    """Rows of two tasks of different sizes, with numbers that are hard to write and labels that every format holds."""
    source = random.Random(seed)
    rows = [[*row[:3], row[3], row[4]] for row in small_rows(tasks=TASKS, n=9, seed=seed, labels=("-1", "3"))][:-4]
    for row in rows:
        row[0] = source.gauss(0, 1) * 10 ** source.randint(-30, 30)
    rows[0][1], rows[1][1], rows[2][1] = 5e-324, 1.7976931348623157e308, 0.1 + 0.2
    return rows


def cells(arrays):
    out = np.empty((1, len(arrays)), dtype=object)
    out[0, :] = arrays
    return out


def tasks_of_arrays(seed=1, sizes=(6, 3, 9), features=4):
    source = np.random.default_rng(seed)
    X = [source.normal(size=(n, features)) * (source.random((n, features)) < 0.7) for n in sizes]
    Y = [np.where(np.arange(n) % 2 == 0, 1.0, -1.0).reshape(-1, 1) for n in sizes]
    return X, Y


def table_of_arrays(X, Y, labels=("-1", "1")):
    rows = [[*map(repr, map(float, x)), labels[int(y > 0)], t + 1]
            for t, (block, column) in enumerate(zip(X, Y)) for x, y in zip(block, column)]
    return [[float(v) for v in row[:-2]] + [str(row[-2]), str(row[-1])] for row in rows]


def read_rows(coterie, *paths):
    """The table as the program reads it: through CSV, parsed again."""
    coterie("data", "convert", *paths, "read-back.csv")
    lines = (coterie.folder / "read-back.csv").read_text().splitlines()
    names = lines[0].split(",")
    width = len([name for name in names if name not in ("label", "task")])
    return [[float(v) for v in fields[:width]] + fields[width:] for fields in (line.split(",") for line in lines[1:])]


@pytest.mark.parametrize("first, second", itertools.permutations(FORMATS, 2))
def test_every_pair_of_formats_round_trips(coterie, first, second):
    rows = unequal_rows()
    text = csv_text(rows)
    coterie.write("start.csv", text)
    (coterie.folder / "one").mkdir()
    (coterie.folder / "two").mkdir()
    coterie("data", "convert", "start.csv", f"one/{FORMATS[first][0]}")
    coterie("data", "convert", *[f"one/{name}" for name in FORMATS[first][1]], f"two/{FORMATS[second][0]}")
    back = read_rows(coterie, *[f"two/{name}" for name in FORMATS[second][1]])
    assert back == [[float(v) for v in row[:3]] + [row[3], row[4]] for row in rows]


def test_whole_pixels_are_written_as_bytes(coterie):
    rows = [[i, 255 - i, 7, 3 * i, str(i % 3)] for i in range(60)]
    coterie.write("p.csv", "f1,f2,f3,f4,label\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    document = coterie("data", "convert", "p.csv", "p-images-idx3-ubyte.gz", "--json").json
    assert document == {"rows": 60, "features": 4, "files": ["p-images-idx3-ubyte.gz", "p-labels-idx1-ubyte.gz"], "file_per_task": False}
    images = gzip.decompress((coterie.folder / "p-images-idx3-ubyte.gz").read_bytes())
    assert images[:16] == struct.pack(">BBBBIII", 0, 0, 8, 3, 60, 2, 2) and len(images) == 16 + 240
    assert list(images[16:24]) == [0, 255, 7, 0, 1, 254, 7, 3]
    assert gzip.decompress((coterie.folder / "p-labels-idx1-ubyte.gz").read_bytes())[8:11] == b"\0\1\2"
    assert read_rows(coterie, "p-images-idx3-ubyte.gz") == rows


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("form", ["malsar", "landmine", "sparse", "single", "plain"])
def test_files_of_scipy(coterie, form, compressed):
    X, Y = tasks_of_arrays()
    labels = ("-1", "1")
    expected = table_of_arrays(X, Y)
    if form == "malsar":
        content = {"X": cells(X), "Y": cells(Y), "comment": "made by a test", "options": {"lambda": 3}}
    elif form == "landmine":
        content = {"feature": cells(X), "label": cells([(y > 0).astype(np.uint8).T for y in Y])}
        expected = table_of_arrays(X, Y, ("0", "1"))
    elif form == "sparse":
        content = {"x": cells([scipy.sparse.csc_matrix(x) for x in X]), "y": cells([scipy.sparse.csc_matrix(y) for y in Y])}
    elif form == "single":
        content = {"X": cells([x.astype(np.float32) for x in X]), "Y": cells([y > 0 for y in Y])}
        expected = table_of_arrays([x.astype(np.float32).astype(float) for x in X], Y, ("0", "1"))
    else:
        content = {"data": np.vstack(X), "TARGET": np.vstack(Y).T.astype(np.int16), "task": np.repeat([1, 2, 3], [len(x) for x in X])}
    scipy.io.savemat(coterie.folder / "s.mat", content, do_compression=compressed)
    assert read_rows(coterie, "s.mat") == expected
    document = coterie("data", "describe", "s.mat", "--json").json
    assert [task["rows"] for task in document["tasks"]] == [6, 3, 9] and [task["name"] for task in document["tasks"]] == ["1", "2", "3"]
    coterie("train", "s.mat", "-o", "m.h5", "--kernels", "gauss:1", "--quiet", "--json")
    coterie("predict", "m.h5", "s.mat", "-o", "p.csv")


def test_text_labels_between_scipy_and_the_program(coterie):
    scipy.io.savemat(coterie.folder / "t.mat", {"X": np.arange(6.0).reshape(3, 2), "Y": np.array(["no", "\u00b5 yes", "no"], dtype=object)})
    assert read_rows(coterie, "t.mat") == [[0.0, 1.0, "no"], [2.0, 3.0, "\u00b5 yes"], [4.0, 5.0, "no"]]
    coterie("data", "convert", "t.mat", "u.mat")
    content = scipy.io.loadmat(coterie.folder / "u.mat")
    assert [str(cell[0]) for cell in content["Y"].ravel()] == ["no", "\u00b5 yes", "no"]
    assert [str(cell[0]) for cell in content["feature_names"].ravel()] == ["f1", "f2"]


def test_scipy_reads_what_is_written(coterie):
    rows = unequal_rows()
    coterie.write("d.csv", csv_text(rows))
    coterie("data", "convert", "d.csv", "d.mat")
    content = scipy.io.loadmat(coterie.folder / "d.mat")
    for t, task in enumerate(TASKS):
        wanted = [row for row in rows if row[-1] == task]
        assert content["X"][0, t].tolist() == [row[:3] for row in wanted]
        assert content["Y"][0, t].ravel().tolist() == [float(row[3]) for row in wanted]
    assert [str(cell[0]) for cell in content["task_names"].ravel()] == list(TASKS)


def write_array(path, array, version=None):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numpy(coterie, order, version):
    whole = np.random.default_rng(5).integers(0, 100, size=(7, 3))
    y = np.array(["no", "\u00b5 yes", "no", "no", "no", "\u00b5 yes", "no"])
    write_array(coterie.folder / "X-labels.npy", y, version)
    for kind in ("<f8", ">f8", "<f4", ">f4", "i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "u1", "<u2", ">u2", "<u4", ">u4", "<u8", ">u8", "?"):
        X = np.array(((whole / 7) if "f" in kind else whole).astype(kind), order=order)
        write_array(coterie.folder / "X.npy", X, version)
        assert read_rows(coterie, "X.npy") == [[*map(float, line), label] for line, label in zip(X, y)], kind


def test_labels_and_tasks_of_numpy(coterie):
    X = np.random.default_rng(6).normal(size=(40, 4))
    np.save(coterie.folder / "X.npy", X)
    tasks = np.where(np.arange(40) < 20, "left", "right")
    np.save(coterie.folder / "t.npy", tasks)
    signs = np.where(X[:, 0] > 0, 1, -1)
    for labels, texts in ((signs, ("-1", "1")), (signs.astype(np.float32) / 2, ("-0.5", "0.5")), (signs > 0, ("0", "1")), (signs.astype(">i2").reshape(-1, 1), ("-1", "1")),
                          (np.where(signs > 0, "yes", "no").astype("S"), ("no", "yes")), (np.where(signs > 0, "ja", "n\u00f6").astype(">U7"), ("n\u00f6", "ja"))):
        np.save(coterie.folder / "y.npy", labels)
        expected = [[*x, texts[int(sign > 0)], task] for x, sign, task in zip(X.tolist(), signs, tasks)]
        assert read_rows(coterie, "X.npy", "--label", "y.npy", "--task", "t.npy") == expected


def arrays_of(path):
    """Everything in a model file but the names of columns, which arrays do not have."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()].tolist()}) if isinstance(item, h5py.Dataset) else None)
    return {name: value for name, value in found.items() if name not in ("training_data/label_column", "training_data/task_column")}


def test_every_verb_takes_arrays(coterie):
    X = np.random.default_rng(7).normal(size=(60, 4))
    y, tasks = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no"), np.arange(60) % 2
    np.save(coterie.folder / "X.npy", X)
    np.save(coterie.folder / "y.npy", y)
    np.save(coterie.folder / "t.npy", tasks)
    rows = [[*x, label, task] for x, label, task in zip(X.tolist(), y, tasks)]
    coterie.write("d.csv", csv_text(rows, header=["f1", "f2", "f3", "f4", "label", "task"]))
    named = ["--label", "y.npy", "--task", "t.npy"]
    for kernels in ("paper", "linear cauchy:2,4"):
        coterie("train", "X.npy", *named, "-o", "n.h5", "--kernels", kernels, "--quiet")
        coterie("train", "d.csv", "-o", "c.h5", "--kernels", kernels, "--quiet")
        assert arrays_of(coterie.folder / "n.h5") == arrays_of(coterie.folder / "c.h5")
    coterie("verify", "n.h5", "X.npy", *named)
    coterie("evaluate", "n.h5", "X.npy", *named)
    coterie("predict", "n.h5", "X.npy", "--task", "t.npy", "-o", "n.csv")
    coterie("predict", "n.h5", "d.csv", "-o", "c.csv")
    predicted = [[line.split(",") for line in (coterie.folder / name).read_text().splitlines()] for name in ("n.csv", "c.csv")]
    assert len(predicted[0]) == 61 and predicted[0][0] == predicted[1][0]
    assert "t.npy is also an input" in coterie("predict", "n.h5", "X.npy", "--task", "t.npy", "-o", "t.npy", code=2).err
    assert "X.npy: a .npy file holds features only. Name the file of the labels, as in --label labels.npy, or put it beside as X-labels.npy." in \
        coterie("train", "X.npy", "-o", "m.h5", code=2).err


def test_precomputed_kernels_of_numpy(coterie):
    X = np.random.default_rng(8).normal(size=(28, 3))
    rows = [[*x, "yes" if x[0] > 0 else "no"] for x in X.tolist()]
    coterie.write("d.csv", csv_text(rows, header=["f1", "f2", "f3", "label"]))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    coterie.write("K.csv", "".join(",".join(map(repr, line)) + "\n" for line in K.tolist()))
    np.save(coterie.folder / "K.npy", np.asfortranarray(K.astype(">f8")))
    thetas = []
    for name in ("K.csv", "K.npy"):
        coterie("train", "d.csv", "-o", "k.h5", "--kernels", f"linear precomputed:{name}", "--quiet")
        coterie("verify", "k.h5", "d.csv", "--precomputed", f"{name}={name}")
        with h5py.File(coterie.folder / "k.h5") as model:
            found = {}
            model.visititems(lambda key, item: found.update({key: item[()].tolist()}) if key.endswith("theta") else None)
        thetas.append(found)
    assert thetas[0] == thetas[1] and thetas[0]


def test_numpy_reads_what_is_written(coterie):
    rows = unequal_rows()
    coterie.write("d.csv", csv_text(rows))
    document = coterie("data", "convert", "d.csv", "d.npy", "--json").json
    assert document["files"] == ["d.npy", "d-labels.npy", "d-tasks.npy"] and document["file_per_task"] is False
    assert np.load(coterie.folder / "d.npy").tolist() == [row[:3] for row in rows]
    labels, tasks = np.load(coterie.folder / "d-labels.npy"), np.load(coterie.folder / "d-tasks.npy")
    assert labels.dtype == np.int64 and labels.tolist() == [int(row[3]) for row in rows]
    assert tasks.dtype == np.dtype("<U1") and tasks.tolist() == [row[4] for row in rows]


def set_class(dataset, name):
    """The attribute that MATLAB marks a class with, whose text has no padding of its own."""
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(name))
    h5py.h5a.create(dataset.id, b"MATLAB_class", kind, h5py.h5s.create(h5py.h5s.SCALAR)).write(np.array(name.encode()), mtype=kind)


def mat73(path, cells_of):
    """A MATLAB 7.3 file as MATLAB lays it out: HDF5 behind 512 bytes, cells as references into #refs#, matrices transposed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        refs = file.create_group("#refs#")
        for name, arrays in cells_of.items():
            stored = []
            for k, array in enumerate(arrays):
                item = refs.create_dataset(f"{name}{k}", data=np.ascontiguousarray(array.T), compression="gzip")
                set_class(item, "double")
                stored.append([item.ref])
            cell = file.create_dataset(name, data=np.array(stored, dtype=h5py.ref_dtype), dtype=h5py.ref_dtype)
            set_class(cell, "cell")
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: today".ljust(116) + bytes(8) + b"\x00\x02IM"
    with open(path, "r+b") as file:
        file.write(header)


def test_matlab_73(coterie):
    X, Y = tasks_of_arrays()
    mat73(coterie.folder / "s.mat", {"X": X, "Y": Y})
    assert read_rows(coterie, "s.mat") == table_of_arrays(X, Y)


def test_a_dataset_of_73_that_promises_more_than_the_file(coterie):
    with h5py.File(coterie.folder / "s.mat", "w", userblock_size=512) as file:
        huge = file.create_dataset("X", shape=(1 << 30, 1 << 20), dtype="f8", chunks=(1024, 1024))
        set_class(huge, "double")
    with open(coterie.folder / "s.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + b"\x00\x02IM")
    assert "s.mat: the file is damaged: an array promises more than the file can hold" in coterie("data", "describe", "s.mat", code=2).err


def damaged(content, source):
    """One of many ways to spoil a file."""
    content = bytearray(content)
    kind = source.randrange(4)
    if kind == 0:
        return bytes(content[:source.randrange(len(content))])
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(content))
        content[at] = content[at] ^ 1 << source.randrange(8) if kind == 1 else source.choice((0, 1, 0x7f, 0x80, 0xff))
    return bytes(content)


@pytest.fixture(scope="module")
def small_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    X, Y = tasks_of_arrays(sizes=(3, 2), features=2)
    scipy.io.savemat(folder / "plain.mat", {"X": cells(X), "Y": cells(Y)})
    scipy.io.savemat(folder / "packed.mat", {"X": cells(X), "Y": cells(Y)}, do_compression=True)
    scipy.io.savemat(folder / "sparse.mat", {"X": scipy.sparse.csc_matrix(X[0]), "Y": np.array(["a", "b", "a"], dtype=object)})
    mat73(folder / "new.mat", {"X": X, "Y": Y})
    pixels = struct.pack(">BBBBIII", 0, 0, 8, 3, 3, 2, 2) + bytes(range(12))
    (folder / "p-images-idx3-ubyte").write_bytes(pixels)
    (folder / "z-images-idx3-ubyte.gz").write_bytes(gzip.compress(pixels, mtime=0))
    np.save(folder / "n.npy", X[0])
    np.save(folder / "f.npy", np.asfortranarray(X[0].astype(">f4")))
    (folder / "d.idx").write_bytes(struct.pack(">BBBBII", 0, 0, 14, 2, 2, 2) + struct.pack(">4d", 1, 2, 3, 4))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["plain.mat", "packed.mat", "sparse.mat", "new.mat", "p-images-idx3-ubyte", "z-images-idx3-ubyte.gz", "d.idx", "n.npy", "f.npy"])
def test_damaged_files_end_in_a_table_or_a_message(coterie, small_files, name):
    source = random.Random(name)
    coterie("data", "describe", coterie.write(name, small_files[name]))
    refused = 0
    for _ in range(29):
        coterie.write(name, damaged(small_files[name], source))
        result = coterie("data", "describe", name, "--json", code=None, timeout=60)
        assert result.code in (0, 2), result.describe()
        if result.code == 2:
            assert result.err.startswith(f"error: {name}: ") and result.out == "", result.describe()
            refused += 1
    assert refused > 5


def test_several_tasks_in_a_format_of_one_are_announced(coterie):
    coterie.write("d.csv", csv_text(unequal_rows()))
    for ending, count in ((".svm", 2), (".idx", 4)):
        out = coterie("data", "convert", "d.csv", f"e{ending}").out
        assert "one file for each of the 2 tasks: this format holds one task a file" in out
        document = coterie("data", "convert", "d.csv", f"e{ending}", "--json").json
        assert document["file_per_task"] is True and len(document["files"]) == count
    assert coterie("data", "convert", "d.csv", "e.mat", "--json").json["file_per_task"] is False


def test_a_failed_conversion_leaves_nothing(coterie):
    coterie.write("d.csv", "f1,label\n1,bus\n2,van\n")
    coterie.write("d.idx", "older")
    before = coterie.files()
    assert "d.idx: the label 'bus' is no whole number" in coterie("data", "convert", "d.csv", "d.idx", code=2).err
    assert "d.mat.gz: MATLAB files are compressed inside" in coterie("data", "convert", "d.csv", "d.mat.gz", code=2).err
    assert coterie.files() == before


def test_messages_name_options_as_they_are_typed(coterie):
    for option, value in (("--tasks", "0"), ("--samples", "1"), ("--block", "0"), ("--noise", "0.9"), ("--positive", "1"), ("--spread", "2")):
        assert f"error: {option} is {value}; it must be" in coterie("data", "generate", "-o", "p.csv", option, value, code=2).err
    crowd = coterie("data", "generate", "-o", "p.csv", "--tasks", "1000000", "--samples", "1000000", code=2).err
    assert "error: --tasks x --samples x --groups x --block is 12000000000000; it must be at most 1e10." in crowd
    coterie.write("d.csv", csv_text(small_rows()))
    assert coterie("data", "convert", "d.csv", "d.csv", code=2).err.startswith("error: d.csv is also an input")


def test_names_of_data_list_can_be_used(coterie):
    (coterie.folder / "shelf" / "mine").mkdir(parents=True)
    coterie.write("shelf/mine/data.csv.gz", gzipped(csv_text(small_rows())))
    coterie.write("d.csv", csv_text(unequal_rows()))
    coterie("data", "convert", "d.csv", "shelf/d.mat")
    coterie("data", "convert", "d.csv", "shelf/d.idx")
    coterie("data", "convert", "d.csv", "shelf/d.npy")
    names = [entry["name"] for entry in coterie("data", "list", "--json", environment={"COTERIE_DATA": "shelf"}).json["data"]]
    assert names == ["digits", "shelf/d-a.idx", "shelf/d-b.idx", "shelf/d.mat", "shelf/d.npy", "shelf/mine/data.csv.gz"]
    for name in names:
        assert coterie("data", "describe", name, "--json").json["rows"] > 0
        assert name in coterie("data", "list", environment={"COTERIE_DATA": "shelf"}).out


def test_mnist(coterie):
    if not os.environ.get("COTERIE_DATA"):
        pytest.skip("COTERIE_DATA is not set: MNIST is not read")
    folder = os.path.join(os.environ["COTERIE_DATA"], "mnist")
    document = coterie("data", "describe", f"{folder}/t10k-images-idx3-ubyte.gz", "--json").json
    assert (document["rows"], document["features"]) == (10000, 784)
    assert document["classes"] == {"0": 980, "1": 1135, "2": 1032, "3": 1010, "4": 982, "5": 892, "6": 958, "7": 1028, "8": 974, "9": 1009}
    assert max(column["max"] for column in document["columns"]) == 255


def test_tasks_named_like_the_files_of_idx_are_refused(coterie):
    coterie.write("d.csv", csv_text(small_rows(tasks=("T", "T-labels"), n=4, labels=("0", "1"))))
    before = coterie.files()
    assert "task 'T-labels' would be mixed up with files of labels and images" in coterie("data", "convert", "d.csv", "d.idx", code=2).err
    assert coterie.files() == before


def test_the_reader_of_the_documents_reads_todays_models(coterie, tmp_path):
    text = (Path(__file__).parent.parent / "docs" / "model-file.md").read_text()
    reader = tmp_path / "reader.py"
    reader.write_text(re.search(r"```python\n(import sys, zlib.*?)```", text, re.DOTALL).group(1))
    coterie.write("r.csv", "a,b,label\n1,2,1\n2,1,-1\n3,5,1\n4,1,-1\n2,5,1\n5,2,-1\n")
    coterie("train", "r.csv", "-o", "r.h5", "--kernels", "linear gauss:2", "-C", "10")
    done = subprocess.run([sys.executable, reader, coterie.folder / "r.h5"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    values = [float(v) for v in re.search(r"decision values \[(.*)\]", done.stdout).group(1).split()]
    with h5py.File(coterie.folder / "r.h5") as file:
        rows = file["support_vectors/training_row"][:2]
    labels = [1, -1, 1, -1, 1, -1]
    assert [1 if v > 0 else -1 for v in values] == [labels[row] for row in rows]
