"""Python in the documents runs and says what is shown."""

import doctest
import os
import re
import subprocess
from pathlib import Path

SOURCE = Path(os.environ["COTERIE_SOURCE"])


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (SOURCE / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_readme_gives_the_model_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = os.environ["COTERIE_PROGRAM"]
    steps = [line[2:] for line in "".join(blocks("README.md", "console")).splitlines() if line.startswith("$ ")]
    for step in steps[:4]:  # the data, and its model
        subprocess.run(["bash", "-ec", step.replace("./run coterie", program)], check=True, capture_output=True)
    (code,) = blocks("README.md", "python")
    names = {}
    exec(code, names)
    assert (tmp_path / "from_python.h5").read_bytes() == (tmp_path / "digits.h5").read_bytes()
    assert names["sound"] and round(names["accuracy"], 4) == 0.98


def test_the_page_says_what_it_prints():
    session = "\n".join(blocks("docs/python.md", "pycon"))
    test = doctest.DocTestParser().get_doctest(session, {}, "docs/python.md", None, 0)
    assert len(test.examples) > 20
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    output = []
    runner.run(test, out=output.append)
    assert runner.failures == 0, "".join(output)


def test_names_on_the_page_are_there():
    import coterie

    page = (SOURCE / "docs" / "python.md").read_text()
    for name in re.findall(r"`(plot_\w+|coterie\.\w+)", page):
        assert hasattr(coterie, name.removeprefix("coterie.")), name
