"""Kernels that only kernels call need no machine code of their own.

numba optimises every function together with all it calls and turns that into machine code, and does so again in every
caller. A draft stops before both: the entry at the top is optimised and translated once, with everything in it. That
takes a third off the compile time (docs/decisions/0006). It uses parts of numba that are not public; where they are
missing, kernels are compiled the ordinary way.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def draft_options() -> dict[str, Any]:
    """Return the options of njit that make drafts, none if this numba cannot."""
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import Compiler
    except ImportError:
        return {}

    class Draft(JITCodeLibrary):  # type: ignore[misc]
        """The code of one function, to be linked into its callers and never run from here."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
            self._ensure_finalized()
            return 0

        @property
        def codegen(self) -> _WithoutEnvironment:
            return _WithoutEnvironment(self._codegen)

    class DraftCompiler(Compiler):  # type: ignore[misc]
        """The ordinary compiler, with a draft for its result."""

        def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
            super().__init__(typingctx, targetctx, library or Draft(targetctx.codegen(), "draft"), *rest)

    return {"pipeline_class": DraftCompiler}


def without_literals(compiled: Any) -> Any:
    """Let numba compile a kernel once for all integers, not for every one that some caller writes out, and for others.

    Where a variable begins as 0, numba would try that 0 first, and drop what it has compiled when it sees the rest.
    """
    from numba.types import unliteral

    resolve = compiled.get_call_template

    def get_call_template(args: Any, kws: Any) -> Any:
        return resolve(tuple(map(unliteral, args)), {name: unliteral(given) for name, given in kws.items()})

    compiled.get_call_template = get_call_template
    return compiled


class _WithoutEnvironment:
    """A code generator that leaves environments alone: a draft has no place in memory to keep one."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)
