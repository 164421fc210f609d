"""Builds the module of the package by CMake; all else stands in pyproject.toml.

COTERIE_BUILD: a CMake build folder to use, such as build/release; a new one unless given. CMAKE_ARGS: options for CMake, such as
-DCOTERIE_NATIVE=ON.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class CMakeBuild(build_ext):
    def build_extension(self, ext):
        source = Path(__file__).resolve().parent
        given = os.environ.get("COTERIE_BUILD")
        folder = Path(given) if given else Path(self.build_temp).resolve()
        if not given:
            options = ["-DCMAKE_BUILD_TYPE=Release", "-DCOTERIE_TESTS=OFF", "-DCOTERIE_PYTHON_MODULE=ON", f"-DCOTERIE_PYTHON={sys.executable}"]
            subprocess.run(["cmake", "-S", source, "-B", folder, *options, *shlex.split(os.environ.get("CMAKE_ARGS", ""))], check=True)
        subprocess.run(["cmake", "--build", folder, "--parallel", "--target", "coterie_python"], check=True)
        target = Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        (built,) = (folder / "python" / "coterie").glob("_core.*.so")
        self.copy_file(str(built), str(target))


setup(ext_modules=[Extension("coterie._core", [])], cmdclass={"build_ext": CMakeBuild})
