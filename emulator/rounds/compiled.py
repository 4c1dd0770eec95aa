"""The decorators of compiled functions: Numba and its options. What they compile is kept by emulator/rounds/compiled_cache.py.

`NUMBA_DISABLE_JIT=1` runs every compiled function as ordinary Python. Without a numba that can be imported they do
likewise, with a note.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from emulator.rounds import compiled_cache
from emulator.rounds.compiled_cache import LOCATORS, WHY_NOT, config, extending, numba

__all__ = [
    "WHY_NOT",
    "compile_once",
    "compiled",
    "compiled_into_callers",
    "entry_point",
    "is_compiling",
    "merged_into_caller",
]

F = TypeVar("F", bound=Callable[..., object])


def is_compiling() -> bool:
    """Whether compiled functions are compiled, and not run as ordinary Python."""
    return numba is not None and not config.DISABLE_JIT


def compile_once(
    function: Callable[..., object],
    compile_it: Callable[[], object],
    *,
    begins: Callable[[], None] = lambda: None,
    waits: Callable[[], None] = lambda: None,
) -> bool:
    """Have `compile_it` call `function` where the cache does not have it, in one process of this machine; whether this one did.

    The others wait for it. `begins` and `waits` are called before the one or the other.
    """
    if not is_compiling() or cast(Any, function).signatures:  # this process has compiled it, or read it from the cache
        return False
    with compiled_cache.one_compiles(function, waits) as is_ours:
        if is_ours:
            begins()
            compile_it()
    return is_ours


OPTIONS: dict[str, object] = {"error_model": "numpy", "nogil": True}
if os.environ.get("EMULATOR_BOUNDS_CHECK"):
    OPTIONS["boundscheck"] = True
# Arrays that are handed on cost atomic reference counts otherwise: a factor of four. Not public, and right without.
if not os.environ.get("EMULATOR_REFERENCE_COUNTS"):
    OPTIONS["_nrt"] = False
if numba is not None:
    # Before the first function is decorated. Where a function is kept CacheLocator says; Numba asks it only if this is set.
    config.CACHE_DIR = str(compiled_cache.cache_folder() / compiled_cache.form())
    config.CACHE_LOCATOR_CLASSES = LOCATORS


def entry_point(function: F) -> F:
    """Compile a function when Python first calls it, with all rules that it reaches, and keep it; types are those of that call.

    The only functions that are kept: what they reach is in them. One signature each, or a cache may mix them up.
    """
    if not is_compiling():
        return function
    return cast(F, numba.njit(**OPTIONS, cache=True)(function))


def compiled(function: F) -> F:
    """Have a rule compiled within the entry points that reach it. Called from Python it is the ordinary function it was.

    Without what a function needs to be called from Python, or to be kept, compiling takes two thirds of the time.
    """
    if not is_compiling():
        return function
    return cast(F, extending.register_jitable(**OPTIONS)(function))


def compiled_into_callers(function: F) -> F:
    """As `compiled`, and made part of every function that calls it: for what every round goes through.

    Handing lists and inputs on, which are arrays by the dozen, costs more than most rules do: the first compiled rounds took six
    times as long without this.
    """
    if not is_compiling():
        return function
    return cast(F, extending.register_jitable(**OPTIONS, forceinline=True)(function))


def merged_into_caller(function: F) -> F:
    """Have a function compiled as lines of its one caller: as one of its own, LLVM goes through all that it reaches once more.

    For the long way from an entry point to a round: two functions so save a third of compiling.
    """
    if not is_compiling():
        return function
    return cast(F, numba.njit(**OPTIONS, inline="always")(function))
