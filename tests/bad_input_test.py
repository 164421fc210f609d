"""The table of bad input: files, options and model files that must end in a message and an exit code, never in a crash.

Every row states what is wrong, the command, the exit code and what the message says. Each is run twice: without the output that it
asks for, which must not appear, and with an older output there, which must stay as it was. Nothing else may be left behind.
"""

import io
import os
import resource
import shutil
import stat
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import Program, Result, check_sound, csv_text, gzipped, libsvm_text, small_csv, small_rows

FOLDER = object()  # instead of contents: a folder of that name
GOOD = small_csv()
ROWS = small_rows()


@dataclass
class Row:
    name: str
    command: list
    says: tuple
    files: dict = field(default_factory=dict)  # name: text, bytes, FOLDER, or a function of the sound model's bytes
    code: int = 2
    modes: dict = field(default_factory=dict)  # name: permission bits, for rows that are run by nobody in particular


TABLE = []


def row(name, command, *says, files=None, code=2, modes=None):
    TABLE.append(Row(name, command.split() if isinstance(command, str) else command, says, files or {}, code, modes or {}))


def bad_csv(name, content, *says, options=""):
    row(f"csv-{name}", f"train bad.csv -o out.h5 {options}", *says, files={"bad.csv": content})


def bad_svm(name, content, *says, options=""):
    row(f"libsvm-{name}", f"train bad.svm -o out.h5 {options}", *says, files={"bad.svm": content})


def bad_option(name, options, *says, files=None):
    options = options if isinstance(options, list) else options.split()
    row(f"option-{name}", ["train", "d.csv", "-o", "out.h5", *options], *says, files=files)


def bad_kernel(name, kernels, *says, files=None, options=""):
    row(f"kernel-{name}", ["train", "k.csv" if files and "k.csv" in files else "d.csv", "-o", "out.h5", "--kernels", kernels,
                           *options.split()], *says, files=files)


def bad_model(name, change, *says, command="inspect bad.h5"):
    row(f"model-{name}", command, "bad.h5: ", *says, files={"bad.h5": change})


def replaced(line, column, text):
    """The good table with one field of one row (both counted from 1, the header is line 1) replaced."""
    lines = [text_line.split(",") for text_line in GOOD.splitlines()]
    lines[line - 1][column - 1] = text
    return "\n".join(map(",".join, lines)) + "\n"


def start_of(line, column):
    """The character at which a field of the good table starts, counted from 1."""
    return 1 + sum(len(text) + 1 for text in GOOD.splitlines()[line - 1].split(",")[:column - 1])


# Tables

bad_csv("empty", "", "bad.csv: the file is empty")
bad_csv("header-only", "f1,label\n", "bad.csv: there is a header but no row of data")
bad_csv("short-row", GOOD + "1,2,3,yes\n", "bad.csv:30:10: 4 fields, but the header has 5")
bad_csv("long-row", GOOD + "1,2,3,yes,a,9\n", "bad.csv:30:", "6 fields, but the header has 5")
bad_csv("nan", replaced(4, 2, "NaN"), f"bad.csv:4:{start_of(4, 2)}: column 'f2' holds 'NaN'", "finite")
bad_csv("inf", replaced(5, 1, "-inf"), "bad.csv:5:1: column 'f1' holds '-inf'", "finite")
bad_csv("empty-value", replaced(6, 3, ""), f"bad.csv:6:{start_of(6, 3)}: column 'f3' is empty")
bad_csv("text-in-number", replaced(7, 2, "tall"), f"bad.csv:7:{start_of(7, 2)}: column 'f2' holds 'tall', which is not a number", "--drop f2")
bad_csv("out-of-range", replaced(7, 2, "1e999"), f"bad.csv:7:{start_of(7, 2)}: ", "outside the range of double precision")
bad_csv("empty-label", replaced(8, 4, ""), f"bad.csv:8:{start_of(8, 4)}: column 'label' is empty")
bad_csv("empty-task", replaced(8, 5, ""), f"bad.csv:8:{start_of(8, 5)}: column 'task' is empty")
bad_csv("duplicate-column", "f1,f2,f1,label\n1,2,3,a\n", "bad.csv:1:7: two columns are called 'f1'")
bad_csv("unnamed-column", "f1,,label\n1,2,a\n", "bad.csv:1:4: the name of column 2 is empty")
bad_csv("no-label-column", csv_text(ROWS, header=["f1", "f2", "f3", "kind", "task"]), "bad.csv: no column is called 'label'", "--label", "f1, f2, f3, kind, task")
bad_csv("no-header", GOOD.split("\n", 1)[1], "bad.csv: no column is called 'label'")
bad_csv("semicolons", GOOD.replace(",", ";"), "bad.csv: ", "not ';'")
bad_csv("unknown-drop", GOOD, "bad.csv: no column is called 'f9', which --drop asks for", options="--drop f9")
bad_csv("unknown-feature", GOOD, "bad.csv: no column is called 'f9', which --features asks for", options="--features f1,f9")
bad_csv("unknown-task-column", GOOD, "bad.csv: no column is called 'site', which --task asks for", options="--task site")
bad_csv("no-feature-left", GOOD, "bad.csv: no column is left for the features", options="--drop f1,f2,f3")
bad_csv("blank-line", GOOD.replace("\n", "\n\n", 3), "bad.csv:3:1: the line before is blank")
bad_csv("open-quote", replaced(3, 4, '"yes'), f"bad.csv:3:{start_of(3, 4)}: the quote opened here is not closed")
bad_csv("latin-1-label", replaced(3, 4, "gr\u00fcn").encode("latin-1"), "bad.csv:3:", "not UTF-8 text")
bad_csv("garbage", bytes(range(256)) * 40, "bad.csv: this is not text")
bad_csv("zip-archive", b"PK\x03\x04" + bytes(100), "bad.csv: this is a zip archive or spreadsheet; export it as CSV.")
row("npz-archive", "train bad.npz -o out.h5", "bad.npz: this is an .npz archive. Save its arrays one by one, with numpy.save: features as X.npy",
    files={"bad.npz": b"PK\x03\x04" + bytes(100)})
bad_csv("folder", FOLDER, "bad.csv: this is a folder")
bad_csv("task-of-another-name", csv_text(ROWS, header=["f1", "f2", "f3", "label", "site"]),
        "column 'site' holds 'a', which is not a number. If it says which task a row belongs to, name it with --task site; else correct it, or leave")
for command in ("predict", "evaluate", "verify"):  # which have no --drop
    row(f"{command}-number", f"{command} m.h5 bad.csv", "column 'f2' holds 'tall', which is not a number. Correct it; the model needs this column.",
        files={"bad.csv": replaced(7, 2, "tall")})
for command in ("predict", "evaluate", "verify", "bound", "extend -o out.h5"):
    row(f"{command.split()[0]}-data-first", f"{command} d.csv m.h5", "the model comes before the data: m.h5 d.csv instead of d.csv m.h5.")
row("kernels-without-quotes", "train d.csv --kernels gauss:1 linear -o out.h5",
    "there is no file 'linear'. If it belongs to --kernels, put the whole list in quotes, as in --kernels \"gauss:2 linear\".")
row("csv-not-found", "train nowhere.csv -o out.h5", "nowhere.csv: there is no such file")
row("csv-unreadable", "train bad.csv -o out.h5", "bad.csv: cannot be opened: Permission denied", files={"bad.csv": GOOD}, modes={"bad.csv": 0})
bad_csv("gzip-cut-off", gzipped(GOOD)[:-100], "bad.csv: the gzip file ends too early")
bad_csv("gzip-wrong-crc", gzipped(GOOD)[:-8] + b"\0\0\0\0" + gzipped(GOOD)[-4:], "bad.csv: the gzip file is damaged")
bad_csv("gzip-flipped", gzipped(GOOD)[:60] + bytes([gzipped(GOOD)[60] ^ 255]) + gzipped(GOOD)[61:], "bad.csv: the gzip file ")
row("csv-files-differ", "train d.csv bad.csv -o out.h5", "bad.csv", "f3", "All files need the same columns",
    files={"bad.csv": "f1,f2,label,task\n1,2,yes,a\n"})
row("csv-and-libsvm", "train d.csv bad.svm -o out.h5", "d.csv and bad.svm are of different formats", files={"bad.svm": "1 1:2\n"})

bad_csv("too-many-rows", lambda _: "f1,label\n" + "1,a\n2,b\n" * 2_000, "the fit may need", "and may use 20 MB", "Raise --memory", options="--memory 20MB")

# LIBSVM files

bad_svm("index-0", "1 1:2\n-1 0:3 1:1\n", "bad.svm:2:4: feature index 0; indices count from 1")
bad_svm("decreasing", "1 1:2 3:4 2:5\n", "bad.svm:1:11: feature index 2 follows 3; indices must increase")
bad_svm("repeated", "1 1:2 1:4\n", "bad.svm:1:7: feature index 1 follows 1")
bad_svm("huge-index", "1 1:2\n-1 99999999999999999999:1\n", "bad.svm:2:4: feature index '99999999999999999999' is above 10000000")
bad_svm("large-index", "1 1:2\n-1 10000001:1\n", "bad.svm:2:4: feature index '10000001' is above 10000000")
bad_svm("no-colon", "1 1:2 7\n", "bad.svm:1:7: found '7' where a pair index:value should be")
bad_svm("bad-value", "1 1:2 2:x\n", "bad.svm:1:9: feature 2 holds 'x', which is not a number")
bad_svm("nan", "1 1:nan\n", "bad.svm:1:5: feature 1 holds 'nan'", "finite")
bad_svm("no-label", "1:2 2:3\n", "bad.svm:1:1: found '1:2' where the label should be")
bad_svm("several-labels", "1,2 1:3\n", "bad.svm:1:1: found several labels, '1,2'")
bad_svm("qid", "1 qid:3 1:2\n", "bad.svm:1:3: 'qid:' marks ranking data")
bad_svm("empty", "# nothing\n\n", "bad.svm: the file has no samples")
bad_svm("task-column", libsvm_text(ROWS), "bad.svm: a LIBSVM file has no task column 'site'", options="--task site")

# NumPy's arrays


def npy(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version=version)
    return file.getvalue()


def bad_npy(name, content, *says, options="", files=None):
    row(f"npy-{name}", f"train bad.npy -o out.h5 {options}", *says, files={"bad.npy": content, **(files or {})})


X_NPY = npy(np.arange(6.0).reshape(2, 3))
bad_npy("no-labels", X_NPY, "bad.npy: a .npy file holds features only. Name the file of the labels, as in --label labels.npy, or put it beside as bad-labels.npy.")
bad_npy("label-column", X_NPY, "--label is 'kind'; the labels of bad.npy are in a file of their own, as in --label labels.npy", options="--label kind")
bad_npy("task-column", X_NPY, "--task is 'site'; the tasks of bad.npy are in a file of their own, as in --task tasks.npy", options="--task site --label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("labels-missing", X_NPY, "y.npy: there is no such file", options="--label y.npy")
bad_npy("labels-too-few", X_NPY, "y.npy: is an array of 1 values", "but bad.npy has 2 rows", options="--label y.npy", files={"y.npy": npy([1])})
bad_npy("empty", b"", "bad.npy: the file is empty", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("text", GOOD, "bad.npy: this is no .npy file", options="--label y.npy", files={"y.npy": npy([1])})
bad_npy("archive", b"PK\x03\x04" + bytes(100), "bad.npy: this is an .npz archive", options="--label y.npy", files={"y.npy": npy([1])})
bad_npy("nan", npy([[1.0, 2.0], [3.0, np.nan]]), "bad.npy: row 2, column 2 holds nan; every value must be a finite number", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("cut-off", X_NPY[:-3], "bad.npy: its header promises a 2 x 3 array of type '<f8', but the file has only ", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("more", X_NPY + b"x", "bad.npy: there is more behind a 2 x 3 array", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("one-dimension", npy(np.arange(6.0)), "bad.npy: is an array of 6 values", "X.reshape(len(X), -1)", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("complex", npy(np.ones((2, 2), complex)), "bad.npy: holds values of type '<c16'", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("objects", npy(np.array([[None]], object)), "bad.npy: holds Python objects", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("records", npy(np.zeros(2, [("a", float)])), "bad.npy: holds records of several fields", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("huge", X_NPY.replace(b"(2, 3), }       ", b"(2000000000, 3)}"), "bad.npy: its header promises a 2000000000 x 3 array", options="--label y.npy", files={"y.npy": npy([0, 1])})
bad_npy("endless-header", b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(100), "bad.npy: byte 9: the header would have 4294967295 bytes", options="--label y.npy",
        files={"y.npy": npy([0, 1])})
bad_npy("header", X_NPY.replace(b"'shape'", b"'shade'"), "bad.npy: byte ", "the key 'shade' is none of", options="--label y.npy", files={"y.npy": npy([0, 1])})

# Labels and tasks

bad_csv("one-class", GOOD.replace("yes", "no"), "task 'a' has only one class ('no')")
bad_csv("one-class-task", GOOD.replace("yes,b", "no,b"), "task 'b' has only one class ('no')")
bad_csv("three-classes", GOOD.replace("no,a", "maybe,a", 1), "task 'a' has 3 classes", "--one-vs-one or --one-vs-rest")
bad_csv("labels-of-tasks-differ", GOOD.replace("no,b", "maybe,b"), "task 'a' has the labels", "but task 'b' has")
row("evaluate-unknown-label", "evaluate m.h5 bad.csv", "bad.csv: row 1 has label 'never', which the model does not know", "no", "yes",
    files={"bad.csv": GOOD.replace("no,", "never,")})
row("evaluate-no-label", "evaluate m.h5 bad.csv", "bad.csv: no column is called 'label'", files={"bad.csv": GOOD.replace("label", "kind", 1)})
row("predict-unknown-task", "predict m.h5 bad.csv -o out.csv", "bad.csv: row 15 has task 'c', which the model does not know. It knows: ",
    files={"bad.csv": GOOD.replace(",b\n", ",c\n")})
row("predict-no-task-column", "predict m.h5 bad.csv -o out.csv", "bad.csv: there is no task column, but the model has 2 tasks",
    files={"bad.csv": csv_text([row_[:4] for row_ in ROWS], header=["f1", "f2", "f3", "label"])})
row("predict-missing-feature", "predict m.h5 bad.csv -o out.csv", "bad.csv: no column is called 'f3'",
    files={"bad.csv": GOOD.replace("f3", "g3", 1)})
row("predict-nan", "predict m.h5 bad.csv -o out.csv", f"bad.csv:4:{start_of(4, 2)}: column 'f2' holds 'nan'", files={"bad.csv": replaced(4, 2, "nan")})
row("bound-other-data", "bound m.h5 bad.csv --svg out.svg", "m.h5 and bad.csv: the data is not what the model was trained on", files={"bad.csv": replaced(4, 2, "7")})
row("bound-delta", "bound m.h5 d.csv --delta 2 --svg out.svg", "--delta is '2'; it must be a number between 0 and 1")
row("bound-margin", "bound m.h5 d.csv --margin 0 --svg out.svg", "--margin is '0'; it must be a number > 0, or 'best'")
row("verify-other-data", "verify m.h5 bad.csv", "bad.csv: this is not the training data of the model", files={"bad.csv": replaced(4, 2, "7")})

# Kernels

bad_option("method-unknown", "--method svm", "--method is 'svm'; it must be one of coterie, stl, mtl,")
bad_option("parameter-unknown", "--method cmtl --parameters gamma=1", "--parameters names 'gamma', which --method cmtl does not have. It has lambda, clusters,")
bad_option("parameter-of-none", "--method stl --parameters gamma=1", "--parameters names 'gamma', but --method stl has none")
bad_option("parameter-not-positive", "--method metag --parameters lambda=0", "lambda of --method metag is '0'; it must be a number from 1e-40 to 1e40")
bad_option("parameter-too-large", "--method coclus --parameters lambda1=1e300", "lambda1 of --method coclus is '1e+300'; it must be a number from 1e-40 to 1e40")
bad_option("parameter-too-small", "--method flexclus --parameters lambda2=1e-300", "lambda2 of --method flexclus is '1e-300'; it must be a number from 1e-40 to 1e40")
bad_option("parameter-levels", ["--method", "metag", "--parameters", "levels=1000 ratio=10"], "lambda / ratio^(levels - 1) is 0, but must be >= 1e-40")
bad_option("parameter-not-whole", "--method whom --parameters clusters=1.5", "clusters of --method whom is '1.5'; it must be a whole number from 1 to 1000000")
bad_option("parameter-nan", "--method whom --parameters lambda=nan", "lambda of --method whom is 'nan'")
bad_option("parameter-inf", "--method whom --parameters lambda=inf", "lambda of --method whom is 'inf'")
bad_option("parameter-twice", ["--method", "whom", "--parameters", "lambda=1 lambda=2"], "--parameters names 'lambda' twice")
bad_option("parameter-no-value", "--method whom --parameters lambda", "--parameters has 'lambda'; it must be a list such as 'lambda=0.1 clusters=3'")
bad_option("parameter-not-between", "--method tang --parameters share=1.5", "share of --method tang is '1.5'; it must be a number between 0 and 1")
bad_option("parameter-order", ["--method", "cmtl", "--parameters", "between=3 within=2"], "within")
bad_option("parameters-of-main", "--parameters lambda=1", "--parameters has no meaning for --method coterie")
bad_option("lambda-of-linear", "--method cmtl --lambda 1", "--lambda has no meaning for --method cmtl; its --parameters are lambda, clusters,")
bad_option("C-of-linear", "--method metag -C 1", "--C has no meaning for --method metag")
bad_option("kernels-of-linear", "--method metag --kernels linear", "--kernels has no meaning for --method metag without --map kernels")
bad_option("lambda-of-stl", "--method stl --lambda 1", "--lambda has no meaning for --method stl; it has no parameters of its own")
bad_option("norm-of-tang", "--method tang --norm 2", "--norm has no meaning for --method tang")
bad_option("loss-of-main", "--loss square", "--loss has no meaning for --method coterie")
bad_option("loss-unknown", "--method cmtl --loss hinge", "loss is 'hinge'; it must be 'squared-hinge', 'logistic' or 'square'")
bad_option("map-unknown", "--method cmtl --map fourier", "map is 'fourier'; it must be 'none', or 'kernels[:rank]'")
bad_option("map-rank", "--method cmtl --map kernels:0", "map is 'kernels:0'")
bad_option("graph-of-stl", "--method stl --task-graph g.csv", "--task-graph has no meaning for --method stl", files={"g.csv": "task_a,task_b\na,b\n"})
bad_option("memory-of-linear", "--method cmtl --memory 1kB", "--method cmtl needs about")
bad_kernel("unknown", "quadratic", "kernel 'quadratic': there is no kernel 'quadratic'")
bad_kernel("negative-width", "gauss:1,-2", "the width '-2' is not a positive number")
bad_kernel("zero-width", "gauss:0", "the width '0' is not a positive number")
bad_kernel("no-width", "gauss", "'gauss' needs one list of widths")
bad_kernel("degree-0", "poly:0", "the degree '0' is not a whole number")
bad_kernel("half-degree", "poly:2.5", "the degree '2.5' is not a whole number")
bad_kernel("unknown-column", "gauss:1@f1-f9", "'f1-f9' is neither a column nor a range")
bad_kernel("backwards-range", "gauss:1@f3-f1", "runs backwards")
bad_kernel("none", " ", "kernel")
bad_kernel("zero-vector", "linear", "zero vector, which kernel 'linear' cannot normalise", "linear:raw",
           files={"k.csv": GOOD + "0,0,0,yes,a\n"})
bad_kernel("zero-vector-in-block", "gauss:1 linear@f1", "zero vector, which kernel 'linear@f1' cannot normalise",
           files={"k.csv": GOOD + "0,1,1,yes,a\n"})
bad_kernel("chi2-negative", "chi2", "kernel 'chi2' needs values of at least 0", "--scale minmax")
bad_kernel("too-large", "poly:40:raw", "too large for a number", files={"k.csv": GOOD + "1e30,1,1,yes,a\n"})


# Numbers that doubles cannot hold


def times(factor, positive=False):
    """The good table in another unit."""
    return csv_text([[repr((abs(x) if positive else x) * factor) for x in line[:-2]] + line[-2:] for line in ROWS])


def extreme(name, factor, kernels, *says, options="", positive=False):
    bad_kernel(f"extreme-{name}", kernels, *says, files={"k.csv": times(factor, positive)}, options=options)


extreme("laplace-raw", 1e60, "laplace:1 linear:raw", "task 'a': with C = 1 and kernel 'linear:raw', whose values reach ",
        "the sums are too large to be computed with. Use a smaller C, or --scale standard.")
extreme("raw-gauss", 1e150, "linear:raw gauss:1", "kernel 'linear:raw' is too large for a number on task 'a'. Use --scale standard.")
extreme("linear", 1e200, "linear", "kernel 'linear' cannot be normalised at row 1 of the data (task 'a'): k(x,x) is inf, too large a number to divide by.")
extreme("linear-small", 1e-160, "linear", "kernel 'linear' cannot be normalised at row 1 of the data (task 'a'): k(x,x) is ", "too small a number to divide by.")
extreme("raw-small", 1e-120, "linear:raw", "kernel 'linear:raw' is too small for a number on task 'a'. Use --scale standard.")
extreme("raw-denormal", 1e-310, "linear:raw", "kernel 'linear:raw' is too small for a number on task 'a'. Use --scale standard.")
extreme("poly-raw", 1e10, "poly:1000:raw", "kernel 'poly:1000:raw' is too large for a number on task 'a'. Use --scale standard or a lower degree.")
extreme("poly-raw-small", 1e-10, "poly:1000:raw", "kernel 'poly:1000:raw' is too small for a number on task 'a'. Use --scale standard or a lower degree.")
extreme("offset", 1, "poly:2:1e300", "kernel 'poly:2:1e+300' cannot be normalised", "Use a smaller offset.")
extreme("chi2", 1e200, "chi2", "row 1 of the data (task 'a') has the feature value ", "kernel 'chi2' needs values that are 0 or from 1e-140 to 1e+140.", positive=True)
extreme("chi2-small", 1e-310, "chi2:raw", "kernel 'chi2:raw' needs values that are 0 or from 1e-140 to 1e+140.", positive=True)
extreme("scale-range", 1e307, "gauss:1", "feature number 1 runs from ", "which cannot be scaled in double precision. Leave the feature out, or give it in another unit.",
        options="--scale minmax")
extreme("scale-denormal", 1e-318, "gauss:1", "which cannot be scaled in double precision", options="--scale standard")
row("extreme-linear-method", "train k.csv --method cmtl --scale none -o out.h5", "row 1, feature 'f1' is ",
    "too large to be computed with: the most is 1e+40. Use --scale standard.", files={"k.csv": times(1e200)})
row("extreme-prediction", "predict m.h5 k.csv -o out.csv", "too large", files={"k.csv": times(1e160)})
bad_option("C-huge", "-C 1e300", "task 'a' has C = 1e+300 for 14 rows, which is too large to be computed with. Use a smaller C.")
bad_option("C-tiny", "-C 1e-300", "task 'a' has C = 1e-300 for 14 rows, which is too small to be computed with. Use a larger C.")
bad_option("C-of-kernels", "-C 1e50", "task 'a': with C = 1e+50 and kernel 'linear', whose values reach 1, the sums are too large to be computed with.")
bad_option("task-C-huge", "--task-C c.csv", "task 'b' has C = 1e+200 for 14 rows, which is too large", files={"c.csv": "task,C\nb,1e200\n"})
PAIR = "tasks 'a' and 'b' are drawn together with lambda {} times weight {}, which is too {} to be computed with. Weights, and lambda times weight, must be from 1e-80 to 1e+80."
bad_option("lambda-huge", "--lambda 1e308", PAIR.format("1e+308", "1", "large"), "Change --lambda or the file of weights; a lambda or weight of 0 draws nothing together.")
bad_option("lambda-tiny", "--lambda 1e-300", PAIR.format("1e-300", "1", "small"))
bad_option("weight-huge", "--lambda 1e9 --task-graph g.csv", PAIR.format("1000000000", "1e+300", "large"), files={"g.csv": "task_a,task_b,weight\na,b,1e300\n"})
bad_option("weight-tiny", "--lambda inf --task-graph g.csv", PAIR.format("inf", "1e-300", "small"), files={"g.csv": "task_a,task_b,weight\na,b,1e-300\n"})
bad_option("weight-of-share", "--lambda 0.1max --task-graph g.csv", "which is too small to be computed with", files={"g.csv": "task_a,task_b,weight\na,b,1e-300\n"})
row("select-C-huge", "select d.csv --C 1,1e300 -o out.h5 --folds 2", "task 'a' has C = 1e+300 for 14 rows, which is too large to be computed with")
row("select-C-of-kernels", "select d.csv --C 1,1e60 -o out.h5 --folds 2", "with C = 1e+60 and kernel 'linear', whose values reach 1, the sums are too large")
row("select-lambda-huge", "select d.csv --lambda 0,1e308 -o out.h5 --folds 2", "are drawn together with lambda 1e+308 times weight 1, which is too large")
row("path-C-huge", "path d.csv -C 1e300", "task 'a' has C = 1e+300 for 14 rows, which is too large to be computed with")
row("extend-C-huge", "extend m.h5 e.csv -C 1e300 -o out.h5", "task 'c' has C = 1e+300 for 14 rows, which is too large", files={"e.csv": small_csv(tasks=("c",))})
row("extend-lambda-huge", "extend m.h5 e.csv --lambda 1e300 -o out.h5", "tasks 'a' and 'c' are drawn together with lambda 1e+300 times weight 1, which is too large",
    files={"e.csv": small_csv(tasks=("c",))})
row("extend-links-tiny", "extend m.h5 e.csv --lambda 1 --links l.csv -o out.h5", "tasks 'a' and 'c' are drawn together with lambda 1 times weight 1e-300, which is too small",
    files={"e.csv": small_csv(tasks=("c",)), "l.csv": "task_a,task_b,weight\na,c,1e-300\n"})
bad_kernel("matrix-huge", "precomputed:k.mat:raw", "kernel 'precomputed:k.mat:raw' is too large for a number on task 'a'. Multiply the matrix by a number that mends this.",
           files={"k.mat": "".join(",".join("1e250" if i == j else "0" for j in range(28)) + "\n" for i in range(28))})
bad_kernel("matrix-tiny", "precomputed:k.mat", "kernel 'precomputed:k.mat' cannot be normalised at row 1 of the data (task 'a'): k(x,x) is 1e-300, too small a number to divide by.",
           files={"k.mat": "".join(",".join("1e-300" if i == j else "0" for j in range(28)) + "\n" for i in range(28))})
bad_kernel("matrix-missing", "precomputed:k.mat", "k.mat: there is no such file")
bad_kernel("matrix-size", "precomputed:k.mat", "kernel 'precomputed:k.mat': the matrix is 2 x 2, but the data have 28 rows",
           files={"k.mat": "1,0\n0,1\n"})
bad_kernel("matrix-ragged", "precomputed:k.mat", "k.mat:2:", files={"k.mat": "1,0\n0\n"})
bad_kernel("matrix-text", "precomputed:k.mat", "k.mat:2:3: column 2 holds 'x', which is not a number", files={"k.mat": "1,0\n0,x\n"})
bad_kernel("matrix-npy-size", "precomputed:k.npy", "kernel 'precomputed:k.npy': the matrix is 2 x 3, but the data have 28 rows", files={"k.npy": X_NPY})
bad_kernel("matrix-npy-line", "precomputed:k.npy", "k.npy: is an array of 3 values", files={"k.npy": npy([1.0, 2.0, 3.0])})
bad_kernel("matrix-npy-text", "precomputed:k.npy", "k.npy: is a 1 x 1 array of type '<U1', which holds texts", files={"k.npy": npy([["a"]])})
bad_kernel("matrix-header", "precomputed:k.mat", "k.mat:1:1: ", "A matrix file has no header", files={"k.mat": "a,b\n0,1\n"})


def matrix_text(K):
    return "\n".join(",".join(map(repr, line)) for line in K.tolist()) + "\n"


def identity_but(*entries):
    K = np.eye(28)
    for i, j, value in entries:
        K[i, j] = value
    return matrix_text(K)


bad_kernel("matrix-not-symmetric", "precomputed:k.mat", "the matrix is not symmetric: row ", "column ", files={"k.mat": identity_but((0, 3, 0.5))})
bad_kernel("matrix-not-psd", "precomputed:k.mat", "kernel 'precomputed:k.mat' is not positive semidefinite on task 'a'", "eigenvalues",
           files={"k.mat": identity_but((0, 3, 2.0), (3, 0, 2.0))})
bad_kernel("matrix-zero-diagonal", "precomputed:k.mat", "the diagonal of row 5 (task 'a') is 0", files={"k.mat": identity_but((4, 4, 0.0))})
row("predict-no-matrix", "predict p.h5 d.csv -o out.csv", "the model uses the kernel precomputed:k.mat", "--precomputed k.mat=FILE")
row("predict-matrix-size", "predict p.h5 d.csv -o out.csv --precomputed k.mat=x.mat", "--precomputed k.mat: the matrix is 1 x 2", "28",
    files={"x.mat": "1,2\n"})
row("predict-matrix-unknown", "predict m.h5 d.csv -o out.csv --precomputed k.mat=x.mat", "--precomputed is 'k.mat=x.mat'", "which has none",
    files={"x.mat": "1,2\n"})
row("predict-zero-vector", "predict l.h5 bad.csv -o out.csv", "zero vector", files={"bad.csv": "f1,f2,f3,task\n0,0,0,a\n"})

# Options

bad_option("memory-word", "--memory much", "--memory is 'much'; it must be a size > 0 such as 512MB")
bad_option("memory-unit", "--memory 3XB", "--memory is '3XB'")
bad_option("memory-0", "--memory 0", "--memory is '0'")
bad_option("memory-negative", "--memory -1GB", "--memory is '-1GB'")
bad_option("memory-empty", ["--memory", ""], "--memory is ''")
bad_option("memory-little", "--memory 1MB", "the fit may need", "and may use 1 MB", "Raise --memory")
bad_option("C-0", "-C 0", "--C is '0'; it must be a number > 0")
bad_option("C-negative", "-C -1", "--C is '-1'; it must be a number > 0")
bad_option("C-nan", "-C nan", "--C is 'nan'; it must be a number > 0")
bad_option("C-inf", "-C inf", "--C is 'inf'; it must be a number > 0")
bad_option("C-text", "-C much", "--C is 'much'")
bad_option("lambda-negative", "--lambda -0.5", "--lambda is '-0.5'; it must be a number >= 0")
bad_option("lambda-garbage", "--lambda 0.1maximal", "--lambda is '0.1maximal'", "0.1max")
bad_option("lambda-nan", "--lambda nan", "--lambda is 'nan'")
bad_option("norm-half", "--norm 0.5", "--norm is '0.5'; it must be a number >= 1, or inf")
bad_option("tolerance-0", "--tolerance 0", "--tolerance is '0'; it must be a number > 0")
bad_option("max-steps-0", "--max-steps 0", "--max-steps is '0'; it must be a whole number >= 1")
bad_option("max-steps-half", "--max-steps 2.5", "--max-steps is '2.5'")
bad_option("time-limit-negative", "--time-limit -1", "--time-limit is '-1'; it must be a number >= 0")
bad_option("solver", "--solver simplex", "--solver is 'simplex'; it must be 'newton'")
bad_option("normalise", "--normalise tail:0", "normalise is 'tail:0'")
bad_option("scale", "--scale log", "--scale is 'log'; it must be 'none', 'standard' or 'minmax'")
bad_option("class-weight", "--class-weight fair", "--class-weight is 'fair'; it must be 'none' or 'balanced'")
bad_option("threads", "--threads -1", "--threads is '-1'")
bad_option("both-castings", "--one-vs-one --one-vs-rest", "--one-vs-one and --one-vs-rest are both given")
bad_option("unknown", "--colour red", "--colour", "coterie train --help")
bad_option("without-value", "--kernels", "--kernels")
row("usage-no-command", "", "a command is missing", "train")
row("usage-unknown-command", "trian d.csv", "'trian' is not a command", "train")
row("usage-did-you-mean", "trian d.csv", "'trian' is not a command; did you mean train?")
row("usage-unknown-option", "train d.csv --lamda 3 -o out.h5", "unknown option --lamda of 'coterie train'; did you mean --lambda? See: coterie train --help")
row("usage-unlike-option", "train d.csv --xyzzy=3 -o out.h5", "unknown option --xyzzy of 'coterie train'. See: coterie train --help")
row("usage-option-of-program", "--versoin", "unknown option --versoin of 'coterie'; did you mean --version?")
row("usage-too-many", "inspect m.h5 d.csv", "'d.csv' is one word too many for 'coterie inspect'. See: coterie inspect --help")
row("usage-no-value", "train d.csv -o", "--output needs a value behind it. See: coterie train --help")
row("usage-no-number", "path d.csv --hold-out abc", "--hold-out is 'abc', which is not a value that it can have. See: coterie path --help")
row("methods-unknown", "methods nope", "there is no method 'nope'. The methods are coterie, stl,")
row("methods-slip", "methods metga", "there is no method 'metga'; did you mean metag? The methods are")
row("usage-unknown-data-command", "data lst", "'lst' is not a command", "list, describe")
row("usage-no-data", "train -o out.h5", "DATA is missing", "coterie train --help")
row("usage-no-output", "train d.csv", "--output is missing")
row("generate-no-output", "data generate", "--output is missing")
row("generate-ending", "data generate -o out.doc", "out.doc: the ending must say the format")
row("generate-no-task", "data generate -o out.csv --tasks 0", "--tasks is 0")
row("generate-too-many-groups", "data generate -o out.csv --tasks 2 --groups 3", "--groups is 3, but there are only 2 tasks")
row("generate-more-weights-than-tasks", "data generate -o out.csv --structure weights --tasks 1 --groups 2", "--groups is 2, but there are only 1 task (--tasks)")
row("generate-absurd", "data generate -o out.csv --tasks 1000000 --samples 1000000000", "1e10")
row("generate-noise", "data generate -o out.csv --noise 0.9", "--noise is 0.9")
row("generate-structure", "data generate -o out.csv --structure planes", "--structure is 'planes'; it must be groups, weights, features, coclusters or subspaces.")
row("generate-block-of-weights", "data generate -o out.csv --structure weights --block 3", "--block has no meaning for --structure weights")
row("generate-spread-of-subspaces", "data generate -o out.csv --structure subspaces --spread 0.1", "--spread has no meaning for --structure subspaces")
row("generate-features-of-groups", "data generate -o out.csv --features 3", "--features has no meaning for --structure groups")
row("generate-deviation-of-groups", "data generate -o out.csv --structure groups --deviation 0.1", "--deviation has no meaning for --structure groups")
row("generate-deviation", "data generate -o out.csv --structure weights --deviation -1", "--deviation is -1; it must be between 0 and 1000")
row("generate-too-few-features", "data generate -o out.csv --structure coclusters --features 2", "--features is 2; it must be at least the number of groups")
row("generate-absurd-weights", "data generate -o out.csv --structure features --tasks 1000000 --samples 1000000", "--tasks x --samples x --features is 20000000000000")
row("convert-one-file", "data convert d.csv", "at least two files")
row("convert-onto-itself", "data convert d.csv d.csv", "d.csv is also an input")
row("describe-not-found", "data describe nowhere.csv", "nowhere.csv: there is no such file")
row("demo-share", "demo --train-share 2", "--train-share is '2'")

# Task graphs and costs

graph = lambda name, content, *says: bad_option(f"graph-{name}", "--task-graph g.csv", *says, files={"g.csv": content})
bad_option("graph-missing", "--task-graph g.csv", "g.csv: there is no such file")
graph("columns", "a,b\na,b\n", "--task-graph: g.csv: the columns are", "task_a, task_b")
graph("unknown-task", "task_a,task_b\na,z\n", "g.csv:2:3: no task is called 'z'")
graph("loop", "task_a,task_b\na,a\n", "g.csv:2:3: task 'a' is paired with itself")
graph("twice", "task_a,task_b\na,b\nb,a\n", "g.csv:3:1: ", "are paired on line 2 already")
graph("negative", "task_a,task_b,weight\na,b,-1\n", "g.csv:2:5: the weight is -1; weights must not be negative")
graph("nan", "task_a,task_b,weight\na,b,nan\n", "g.csv:2:5: the weight holds 'nan'")
costs = lambda name, content, *says: bad_option(f"task-C-{name}", "--task-C c.csv", *says, files={"c.csv": content})
costs("columns", "task,cost\na,1\n", "--task-C: c.csv: no column is called 'C', which it needs; the columns are task, cost.")
costs("no-task", "name,C\na,1\n", "--task-C: c.csv: no column is called 'task', which it needs; ")
costs("unknown-task", "task,C\nz,1\n", "--task-C names the task 'z', which the data does not have")
costs("twice", "task,C\na,1\na,2\n", "c.csv: task 'a' is there twice")
costs("zero", "task,C\na,0\n", "--task-C gives C = 0 to task 'a'")
costs("text", "task,C\na,big\n", "c.csv:2:3: column 'C' holds 'big'")

# Tables of results

RESULTS = "share,dataset,method,score\n" + "".join(f"{b},{d},{m},{s}\n" for b in (10, 20) for d, line in zip("pqr", [(1, 2), (3, 4), (6, 5)])
                                                  for m, s in zip("ab", line))


def bad_results(name, content, *says, options="--block share --control a"):
    row(f"stats-{name}", f"stats bad.csv --picture out.svg {options}", *says, files={"bad.csv": content})


row("stats-not-found", "stats nowhere.csv --control a --picture out.svg", "nowhere.csv: there is no such file")
bad_results("empty", "", "bad.csv: the file is empty")
bad_results("no-rows", "share,dataset,method,score\n", "bad.csv: there is a header but no row of results.")
bad_results("column-missing", RESULTS, "bad.csv: no column is called 'auc', which --score asks for; the columns are share, dataset, method, score.",
            options="--control a --score auc")
bad_results("column-twice", RESULTS, "column 'share' is named by --dataset and by --block. Name two columns.",
            options="--block share --dataset share --control a")
bad_results("not-a-number", RESULTS.replace("10,q,a,3", "10,q,a,high"), "bad.csv:4:8: the score holds 'high', which is not a number. Correct it.")
bad_results("nan", RESULTS.replace("10,q,a,3", "10,q,a,nan"), "bad.csv:4:8: the score holds 'nan'")
bad_results("no-score", RESULTS.replace("10,q,a,3", "10,q,a,"), "bad.csv:4:8: the score is empty")
bad_results("ragged", RESULTS.replace("10,q,a,3", "10,q,a"), "bad.csv:4:7: 3 fields, but the header has 4.")
bad_results("no-name", RESULTS.replace("10,q,a,3", "10,,a,3"), "bad.csv:4:4: column 'dataset' is empty. Every row needs a data set")
bad_results("gap", RESULTS.replace("20,q,a,3\n", ""), "bad.csv: method 'a' on data set 'q' (block '20') has no score;", "Add the row")
bad_results("duplicate", RESULTS + "10,q,a,3\n", "bad.csv:14:1: method 'a' on data set 'q' (block '10') has a score on line 4 already.", "by --repetition")
bad_results("blocks-unsaid", RESULTS, "bad.csv:8:1: method 'a' on data set 'p' has a score on line 2 already.", options="--control a")
bad_results("repetition-gap", RESULTS.replace("20,q,a,3\n", ""), "method 'a' on data set 'q' (repetition '20') has no score",
            options="--repetition share --control a")
bad_results("control", RESULTS, "--control is 'c', but in block '10' the methods are a, b. Name one of them.", options="--block share --control c")
bad_results("one-dataset", "dataset,set,method,score\np,p,a,1\np,p,b,1\n", "block 'p': there is one data set only; ranks are compared over two or more.",
            options="--block dataset --dataset set --control a")
bad_results("one-method", "dataset,method,score\np,a,1\nq,a,2\n", "there is one method only; a comparison needs two or more.", options="--control a")
bad_results("no-control", RESULTS, "--control is missing", options="--block share")
bad_results("alpha", RESULTS, "--alpha is 1; it must be a number between 0 and 1", options="--block share --control a --alpha 1")
bad_results("alpha-text", RESULTS, "--alpha is 'few'; it must be a number between 0 and 1", options="--block share --control a --alpha few")
bad_results("format", RESULTS, "--format is 'html'; it must be text, markdown, latex or csv.", options="--block share --control a --format html")
bad_results("ratio-alone", RESULTS, "--test-train-ratio is for repetitions", options="--block share --control a --test-train-ratio 0.5")
bad_results("ratio", RESULTS, "--test-train-ratio is -1; it must be a finite number >= 0.", options="--repetition share --control a --test-train-ratio -1")
row("stats-picture-name", "stats d.csv --control a --picture out.png", "--picture is 'out.png'; the name must end in .svg.")
row("stats-picture-input", "stats out.svg --control a --picture out.svg", "out.svg", files={"out.svg": RESULTS})

# Model files


def framed(body, version=7, size=None, crc=None):
    """A model file around the body, with a header that agrees unless told otherwise."""
    head = f"coterie model\nversion {version}\nbytes {len(body) if size is None else size}\n"
    head += f"crc32 {zlib.crc32(body) if crc is None else crc:08x}\n"
    return head.encode().ljust(512, b"\0") + body


def flipped(place):
    """One bit flipped; a negative place counts from the end, a fraction is a share of the file."""
    def change(model):
        index = int(place * len(model)) if isinstance(place, float) else place % len(model)
        return model[:index] + bytes([model[index] ^ 16]) + model[index + 1:]
    return change


def with_shape(path, shape):
    """The extents of a dataset overwritten, the checksum made to match."""
    def change(model):
        with tempfile.NamedTemporaryFile(suffix=".h5") as copy:
            copy.write(model)
            copy.flush()
            with h5py.File(copy.name, "r") as file:
                header, old = h5py.h5o.get_info(file[path].id).addr, file[path].shape
        place = model.index(b"".join(n.to_bytes(8, "little") for n in old), 512 + header)  # addresses count from the user block
        new = b"".join(n.to_bytes(8, "little") for n in shape)
        assert place - header < 712, "the extents stand in the header of the dataset"
        return framed(model[512:place] + new + model[place + len(new):])
    return change


def with_value(path, index, value, kind="<f8"):
    """One number overwritten, the checksum made to match."""
    def change(model):
        with tempfile.NamedTemporaryFile(suffix=".h5") as copy:
            copy.write(model)
            copy.flush()
            with h5py.File(copy.name, "r") as file:
                place = file[path].id.get_offset() + 8 * index
        return framed(model[512:place] + np.array([value], kind).tobytes() + model[place + 8:])
    return change


def other_hdf5(userblock=0, shape=(3,)):
    """A small HDF5 file that coterie did not write; with a user block it gets coterie's header."""
    def change(_):
        with tempfile.NamedTemporaryFile(suffix=".h5") as copy:
            with h5py.File(copy.name, "w", libver="latest", userblock_size=userblock) as file:
                file.create_dataset("tasks/theta", shape=shape, dtype="<f8")
            content = Path(copy.name).read_bytes()
        return framed(content[512:]) if userblock else content
    return change


row("model-missing", "inspect nowhere.h5", "nowhere.h5: cannot be read: No such file")
row("model-unreadable", "inspect bad.h5", "bad.h5: cannot be read: Permission denied", files={"bad.h5": lambda model: model}, modes={"bad.h5": 0})
bad_model("folder", FOLDER, "this is a folder")
bad_model("empty", b"", "is empty, not a coterie model")
bad_model("text", GOOD, "is not a coterie model")
bad_model("of-other-origin", other_hdf5(), "is not a coterie model, but another HDF5 file")
bad_model("header-only", lambda model: model[:512], "is damaged")
bad_model("cut-in-the-header", lambda model: model[:100], "is damaged")
bad_model("cut-off", lambda model: model[:len(model) // 2], "is damaged", "bytes")
bad_model("one-byte-less", lambda model: model[:-1], "is damaged", "bytes")
bad_model("one-byte-more", lambda model: model + b"\0", "is damaged", "bytes")
for place in (20, 40, 200, 511):
    bad_model(f"bit-of-header-{place}", flipped(place), "")
for place in (512, 600, 0.25, 0.5, 0.75, 0.9, -1):
    bad_model(f"bit-flipped-{place}", flipped(place), "is damaged: its checksum is not that of its contents")
bad_model("newer", lambda model: framed(model[512:], version=8), "was written by a newer coterie: model version 8", "Update the program")
bad_model("version-of-another-layout", lambda model: framed(model[512:], version=2), "is damaged: /certificate/edge_t is missing")
bad_model("version-0", lambda model: framed(model[512:], version=0), "is damaged")
bad_model("version-huge", lambda model: framed(model[512:], version=10 ** 30), "is damaged")
bad_model("size-huge", lambda model: framed(model[512:], size=2 ** 63), "is damaged")
bad_model("garbage-behind-header", lambda model: framed(bytes(range(256)) * 64), "is damaged: its HDF5 structure has")
bad_model("nothing-in-it", other_hdf5(512), "is damaged: ")
bad_model("absurd-dataset", other_hdf5(512, (2 ** 40, 2 ** 20)), "is damaged: ")
bad_model("absurd-rows", with_shape("support_vectors/values", (2 ** 60, 3)), "is damaged: its HDF5 structure has a dataset larger than the file")
bad_model("overflowing-shape", with_shape("tasks/theta", (2 ** 33, 2 ** 33)), "is damaged: its HDF5 structure has a dataset")
bad_model("wrapping-shape", with_shape("tasks/theta", (2 ** 63, 2)), "is damaged: its HDF5 structure has a dataset")
bad_model("fewer-rows", with_shape("support_vectors/values", (1, 3)), "is damaged: its HDF5 structure has a dataset of the wrong size")
bad_model("nan", with_value("tasks/bias", 0, float("nan")), "is damaged: /tasks/bias[0] is nan, not a finite number")
bad_model("negative-weight", with_value("tasks/theta", 0, -1.0), "is damaged: /tasks/theta[0] is -1, not a number >= 0")
bad_model("wild-index", with_value("tasks/support", 0, 2 ** 62, "<i8"), "is damaged: /tasks/support[0] is ")
bad_model("negative-index", with_value("tasks/support", 0, -1, "<i8"), "is damaged: /tasks/support[0] is -1, not from 0 to ")
bad_model("wild-offset", with_value("tasks/support_offsets", 1, 2 ** 62, "<i8"), "is damaged: /tasks/support_offsets")
bad_model("absurd-n", with_value("tasks/n", 0, -5, "<i8"), "is damaged: /tasks/n[0] is -5, not a number >= 1")
bad_model("absurd-training-rows", with_value("training_data/rows", 0, -1, "<i8"), "is damaged: ")
bad_model("wild-group", with_value("tasks/group", 1, 2 ** 40, "<i8"), "is damaged: /tasks/group")
bad_model("predict", flipped(-1), "is damaged", command="predict bad.h5 d.csv -o out.csv")
bad_model("evaluate", flipped(-1), "is damaged", command="evaluate bad.h5 d.csv")
bad_model("verify", flipped(-1), "is damaged", command="verify bad.h5 d.csv")
bad_model("bound", flipped(-1), "is damaged", command="bound bad.h5 d.csv")

# Output

row("output-no-folder", "train d.csv -o nowhere/out.h5", "--output: the folder nowhere does not exist")
row("output-folder", "train d.csv -o place", "--output: place is a folder", files={"place": FOLDER})
row("output-not-writable", "train d.csv -o locked/m.h5", "--output: locked/m.h5 cannot be written: Permission denied",
    files={"locked": FOLDER}, modes={"locked": 0o555})
row("output-device", "train d.csv -o /dev/full", "/dev/full is not a regular file")
row("output-is-input", "train d.csv -o d.csv", "--output: d.csv is also an input")
row("output-predict-no-folder", "predict m.h5 d.csv -o nowhere/out.csv", "--output: the folder nowhere does not exist")
row("page-no-output", "page m.h5", "--output is missing: the file for the page, such as report.html")
row("page-ending", "page m.h5 -o out.pdf", "--output is 'out.pdf'; the name must end in .html or .htm")
row("page-no-folder", "page m.h5 -o nowhere/out.html", "--output: the folder nowhere does not exist")
row("page-other-data", "page m.h5 bad.csv -o out.html", "bad.csv: no column is called 'f3'", files={"bad.csv": "f1,f2,label,task\n1,2,no,a\n"})
row("page-of-no-model", "page d.csv -o out.html", "d.csv")
row("page-path-ending", "path d.csv --page out.svg", "--page is 'out.svg'; the name must end in .html or .htm")
row("page-path-twice", "path d.csv --groups 1 --model out.html --page out.html", "--model and --page")
row("page-select-twice", "select d.csv -o out.html --page out.html", "--output, --table, --picture and --page")
row("page-experiment-ending", "experiment plan.toml -o out --page out.txt", "--page is 'out.txt'; the name must end in .html or .htm",
    files={"plan.toml": 'shares = [0.5]\n[[dataset]]\nname = "d"\nfiles = "d.csv"\n[[method]]\nname = "o"\nkernels = "linear"\nC = [1]\nlambda = "0"\n'})
row("output-predict-full", "predict m.h5 d.csv -o /dev/full", "/dev/full: cannot be written: No space left on device", code=1)
row("output-generate-no-folder", "data generate -o nowhere/out.csv", "--output: the folder nowhere does not exist")
row("output-convert-full", "data convert d.csv full.csv", "full.csv: cannot be written: No space left on device", code=1,
    files={"full.csv": "a link to /dev/full"})


# Running the table


@pytest.fixture(scope="module")
def models(program_path, tmp_path_factory):
    """Sound models for the rows, by name: m.h5, one with a linear kernel only, one with a precomputed kernel."""
    coterie = Program(program_path, tmp_path_factory.mktemp("models"))
    coterie.write("d.csv", GOOD)
    coterie.write("k.mat", matrix_text(np.eye(28)))
    for name, kernels in (("m.h5", "linear gauss:1,4"), ("l.h5", "linear"), ("p.h5", "precomputed:k.mat")):
        coterie("train", "d.csv", "-o", name, "--kernels", kernels, "--quiet")
    return {name: (coterie.folder / name).read_bytes() for name in ("m.h5", "l.h5", "p.h5")}


def set_up(case, folder, models):
    """Only what the command names is put there."""
    named = set(case.command)
    contents = {name: content for name, content in {"d.csv": GOOD, **models}.items() if name in named}
    contents.update(case.files)
    for name, content in contents.items():
        path = folder / name
        if callable(content):
            content = content(models["m.h5"])
        if content is FOLDER:
            path.mkdir()
        elif content == "a link to /dev/full":
            path.symlink_to("/dev/full")
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, mode in case.modes.items():
        (folder / name).chmod(mode)


def contents_of(folder):
    """What is in the folder: bytes of files, targets of links."""
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.is_file() and path.stat().st_mode & stat.S_IRUSR
            and path.read_bytes() for path in sorted(folder.rglob("*"))}


def check(case, result, before, after):
    description = result.describe()
    assert result.code == case.code, description
    lines = result.err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1 and lines[-1] == errors[0], description
    for text in case.says:
        assert text in errors[0], f"missing: {text}\n{description}"
    assert errors[0].rstrip()[-1] in ".)" or "--help" in errors[0], f"not a sentence\n{description}"
    assert len(errors[0]) < 1500, description
    assert result.out == "", description
    assert after == before, f"files changed: {set(after) ^ set(before)}\n{description}"


@pytest.mark.parametrize("case", [case for case in TABLE if not case.modes], ids=lambda case: case.name)
def test_bad_input(case, coterie, models):
    set_up(case, coterie.folder, models)
    outputs = [word for word in case.command if word.startswith("out.")]
    for content in ([None, b"older"] if outputs else [None]):
        if content:
            for name in outputs:
                coterie.write(name, content)
        before = contents_of(coterie.folder)
        result = coterie(*case.command, code=None)
        check(case, result, before, contents_of(coterie.folder))


@pytest.mark.parametrize("case", [case for case in TABLE if case.modes], ids=lambda case: case.name)
def test_bad_permissions(case, program_path, models):
    """Permissions do not bind the administrator, so root runs these rows as nobody."""
    folder = Path(tempfile.mkdtemp(prefix="coterie-test-"))
    try:
        folder.chmod(0o755)
        program = shutil.copy(program_path, folder / "coterie")
        work = folder / "work"
        work.mkdir()
        set_up(case, work, models)
        as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        if as_nobody and not case.command[-1].startswith("locked/"):
            os.chown(work, 65534, 65534)
        before = contents_of(work)
        done = subprocess.run([program, *case.command], cwd=work, capture_output=True, stdin=subprocess.DEVNULL, timeout=120, **as_nobody)
        result = check_sound(Result([program, *case.command], done.returncode, done.stdout.decode(), done.stderr.decode()))
        check(case, result, before, contents_of(work))
    finally:
        for path in folder.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


def test_the_table_is_long_and_its_names_differ():
    assert len(TABLE) >= 50
    assert len({case.name for case in TABLE}) == len(TABLE)
    assert all(case.says and "".join(case.says) for case in TABLE), "a row expects no message"
    assert sum(case.code != 0 for case in TABLE) == len(TABLE)


# Disks that are full


def limit_files(size):
    """The longest file that the program may write: its write then fails half-way, as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("command, output", [
    ("train d.csv -o out.h5 --quiet", "out.h5"),
    ("predict m.h5 d.csv -o out.csv --quiet", "out.csv"),
    ("data generate -o out.csv", "out.csv"),
    ("data convert d.csv out.tsv", "out.tsv"),
    ("data convert d.csv out.tsv.gz", "out.tsv.gz"),
])
@pytest.mark.parametrize("older", [False, True], ids=["new", "overwritten"])
def test_a_write_that_fails_half_way_leaves_nothing(coterie, models, command, output, older):
    coterie.write("d.csv", GOOD)
    coterie.write("m.h5", models["m.h5"])
    if older:
        coterie.write(output, "older")
    before = contents_of(coterie.folder)
    done = subprocess.run([coterie.path, *command.split()], cwd=coterie.folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=120,
                          preexec_fn=limit_files(64), restore_signals=False)
    result = check_sound(Result(command.split(), done.returncode, done.stdout.decode(), done.stderr.decode()))
    assert result.code == 1, result.describe()
    assert result.err == f"error: {output}: cannot be written: File too large.\n", result.describe()
    assert result.out == "", result.describe()
    assert contents_of(coterie.folder) == before


@pytest.mark.parametrize("arguments", [["predict", "m.h5", "d.csv"], ["inspect", "m.h5"], ["inspect", "m.h5", "--json"],
                                       ["evaluate", "m.h5", "d.csv"], ["data", "describe", "d.csv"]], ids=" ".join)
def test_full_standard_output_is_said(coterie, models, arguments):
    coterie.write("d.csv", GOOD)
    coterie.write("m.h5", models["m.h5"])
    with open("/dev/full", "wb") as full:
        result = coterie(*arguments, code=1, stdout=full)
    assert "error: standard output cannot be written: No space left on device." in result.err, result.describe()


def test_a_full_file_system(coterie, models):
    """A file system of 16 kB, where mounting one is allowed: the model does not fit, and no part of it stays."""
    coterie.write("d.csv", small_csv(n=100))
    (coterie.folder / "small").mkdir()
    script = 'mount -t tmpfs -o size=16k tmpfs small 2>/dev/null || exit 77; "$0" "$@"; code=$?; ls -A small; exit $code'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, coterie.path, "train", "d.csv", "-o", "small/out.h5", "--quiet"],
                          cwd=coterie.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("file systems cannot be mounted here")
    result = check_sound(Result(["train"], done.returncode, done.stdout, done.stderr))
    assert result.code == 1 and result.err == "error: small/out.h5: cannot be written: No space left on device.\n", result.describe()
    assert result.out == "", f"left behind: {result.out}"


# Random damage: no message is known beforehand, but each file ends in an answer or an error, never in a crash


def damaged(content, source):
    """A few bytes replaced, taken out, doubled or put in."""
    content = bytearray(content)
    for _ in range(source.integers(1, 4)):
        place, length = int(source.integers(len(content))), int(source.integers(1, 9))
        kind = source.integers(4)
        if kind == 0:
            content[place:place + length] = source.bytes(length)
        elif kind == 1:
            del content[place:place + length]
        elif kind == 2:
            content[place:place] = content[place:place + 8 * length]
        else:
            content[place:place + length] = bytes([source.choice([0, 255, 10, 44, 34, 58, 45, 46, 49])]) * length
        content = content or bytearray(b"x")
    return bytes(content)


def check_answer(result):
    assert result.code in (0, 2), result.describe()
    errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == (1 if result.code == 2 else 0), result.describe()
    return result.code


def test_damaged_models_with_matching_checksums(coterie, models):
    source = np.random.default_rng(5)
    coterie.write("d.csv", GOOD)
    refused = 0
    for _ in range(60):
        body = models["m.h5"][512:]
        if source.integers(2):  # of one length, so that more of the structure still stands
            place = int(source.integers(len(body)))
            body = body[:place] + bytes([source.integers(256)]) + body[place + 1:]
        else:
            body = damaged(body, source)
        coterie.write("bad.h5", framed(body))
        refused += check_answer(coterie("predict", "bad.h5", "d.csv", "--quiet", code=None)) == 2
    assert refused > 20


@pytest.mark.parametrize("name, content", [("bad.csv", GOOD.encode()), ("bad.svm", libsvm_text(ROWS[:14]).encode()), ("gz.csv", gzipped(GOOD))],
                         ids=["csv", "libsvm", "gzip"])
def test_damaged_tables(coterie, name, content):
    source = np.random.default_rng(6)
    refused = 0
    for _ in range(25):
        coterie.write(name, damaged(content, source))
        refused += check_answer(coterie("train", name, "-o", "out.h5", "--quiet", "--kernels", "gauss:1", code=None)) == 2
    assert refused > 8
    assert set(coterie.files()) <= {name, "out.h5"}
