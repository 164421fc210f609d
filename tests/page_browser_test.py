"""Pages in a real browser (page/browser_test.mjs), and whether page.html is what its source makes.

Both need packages of npm, which are installed into the folder of the build from page/package-lock.json. Where they or a browser cannot be had,
the tests are skipped and say so.
"""

import csv
import hashlib
import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from page_test import FAST, HOSTILE, PLAN
from support import Program, small_rows

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "page"


def skip(why):
    pytest.skip(f"no browser test: {why}")


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    """A folder with the source of the page and the packages it is made with."""
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    lock = hashlib.sha256((PAGE / "package-lock.json").read_bytes()).hexdigest()
    build = os.environ.get("COTERIE_BUILD")
    folder = (Path(build) if build else tmp_path_factory.mktemp("build")) / "page_workshop"
    folder.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", ".npmrc", "tsconfig.json", "build.mjs", "browser_test.mjs"):
        shutil.copy(PAGE / name, folder / name)
    shutil.rmtree(folder / "src", ignore_errors=True)
    shutil.copytree(PAGE / "src", folder / "src")
    stamp = folder / "node_modules" / ".coterie-lock"
    if not stamp.exists() or stamp.read_text() != lock:
        try:
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"], cwd=folder, capture_output=True, text=True, timeout=400)
        except subprocess.TimeoutExpired:
            skip("npm took too long")
        if done.returncode != 0:
            # A lock file that does not fit is a mistake of ours; anything else, such as no network, is not.
            assert "EUSAGE" not in done.stderr, done.stderr
            said = [line for line in done.stderr.splitlines() if line.lower().startswith(("npm err", "npm error"))]
            skip("npm could not install packages: " + " ".join(said[:4]))
        stamp.write_text(lock)
    return folder


def run(command, folder, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_page_is_what_its_source_makes(workshop, tmp_path):
    run(["node", "node_modules/typescript/bin/tsc", "--noEmit"], workshop)
    run(["node", "build.mjs", str(tmp_path / "page.html")], workshop)
    assert (tmp_path / "page.html").read_bytes() == (PAGE / "page.html").read_bytes(), "page/page.html is not what page/src makes: cd page && npm ci && node build.mjs"


def csv_of(rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(f"f{j + 1}" for j in range(len(rows[0]) - 2)), "label", "task"])
    writer.writerows(rows)
    return out.getvalue()


def make_pages(coterie):
    """All pages that the browser opens, and what they must agree with."""
    kernels = "gauss:2@f1-f4 gauss:2@f5-f8 gauss:2@f9-f12 gauss:2"
    coterie("data", "generate", "-o", "planted.csv", "--tasks", 12, "--groups", 3, "--seed", 7)
    coterie("data", "generate", "-o", "test.csv", "--tasks", 12, "--groups", 3, "--seed", 8)
    path = ["path", "planted.csv", "--kernels", kernels, "-C", "0.3"]
    held_out = [*path, "--hold-out", "0.3", "--bootstrap", 5]
    keep(coterie, "path.json", coterie(*path, "--bootstrap", 5, "-o", "path", "--page", "path.html", "--json"))
    coterie(*held_out, "-o", "path_held", "--page", "held.html", "--quiet")
    coterie(*path, "--groups", 3, "--model", "three.h5")
    keep(coterie, "three.json", coterie("inspect", "three.h5", "--json"))
    coterie("train", "planted.csv", "--kernels", kernels, "-C", "0.3", "--lambda", "0.4max", "-o", "model.h5")
    coterie("page", "model.h5", "test.csv", "-o", "model.html")
    keep(coterie, "model.json", coterie("inspect", "model.h5", "--json"))
    keep(coterie, "scores.json", coterie("evaluate", "model.h5", "test.csv", "--json"))
    coterie("train", "planted.csv", "--method", "cmtl", "-o", "linear.h5")
    coterie("page", "linear.h5", "-o", "linear.html")
    coterie.write("one.csv", csv_of(small_rows(tasks=("only",))))
    coterie("path", "one.csv", *FAST, "--page", "single.html", "--quiet")
    coterie.write("hostile.csv", csv_of(small_rows(tasks=HOSTILE)))
    coterie.write("names.json", json.dumps(HOSTILE))
    coterie("path", "hostile.csv", *FAST, "--page", "hostile.html", "--quiet")
    keep(coterie, "select.json", coterie("select", "planted.csv", "--kernels", kernels, "-C", "2^-3..2^2", "--lambda", "0,0.1max,0.3max,1max,inf", "--norm", "1,2", "--folds", 3,
                                         "--page", "select.html", "-o", "select.h5", "--json"))
    coterie("data", "generate", "-o", "p.csv", "--tasks", 4, "--groups", 2, "--samples", 40, "--seed", 1)
    coterie("data", "generate", "-o", "q.csv", "--tasks", 4, "--groups", 2, "--samples", 40, "--seed", 2)
    coterie.write("plan.toml", PLAN)
    coterie("experiment", "plan.toml", "-o", "study", "--page", "study.html", "--quiet", environment={"COTERIE_DATA": ""})
    run([str(Path(os.environ["COTERIE_BUILD"]) / "tests" / "coterie_large_page"), "large.html", "2000", "60"], coterie.folder)


def keep(coterie, name, result):
    coterie.write(name, result.out)


def test_pages_in_a_browser(workshop, program_path, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not browser:
        skip("chromium is not installed")
    make_pages(Program(program_path, tmp_path))
    done = subprocess.run(["node", "browser_test.mjs", str(tmp_path)], cwd=workshop, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                          env={**os.environ, "CHROMIUM": browser, "COTERIE_PROGRAM": str(program_path)})
    print(done.stdout)
    assert done.returncode == 0, done.stdout
