"""Phases as steps of named SQL expressions, parsed once; rare steps folded into one guarded expression.

A step is a dict name -> SQL text over the columns of the state; its expressions all see the values before the step.
A phase adds its steps with `withColumns`. Steps that hardly any row needs (a fault, an election, a truncation) are
folded into a single expression behind a guard: Spark then evaluates them only where the guard holds, and the plan of a
round stays small (docs/design_notes.md, "Rare steps").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec

from pyspark.sql import Column
from pyspark.sql import functions as F

P = ParamSpec("P")
Step = dict[str, str]

_NAME = re.compile(r"'[^']*'|(?<![.\w])[a-z_]\w*(?!\w*\()")


def built_once(build: Callable[P, Step]) -> Callable[P, dict[str, Column]]:
    """Turn a function that returns a step into one that returns parsed `Column`s, parsed once."""

    @cache
    def parsed(*args: object) -> dict[str, Column]:
        return {name: F.expr(text) for name, text in build(*args).items()}  # type: ignore[arg-type, call-arg]

    @wraps(build)
    def columns(*args: P.args, **kwargs: P.kwargs) -> dict[str, Column]:
        return parsed(*args)

    return columns


def renamed(text: str, names: dict[str, str]) -> str:
    """SQL text with column names replaced; quoted text, fields behind a dot and functions stay."""
    return _NAME.sub(lambda found: names.get(found.group(), found.group()), text)


def folded(steps: list[Step], outputs: list[str]) -> str:
    """One expression that runs steps after each other and gives a struct of the outputs.

    Each step becomes a lambda parameter s1, s2, ... that the later ones read: `transform(array(step), s1 -> ...)[0]`.
    """
    names: dict[str, str] = {}
    opened = ""
    for number, step in enumerate(steps, 1):
        fields = ", ".join(f"'{name}', {renamed(text, names)}" for name, text in step.items())
        opened += f"transform(array(named_struct({fields})), s{number} -> "
        names = {**names, **{name: f"s{number}.{name}" for name in step}}
    result = ", ".join(f"'{name}', {names.get(name, name)}" for name in outputs)
    return f"{opened}named_struct({result})" + ")[0]" * len(steps)


def decided(name: str, guard: str, steps: list[Step], outputs: Step) -> Step:
    """The column `name`: the struct of outputs where the guard holds, else null."""
    return {name: f"IF({guard}, {folded(steps, list(outputs))}, null)"}


def applied(name: str, outputs: Step) -> Step:
    """Every output: from the struct `name` where there is one, else its default."""
    return {output: f"IF({name} IS NULL, {default}, {name}.{output})" for output, default in outputs.items()}


def unchanged(*names: str) -> Step:
    """Outputs whose default is the column as it is."""
    return {name: name for name in names}
