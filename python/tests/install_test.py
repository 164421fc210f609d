"""The package as pip installs it: in an environment with Debian's packages, without a network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["COTERIE_SOURCE"])


def test_pip_installs_it(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(SOURCE / name, tree)
    shutil.copytree(SOURCE / "python", tree / "python", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    environment = {**os.environ, "COTERIE_BUILD": os.environ["COTERIE_BUILD"], "PIP_NO_INDEX": "1"}
    environment.pop("PYTHONPATH")
    done = subprocess.run([python, "-m", "pip", "install", "--no-build-isolation", "."], cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    code = (
        "import coterie, pathlib, numpy as np; home = pathlib.Path(coterie.__file__).parent;"
        "assert 'venv' in str(home) and (home / 'py.typed').exists() and (home / '_core.pyi').exists();"
        "X = np.random.RandomState(0).randn(50, 3); y = X[:, 0] > 0;"
        "print(coterie.__version__, coterie.CoterieClassifier().fit(X, y).score(X, y) > 0.9)"
    )
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == ["0.1.0", "True"], done.stdout + done.stderr


def test_versions_agree():
    cmake = (SOURCE / "CMakeLists.txt").read_text()
    assert 'version = "0.1.0"' in (SOURCE / "pyproject.toml").read_text() and "VERSION 0.1.0" in cmake


def test_every_file_of_the_package_is_listed():
    listed = (SOURCE / "python" / "CMakeLists.txt").read_text().split("set(sources ")[1].split(")")[0].split()
    there = {path.name for path in (SOURCE / "python" / "coterie").iterdir() if path.is_file() and path.suffix in (".py", ".pyi", ".typed")}
    assert set(listed) == there
