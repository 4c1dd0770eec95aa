"""The source of a function of these rounds, and of the functions and constants that it is made of."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType

PACKAGE = (__package__ or "").rpartition(".")[0]


@dataclass(frozen=True)
class Piece:
    """A function or a constant as it stands in its module."""

    module: str
    name: str
    text: str
    is_function: bool

    @classmethod
    def of(cls, function: Callable[..., object]) -> Piece:
        """A function."""
        return _pieces(function.__module__)[function.__name__]

    def parted(self) -> tuple[str, Piece]:
        """What its docstring says, and the function without it."""
        function = _tree(self)
        said = function.body[0]
        lines = self.text.splitlines()
        del lines[said.lineno - 1 : said.end_lineno]
        return inspect.cleandoc(ast.get_docstring(function) or ""), Piece(self.module, self.name, "\n".join(lines), True)


def pieces_of(function: Callable[..., object]) -> list[Piece]:
    """What a function uses of these rounds, and what that uses, in the order of use; without itself."""
    itself = Piece.of(function)
    found = dict.fromkeys([itself])
    _follow(itself, found)
    return [piece for piece in found if piece != itself]


def _follow(piece: Piece, found: dict[Piece, None]) -> None:
    for used in _used(piece):
        if used not in found:
            found[used] = None
            _follow(used, found)


def _used(piece: Piece) -> Iterator[Piece]:
    module = sys.modules[piece.module]
    for node in _in_order(ast.parse(piece.text)):
        if isinstance(node, ast.Name):
            yield from _named(module, node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            other = getattr(module, node.value.id, None)
            if isinstance(other, ModuleType):
                yield from _named(other, node.attr)


def _named(module: ModuleType, name: str) -> Iterator[Piece]:
    """The piece of that name: a function, or a constant of this module or of one that it has it from."""
    value = getattr(module, name, None)
    if inspect.isfunction(value):
        if value.__module__.startswith(PACKAGE):
            yield Piece.of(value)
    elif name.strip("_").isupper():
        for other in [module, *(m for key, m in sorted(sys.modules.items()) if key.startswith(f"{PACKAGE}."))]:
            if name in _pieces(other.__name__) and getattr(other, name) is value:
                yield _pieces(other.__name__)[name]
                return


@cache
def _pieces(module: str) -> dict[str, Piece]:
    """All functions and constants of a module, by name. What is said of a constant behind it belongs to it."""
    if not module.startswith(PACKAGE):
        return {}
    text = inspect.getsource(sys.modules[module])
    lines, body = text.splitlines(), ast.parse(text).body
    found = {}
    for node, behind in zip(body, [*body[1:], None], strict=True):
        name = _name_of(node)
        if name is not None:
            is_said = not isinstance(node, ast.FunctionDef) and isinstance(behind, ast.Expr)
            end = behind.end_lineno if is_said and behind is not None else node.end_lineno
            found[name] = Piece(module, name, "\n".join(lines[node.lineno - 1 : end]), isinstance(node, ast.FunctionDef))
    return found


def _name_of(node: ast.stmt) -> str | None:
    if isinstance(node, ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return None


def _tree(piece: Piece) -> ast.FunctionDef:
    (function,) = ast.parse(piece.text).body
    assert isinstance(function, ast.FunctionDef)
    return function


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
