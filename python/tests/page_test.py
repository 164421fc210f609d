"""Pages to look at, from Python: the program's page, with the same numbers."""

import html
import re

import numpy as np
import pytest
from conftest import planted

import coterie


@pytest.fixture(scope="module")
def fitted():
    X, y, tasks = planted(tasks=6)
    return coterie.CoterieClassifier().fit(X, y, tasks=tasks), X, y, tasks


def test_the_page_is_the_programs(fitted, program, tmp_path):
    model = fitted[0]
    model.save(tmp_path / "model.h5")
    program("page", "model.h5", "-o", "report.html")
    model.page(title="model.h5").save(tmp_path / "python.html")
    assert (tmp_path / "python.html").read_bytes() == (tmp_path / "report.html").read_bytes()


def test_scores_of_rows_are_on_it(fitted):
    model, X, y, tasks = fitted
    plain, judged = model.page().text, model.page(X, y, tasks=tasks).text
    assert f"{len(X)} rows" in judged and f"{len(X)} rows" not in plain


def test_a_notebook_shows_it_in_a_frame_of_its_own(fitted):
    page = fitted[0].page()
    shown = page._repr_html_()
    frame = re.fullmatch(r'<iframe sandbox="([^"]*)" style="[^"]*" srcdoc="([^"]*)"></iframe>', shown)
    assert frame and "allow-same-origin" not in frame[1] and html.unescape(frame[2]) == page.text
    assert len(repr(page)) < 200


@pytest.mark.parametrize("call, says", [
    (lambda model, X, y, tasks: model.page(y=y), "X is None"),
    (lambda model, X, y, tasks: model.page(X, tasks=tasks), "y is None"),
    (lambda model, X, y, tasks: model.page(X, y), "task"),
])
def test_half_of_the_rows_is_refused(fitted, call, says):
    with pytest.raises(ValueError, match=says):
        call(*fitted)


def test_a_file_that_cannot_be_written(fitted, tmp_path):
    with pytest.raises(OSError):
        fitted[0].page().save(tmp_path / "no" / "report.html")
    with pytest.raises(Exception, match="not fitted"):
        coterie.CoterieClassifier().page()
    assert not np.any([path.name == "no" for path in tmp_path.iterdir()])
