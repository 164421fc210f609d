"""Kernels of single columns, "@each": from the table to what `inspect` says of the columns."""

import random

import pytest

from support import Program, csv_text


def rows_of_one_column(columns=30, tasks=("a", "b", "c", "d"), n=24, seed=3):
    """Labels are the sign of one column: the first for tasks a and b, the second for the others."""
    source = random.Random(seed)
    rows = []
    for number, task in enumerate(tasks):
        for _ in range(n):
            x = [round(source.gauss(0, 1), 4) for _ in range(columns)]
            rows.append([*x, "yes" if x[number // 2] > 0 else "no", task])
    return rows


@pytest.fixture(scope="module")
def fitted(program_path, tmp_path_factory):
    program = Program(program_path, tmp_path_factory.mktemp("each"))
    program.write("d.csv", csv_text(rows_of_one_column()))
    program("train", "d.csv", "--kernels", "gauss:4 gauss:0.5,1@each", "--lambda", "0.02max", "-o", "m.h5")
    return program


def test_the_columns_that_matter_come_first(fitted):
    document = fitted("inspect", "m.h5", "--json").json
    assert len(document["kernels"]) == 61 and document["kernels"][1] == "gauss:0.5@f1" and document["kernels"][60] == "gauss:1@f30"
    assert document["settings"]["kernels"] == "gauss:4 gauss:0.5,1@each"
    columns = document["columns"]
    assert len(columns) == 30 and {column["name"] for column in columns[:2]} == {"f1", "f2"}
    means = [column["mean"] for column in columns]
    assert means == sorted(means, reverse=True) and means[0] > 0.3
    # By hand: the share of a column in a group is that of any of its tasks.
    for column in columns:
        mine = [m for m, name in enumerate(document["kernels"]) if name.endswith("@" + column["name"])]
        for group, share in zip(document["groups"], column["groups"]):
            theta = next(task["theta"] for task in document["tasks"] if task["name"] == group[0])
            assert share == pytest.approx(sum(theta[m] for m in mine) / sum(theta), abs=1e-12)
    where = {column["name"]: column["groups"] for column in columns}
    of = {task["name"]: task["group"] - 1 for task in document["tasks"]}
    for task, name in (("a", "f1"), ("b", "f1"), ("c", "f2"), ("d", "f2")):
        assert max(where, key=lambda column: where[column][of[task]]) == name


def test_the_text_stays_short_and_sums_up(fitted):
    text = fitted("inspect", "m.h5").out
    assert "kernels, and their weight in the tasks, largest first" in text
    assert "  and 36 more, with a mean weight of " in text
    assert "columns, and the share of the kernel weights that looks at each alone" in text
    assert len(text.splitlines()) < 120
    assert max(map(len, text.splitlines())) < 250
    assert "status converged" in text


def test_it_verifies_and_predicts_from_the_file_alone(fitted):
    assert fitted("verify", "m.h5", "d.csv", "--json").json["holds"]
    assert fitted("evaluate", "m.h5", "d.csv", "--json").json["accuracy"] > 0.9


def test_constant_columns_are_left_out_and_named(coterie):
    rows = rows_of_one_column(columns=5)
    for row in rows:
        row[2] = 7
        row[3] = "abcd".index(row[-1])  # constant within every task
    coterie.write("d.csv", csv_text(rows))
    out = coterie("train", "d.csv", "--kernels", "gauss:1@each", "--normalise", "tail:4", "-o", "m.h5")
    assert "note: @each in --kernels leaves out the columns f3, f4, constant in every task." in out.err
    assert coterie("inspect", "m.h5", "--json").json["kernels"] == ["gauss:1@f1", "gauss:1@f2", "gauss:1@f5"]
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]
    # A pool sees the difference between tasks.
    coterie("train", "d.csv", "--method", "pooled", "--kernels", "gauss:1@each", "-o", "p.h5")
    assert coterie("inspect", "p.h5", "--json").json["kernels"] == ["gauss:1@f1", "gauss:1@f2", "gauss:1@f4", "gauss:1@f5"]
    assert coterie("verify", "p.h5", "d.csv", "--json").json["holds"]
    # Data in which the column is not constant is not what the model was trained on.
    rows[0][2] = 8
    coterie.write("other.csv", csv_text(rows))
    assert coterie("verify", "m.h5", "other.csv", code=None).code in (1, 2)


def test_columns_of_any_name(coterie):
    rows = rows_of_one_column(columns=3)
    coterie.write("d.csv", csv_text(rows, header=['"a b"', "c-d", "each"] + ["label", "task"]))
    err = coterie("train", "d.csv", "--kernels", "gauss:1@each", "-o", "m.h5", code=2).err
    assert "'gauss:1@each' can be read in two ways, because a column is called 'each'" in err
    coterie("train", "d.csv", "--drop", "each", "--kernels", "gauss:1@each", "-o", "m.h5")
    document = coterie("inspect", "m.h5", "--json").json
    assert document["kernels"] == ["gauss:1@#1", "gauss:1@c-d"]
    assert {column["name"] for column in document["columns"]} == {"a b", "c-d"}
    assert coterie("verify", "m.h5", "d.csv", "--json").json["holds"]
    assert coterie("evaluate", "m.h5", "d.csv", "--json").json["accuracy"] > 0.5


def test_select_and_path_take_it_too(coterie):
    rows = rows_of_one_column(columns=4, n=16)
    for row in rows[:-1]:
        row[3] = 1  # constant in every fold but one
    rows[-1][3] = 2
    coterie.write("d.csv", csv_text(rows))
    out = coterie("select", "d.csv", "--kernels", "gauss:1@each", "-C", "1,10", "--lambda", "0,0.1max", "--normalise", "variance",
                  "--folds", "4", "-o", "m.h5", "--json").json
    assert len(out["fit"]["kernels"]) == 4
    coterie("path", "d.csv", "--kernels", "gauss:0.5,1,2,4,8,16,32,64@each", "-C", "1", "-o", "path")
    assert (coterie.folder / "path" / "weights.csv").read_text().splitlines()[0].count("@f") == 32
    assert "13 others" in (coterie.folder / "path" / "weights.svg").read_text()
