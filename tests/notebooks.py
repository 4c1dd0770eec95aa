"""Runs a notebook's code cells as ordinary Python: `python -m tests.notebooks NOTEBOOK` writes into it what they show."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def played(cells: list[Cell]) -> list[list[Cell]]:
    """Runs the cells one after the other, in one namespace; the outputs of each, as a notebook has them."""
    names: dict[str, Any] = {"__name__": "__main__"}
    return [_outputs(cell, number, names) for number, cell in enumerate(_code(cells), 1)]


def _code(cells: list[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell["cell_type"] == "code"]


def _outputs(cell: Cell, number: int, names: dict[str, Any]) -> list[Cell]:
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[Cell] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        shown = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = _lines(value._repr_html_())
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": shown})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main(path: Path) -> None:
    """Writes into a notebook what its cells show now."""
    notebook = json.loads(path.read_text("utf-8"))
    for number, (cell, outputs) in enumerate(zip(_code(notebook["cells"]), played(notebook["cells"]), strict=True), 1):
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
