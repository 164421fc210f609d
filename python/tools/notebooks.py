"""Makes notebooks, with their output, of scripts whose cells begin with `# %%`, and tells whether notebooks are those of their scripts.

    ./run python python/tools/notebooks.py examples/python/*.py
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path


def cells_of(script):
    """(kind, text) of every cell."""
    cells = []
    for line in script.splitlines():
        if line.startswith("# %%"):
            cells.append(("markdown" if "[markdown]" in line else "code", []))
        else:
            cells[-1][1].append(line)
    out = []
    for kind, lines in cells:
        text = "\n".join(lines).strip("\n")
        if kind == "markdown":
            text = "\n".join(line[2:] if line.startswith("# ") else line.lstrip("#") for line in text.split("\n"))
        out.append((kind, text))
    return out


def run_cell(text, names, number):
    """What it prints and draws, as outputs of a notebook."""
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.parse(text), f"cell {number}", "exec"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(keepends=True)})
    for figure in map(plt.figure, plt.get_fignums()):
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=72, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": base64.b64encode(image.getvalue()).decode(), "text/plain": ["a figure"]}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
        plt.close(figure)
    return outputs


def notebook_of(path):
    """The notebook of a script, run from begin to end."""
    import matplotlib

    matplotlib.use("Agg")
    names = {"__name__": "__main__"}
    cells = []
    for number, (kind, text) in enumerate(cells_of(path.read_text()), 1):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
        if kind == "code":
            cell |= {"execution_count": number, "outputs": run_cell(text, names, number)}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def text_outputs(notebook):
    """What cells printed."""
    return [["".join(output["text"]) for output in cell.get("outputs", []) if output["output_type"] == "stream"] for cell in notebook["cells"]]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        target = Path(name).with_suffix(".ipynb")
        target.write_text(json.dumps(notebook_of(Path(name)), indent=1, ensure_ascii=False) + "\n")
        print(target)
