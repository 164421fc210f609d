"""coterie stats against scipy, in its formats, and what it says of tables that cannot be compared."""

import csv
import io
import math
import random
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy import stats

METHODS = ["ours", "b", "c", "d", "e"]


def draw_scores(seed, datasets, methods, values):
    """Scores of a few values only have ties, others have none."""
    source = np.random.default_rng(seed)
    scores = source.normal(size=(datasets, methods)) + 0.4 * np.arange(methods)
    return np.round(scores * values) / values if values else np.round(scores, 6)


def write_long(coterie, scores, name="results.csv"):
    """A row per score, in any order."""
    rows = [f"d{i},{METHODS[j]},{score!r}" for i, line in enumerate(scores.tolist()) for j, score in enumerate(line)]
    first, rest = rows[:scores.shape[1]], rows[scores.shape[1]:]  # the order of the methods is that of the first rows
    random.Random(1).shuffle(rest)
    (coterie.folder / name).write_text("\n".join(["dataset,method,score", *first, *rest]) + "\n")
    return name


def compare(coterie, scores, *options, control="ours"):
    return coterie("stats", write_long(coterie, scores), "--control", control, "--json", *options).json["blocks"][0]


TABLES = [(seed, datasets, methods, values) for seed, (datasets, methods, values) in
          enumerate([(7, 5, 0), (7, 5, 2), (30, 4, 0), (30, 4, 1), (60, 3, 0), (60, 3, 5), (2, 3, 0), (12, 5, 3)])]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: "x".join(map(str, table)))
def test_agrees_with_scipy(coterie, table):
    scores = draw_scores(*table)
    N, k = scores.shape
    block = compare(coterie, scores)
    ranks = stats.rankdata(-scores, axis=1)
    np.testing.assert_allclose(list(block["average_ranks"].values()), ranks.mean(0), rtol=1e-14)
    assert list(block["average_ranks"]) == METHODS[:k] and block["block"] is None

    friedman = block["friedman"]
    chi_square, p = stats.friedmanchisquare(*scores.T)
    assert friedman["chi_square"] == pytest.approx(chi_square, rel=1e-10)
    assert friedman["chi_square_p"] == pytest.approx(p, rel=1e-10)
    F = (N - 1) * chi_square / (N * (k - 1) - chi_square)
    assert friedman["F"] == pytest.approx(F, rel=1e-9)
    assert friedman["F_p"] == pytest.approx(stats.f.sf(F, k - 1, (k - 1) * (N - 1)), rel=1e-8)
    assert friedman["F_degrees"] == [k - 1, (k - 1) * (N - 1)]

    average = dict(zip(METHODS, ranks.mean(0)))
    error = math.sqrt(k * (k + 1) / (6 * N))
    p_values = [row["p"] for row in block["holm"]]
    assert p_values == sorted(p_values)
    rejecting, largest = True, 0
    for i, row in enumerate(block["holm"]):
        z = (average[row["method"]] - average["ours"]) / error
        assert row["z"] == pytest.approx(z, rel=1e-10, abs=1e-14)
        assert row["p"] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-10)
        assert row["adjusted_alpha"] == pytest.approx(0.05 / (k - 1 - i))
        rejecting = rejecting and row["p"] < row["adjusted_alpha"]
        largest = max(largest, min(1, (k - 1 - i) * row["p"]))
        assert row["rejected"] == rejecting and row["adjusted_p"] == pytest.approx(largest)

    q = stats.studentized_range.ppf(0.95, k, math.inf) / math.sqrt(2)
    assert block["nemenyi"]["q"] == pytest.approx(q, rel=1e-6)
    assert block["nemenyi"]["critical_difference"] == pytest.approx(q * error, rel=1e-6)

    assert [row["method"] for row in block["wilcoxon"]] == [row["method"] for row in block["holm"]]
    for row in block["wilcoxon"]:
        d = np.round(scores[:, 0] - scores[:, METHODS.index(row["method"])], 10)  # ties that rounding errors would break
        sizes = np.abs(d[d != 0])
        exact = len(sizes) <= 50 and len(np.unique(sizes)) == len(sizes)
        assert row["exact"] == exact and row["n"] == len(sizes)
        if len(sizes) == 0:
            assert row["p"] == 1
            continue
        expected = stats.wilcoxon(d[d != 0], zero_method="wilcox", correction=not exact, mode="exact" if exact else "approx")
        assert min(row["plus"], row["minus"]) == expected.statistic
        assert row["p"] == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.parametrize("k", [2, 3, 5, 8, 12])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
def test_range_quantiles(coterie, k, alpha):
    rows = [f"{d},{m},{(d * 7 + m * 3) % 11}" for d in range(3) for m in range(k)]
    (coterie.folder / "t.csv").write_text("dataset,method,score\n" + "\n".join(rows) + "\n")
    block = coterie("stats", "t.csv", "--control", "0", "--alpha", alpha, "--json").json["blocks"][0]
    assert block["nemenyi"]["q"] * math.sqrt(2) == pytest.approx(stats.studentized_range.isf(alpha, k, math.inf), rel=1e-6)


@pytest.mark.parametrize("alpha", ["1e-300", "1e-15", "0.999999"])
def test_levels_at_the_ends(coterie, alpha):
    block = compare(coterie, draw_scores(2, 9, 4, 0), "--alpha", alpha)
    assert 0 < block["nemenyi"]["q"] < 64 and not (float(alpha) < 1e-9 and any(row["rejected"] for row in block["holm"]))


def test_lower_is_better_is_the_negative(coterie):
    scores = draw_scores(3, 9, 4, 2)
    assert compare(coterie, scores, "--lower-is-better") == compare(coterie, -scores)


def test_every_block_is_a_table_of_its_own(coterie):
    tables = {"10": draw_scores(1, 6, 4, 0), "20": draw_scores(2, 8, 5, 2)}
    rows = [f"{block},d{i},{METHODS[j]},{score!r}" for block, scores in tables.items()
            for i, line in enumerate(scores.tolist()) for j, score in enumerate(line)]
    (coterie.folder / "blocks.csv").write_text("share,dataset,method,score\n" + "\n".join(rows) + "\n")
    blocks = coterie("stats", "blocks.csv", "--block", "share", "--control", "ours", "--json").json["blocks"]
    assert [block.pop("block") for block in blocks] == ["10", "20"]
    for block, scores in zip(blocks, tables.values()):
        alone = compare(coterie, scores)
        del alone["block"]
        assert sorted(block.pop("datasets")) == sorted(alone.pop("datasets"))  # in the order of the file
        assert block == alone


def test_repetitions(coterie):
    """Means are ranked; intervals and the paired t-test as in scipy, with the variance that the overlap of splits asks for."""
    source = np.random.default_rng(4)
    runs, ratio = 6, 0.3
    scores = source.normal(size=(4, 3, runs)) + 0.5 * np.arange(3)[:, None]
    rows = [f"d{i},{METHODS[j]},{r},{scores[i, j, r]!r}" for i in range(4) for j in range(3) for r in range(runs)]
    (coterie.folder / "runs.csv").write_text("dataset,method,run,score\n" + "\n".join(rows) + "\n")
    options = ["--repetition", "run", "--control", "ours", "--json"]
    block = coterie("stats", "runs.csv", *options, "--test-train-ratio", ratio).json["blocks"][0]
    means = compare(coterie, scores.mean(2))
    for key in ("average_ranks", "friedman", "holm"):
        assert block[key] == means[key]
    plain = coterie("stats", "runs.csv", *options, "--test-train-ratio", 0).json["blocks"][0]
    for row, uncorrected in zip(block["scores"], plain["scores"]):
        own = scores[int(row["dataset"][1:]), METHODS.index(row["method"])]
        control = scores[int(row["dataset"][1:]), 0]
        assert [row["mean"], row["standard_error"]] == pytest.approx([own.mean(), stats.sem(own)], rel=1e-10)
        assert stats.t.sf((row["high"] - row["mean"]) / row["standard_error"], runs - 1) == pytest.approx(0.025, rel=1e-10)
        assert row["high"] - row["mean"] == pytest.approx(row["mean"] - row["low"])
        if row["method"] == "ours":
            assert "control_gain" not in row
            continue
        expected = stats.ttest_rel(control, own)
        assert uncorrected["control_gain"]["t"] == pytest.approx(expected.statistic, rel=1e-10)
        assert uncorrected["control_gain"]["p"] == pytest.approx(expected.pvalue, rel=1e-10)
        t = expected.statistic / math.sqrt(1 + runs * ratio)
        assert row["control_gain"]["t"] == pytest.approx(t, rel=1e-10)
        assert row["control_gain"]["p"] == pytest.approx(2 * stats.t.sf(abs(t), runs - 1), rel=1e-10)
    text = coterie("stats", "runs.csv", *options[:-1], "--test-train-ratio", ratio).out
    assert "corrected resampled t-test" in text and "95 % intervals" in text
    assert "t-test" not in coterie("stats", "runs.csv", *options[:-1]).out


def test_formats_say_the_same(coterie):
    table = write_long(coterie, draw_scores(5, 40, 5, 0))
    arguments = ["stats", table, "--control", "ours"]
    block = coterie(*arguments, "--json").json["blocks"][0]
    rows = list(csv.DictReader(io.StringIO(coterie(*arguments, "--format", "csv").out)))
    assert [row["method"] for row in rows] == ["ours"] + [row["method"] for row in block["holm"]]
    for row, expected in zip(rows[1:], block["holm"]):
        assert float(row["average_rank"]) == block["average_ranks"][row["method"]]
        assert [float(row[key]) for key in ("z", "p", "adjusted_alpha", "adjusted_p")] == \
            [expected[key] for key in ("z", "p", "adjusted_alpha", "adjusted_p")]
        assert row["rejected"] == str(expected["rejected"]).lower()

    text = coterie(*arguments).out
    markdown = coterie(*arguments, "--format", "markdown").out
    latex = coterie(*arguments, "--format", "latex").out
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    for row in block["holm"]:
        verdict = "-" if not row["rejected"] else "worse" if row["z"] > 0 else "better"
        shown = [row["method"], f"{block['average_ranks'][row['method']]:.2f}", f"{row['z']:.2f}"]
        assert any(line.split()[:3] == shown and line.split()[-2] == verdict for line in text.splitlines())
        assert f"| {' | '.join(shown)} |" in markdown and " & ".join(shown) + " &" in latex
    assert "worse" in text or "better" in text


def test_names_that_formats_must_escape(coterie):
    rows = [f"{d},{m},{s}" for d, line in enumerate([(1, 2), (2, 3), (5, 4)]) for m, s in zip(["a|b_1", "50% & \\c{}"], line)]
    (coterie.folder / "t.csv").write_text("dataset,method,score\n" + "\n".join(rows) + "\n")
    arguments = ["stats", "t.csv", "--control", "a|b_1"]
    assert r"| a\|b_1 |" in coterie(*arguments, "--format", "markdown").out
    latex = coterie(*arguments, "--format", "latex").out
    assert r"a|b\_1 &" in latex and r"50\% \& \textbackslash{}c\{\} &" in latex
    assert "\n50% & \\c{}," in coterie(*arguments, "--format", "csv").out  # CSV has nothing to escape there
    coterie(*arguments, "--picture", "t.svg")
    assert "a|b_1" in "".join(ElementTree.parse(coterie.folder / "t.svg").getroot().itertext())


def test_picture_shows_methods_and_groups(coterie):
    table = write_long(coterie, draw_scores(6, 20, 5, 0))
    block = coterie("stats", table, "--control", "ours", "--json", "--picture", "cd.svg").json["blocks"][0]
    words = list(ElementTree.parse(coterie.folder / "cd.svg").getroot().itertext())
    assert set(METHODS) <= set(words)
    assert f"critical difference {block['nemenyi']['critical_difference']:.2f}" in words
    for rank in block["average_ranks"].values():
        assert f"{rank:.2f}" in words


def test_all_alike(coterie):
    block = compare(coterie, np.ones((4, 3)))
    assert block["friedman"]["chi_square"] == 0 and block["friedman"]["chi_square_p"] == 1
    assert all(row["p"] == 1 and not row["rejected"] for row in block["holm"])
    assert all(row["p"] == 1 and row["n"] == 0 for row in block["wilcoxon"])


def test_the_same_order_everywhere(coterie):
    block = compare(coterie, np.tile([3.0, 2.0, 1.0], (5, 1)))
    assert block["friedman"]["F"] == "inf" and block["friedman"]["F_p"] == 0
    assert block["friedman"]["chi_square"] == pytest.approx(10)
