import os
from pathlib import Path

import pytest

from support import Program


@pytest.fixture(scope="session")
def program_path():
    path = Path(os.environ.get("COTERIE_PROGRAM", ""))
    assert path.is_file(), f"COTERIE_PROGRAM is '{path}': it must name the program that is tested (ctest sets it)"
    return path.resolve()


@pytest.fixture
def coterie(program_path, tmp_path):
    """The program in a fresh folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Program(program_path, folder)
