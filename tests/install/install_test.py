"""Installs the build into a fresh prefix and does what users do: runs the program, and builds a project that finds the library."""

import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
CMAKE = os.environ.get("COTERIE_CMAKE", "cmake")


def run(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The build, installed where nothing else is."""
    assert os.environ.get("COTERIE_BUILD"), "COTERIE_BUILD must name the build folder (ctest sets it)"
    folder = tmp_path_factory.mktemp("install") / "prefix"
    run(CMAKE, "--install", os.environ["COTERIE_BUILD"], "--prefix", folder)
    return folder


def test_the_installed_program_runs(prefix, tmp_path):
    program = prefix / "bin" / "coterie"
    assert re.fullmatch(r"coterie \d+\.\d+\.\d+\n", run(program, "--version"))
    run(program, "data", "generate", "-o", "p.csv", "--tasks", "2", "--groups", "1", "--samples", "10", cwd=tmp_path)
    run(program, "train", "p.csv", "-o", "m.h5", "--quiet", cwd=tmp_path)
    assert (tmp_path / "m.h5").is_file()


def test_another_project_uses_the_library(prefix, tmp_path):
    build = tmp_path / "build"
    compiler = [f"-DCMAKE_CXX_COMPILER={os.environ['COTERIE_CXX']}"] if os.environ.get("COTERIE_CXX") else []
    run(CMAKE, "-S", HERE, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}", *compiler)
    found = re.search(r"^coterie_DIR:PATH=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    assert found and Path(found[1]).is_relative_to(prefix), "the package was found elsewhere"
    run(CMAKE, "--build", build)
    out = run(build / "user", tmp_path / "model.h5")
    assert re.fullmatch(r"tasks 4 gap \S+ findings 0 scores 120\n", out), out
    assert (tmp_path / "model.h5").is_file()


def test_no_installed_file_names_the_source_or_the_build(prefix):
    source, build = str(HERE.parent.parent), os.environ["COTERIE_BUILD"]
    texts = [path for path in prefix.rglob("*") if path.suffix in (".cmake", ".hpp", ".md")]
    assert len(texts) > 20
    for path in texts:
        content = path.read_text()
        assert source not in content and build not in content, path
