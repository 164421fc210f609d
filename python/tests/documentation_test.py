"""Documentation against the code: every public name is described, with the parameters that it has; examples run; types hold."""

import dataclasses
import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import coterie
from coterie import _core, _settings

SOURCE = Path(os.environ.get("COTERIE_SOURCE", Path(__file__).resolve().parents[2])) / "python"
HEADINGS = ("Parameters", "Attributes", "Returns", "Yields", "Examples")


def sections(text):
    """The parts of a numpydoc text by their headings, and what stands before them."""
    parts, name = {"": []}, ""
    lines = inspect.cleandoc(text).splitlines()
    for line, below in zip(lines, [*lines[1:], ""]):
        if below and set(below) == {"-"} and len(below) == len(line):
            name = line
            parts[name] = []
        elif not (line and set(line) == {"-"}):
            parts[name].append(line)
    return parts


def entries(lines):
    """name -> (type, description) of a section."""
    found, names = {}, []
    for line in lines:
        head = re.match(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (.+))?$", line)
        if head:
            names = [name.strip() for name in head[1].split(",")]
            for name in names:
                found[name] = (head[2], "")
        elif names:
            for name in names:
                found[name] = (found[name][0], (found[name][1] + " " + line.strip()).strip())
    return found


def public():
    """(name, object, kind) of all that a user may call."""
    for name in coterie.__all__:
        thing = getattr(coterie, name)
        if inspect.isclass(thing):
            yield name, thing, "class"
            for member, value in inspect.getmembers(thing):
                if member.startswith("_"):
                    continue
                own = getattr(inspect.unwrap(value) if callable(value) else getattr(value, "fget", value), "__module__", "") or ""
                if not own.startswith("coterie"):
                    continue
                yield f"{name}.{member}", value, "method" if callable(value) else "property"
        elif callable(thing):
            yield name, thing, "function"


THINGS = {name: (thing, kind) for name, thing, kind in public()}


def parameters_of(thing, kind):
    signature = inspect.signature(thing.__init__ if kind == "class" else thing)
    stars = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.VAR_POSITIONAL: "*"}
    return {stars.get(one.kind, "") + name: one for name, one in signature.parameters.items() if name != "self"}


@pytest.mark.parametrize("name", THINGS)
def test_documentation_fits_the_signature(name):
    thing, kind = THINGS[name]
    text = thing.__doc__
    assert text and not text.startswith("dict("), f"{name} is not documented"
    summary = sections(text)[""][0]
    assert summary.endswith(".") and summary[0].isupper(), summary
    found = sections(text)
    assert set(found) - {""} <= set(HEADINGS), set(found)
    if kind == "property" or dataclasses.is_dataclass(thing) or (kind == "class" and issubclass(thing, Warning)):
        if dataclasses.is_dataclass(thing):
            assert set(entries(found["Attributes"])) == {field.name for field in dataclasses.fields(thing)}
        return
    described = entries(found.get("Parameters", []))
    expected = parameters_of(thing, kind)
    assert list(described) == list(expected), name
    for parameter, (kinds, about) in described.items():
        assert kinds and about, f"{name}: {parameter}"
        default = expected[parameter].default
        stated = re.search(r"default=(.+)$", kinds)
        if default is inspect.Parameter.empty:
            assert stated is None, f"{name}: {parameter}"
        elif "and" not in (stated[1] if stated else ""):
            assert stated and stated[1] == repr(default), f"{name}: {parameter} is {default!r}, not {stated and stated[1]}"
    if kind != "class":
        returns = inspect.signature(thing).return_annotation
        assert ("Returns" in found or "Yields" in found) == (returns not in (None, "None")), name


def test_attributes_are_there():
    from conftest import planted

    X, y, names = planted()
    for estimator in (coterie.CoterieClassifier(), coterie.CoterieClassifierCV(C=[1], lam=["0.1max"], cv=2), coterie.CoterieKernel()):
        estimator.fit(X, y, tasks=names)
        for name in entries(sections(type(estimator).__doc__)["Attributes"]):
            if name in ("feature_names_in_", "coef_"):  # of data frames, and of linear methods
                assert not hasattr(estimator, name)
            else:
                assert getattr(estimator, name) is not None


def test_parameters_mirror_the_settings():
    """Every setting of the core is a parameter, with the same default but for the kernels."""
    defaults = {name: one.default for name, one in inspect.signature(coterie.CoterieClassifier).parameters.items()}
    for name, text, _, _ in _core.settings():
        own = defaults[_settings.NAMES[name]]
        if name == "kernels":
            assert text == "paper"
            offsets = own.replace("poly:1:1", "linear").replace("poly:2:1", "poly:2")
            assert offsets == "linear poly:2 gauss:1,2,4,8,16,32,64,128"
        elif own is None:
            assert text in ("", "none")
        else:
            assert text == (str(own) if isinstance(own, str) else f"{own:g}") or float(text) == own, name
    assert set(_settings.NAMES) == {name for name, *_ in _core.settings()}


@pytest.mark.parametrize("module", ["classifier", "datasets", "kernel", "model_selection", "search", "_path", "_methods"])
def test_examples_in_documentation_run(module):
    result = doctest.testmod(importlib.import_module(f"coterie.{module}"))
    assert result.attempted > 0 and result.failed == 0


def test_types():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", SOURCE / "mypy.ini", "--cache-dir", os.devnull, SOURCE / "coterie"],
        capture_output=True, text=True, cwd=SOURCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_name_what_the_module_has():
    stub = (SOURCE / "coterie" / "_core.pyi").read_text()
    for name in dir(_core):
        if not name.startswith("_"):
            assert re.search(rf"(class|def) {name}\b|^{name}:", stub, re.MULTILINE), name
    for kind in ("Model", "Dataset"):
        for name in dir(getattr(_core, kind)):
            if not name.startswith("_"):
                assert re.search(rf"def {name}\b", stub), f"{kind}.{name}"


def test_the_package_says_that_it_has_types():
    assert (SOURCE / "coterie" / "py.typed").exists()
    assert coterie.__version__ == _core.version == "0.1.0"
