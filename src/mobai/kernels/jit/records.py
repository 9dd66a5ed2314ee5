"""Named tuples of many arrays, handed from kernel to kernel by their address.

numba hands over every number in a tuple separately, and an array alone is seven or more. A *record* is copied into
memory once, when Python calls an entry; kernels hand on its address, and read what they need (docs/decisions/0017).

Records are made in Python only, kernels get at their fields by name, and an entry must not give such a field back:
records hold no references, their caller does.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import ArgPacker
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)
# The first numbers of an array: who owns it, for numba to count references. That is never read.
_OWNERS = 2


class Record(types.Type):
    """The type of a named tuple that is handed over by its address."""

    def __init__(self, made_by: Any, fields: tuple[types.Type, ...]) -> None:
        self.made_by, self.fields = made_by, fields
        super().__init__(f"{made_by.__module__}.{made_by.__qualname__}({', '.join(map(str, fields))})")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Return what names of functions have of this type: nothing long, they are written again and again."""
        return self.made_by.__name__, ()


class _Place(NamedTuple):
    """Where a field is: each of its numbers takes a word."""

    field: types.Type
    packer: ArgPacker
    first: int
    words: int


def register(made_by: type[Any]) -> None:
    """Make records of the named tuples of a class."""

    @typeof_impl.register(made_by)  # type: ignore[untyped-decorator]
    def type_of(value: Any, context: Any) -> Record:
        return Record(made_by, tuple(typeof_impl(field, context) for field in value))


@cache
def _places(manager: Any, record: Record) -> dict[str, _Place]:
    """Return where each field is."""
    found, first = {}, 0
    for name, field in zip(record.made_by._fields, record.fields, strict=True):
        packer = ArgPacker(manager, [field])
        found[name] = _Place(field, packer, first, len(packer.argument_types))
        first += found[name].words
    return found


def _address(builder: Any, start: Any, word: int, kind: Any) -> Any:
    place = builder.gep(start, [ir.Constant(_WORD, word * _WORD.width // _BYTE.width)])
    return builder.bitcast(place, kind.as_pointer())


@register_model(Record)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, record: Record) -> None:
        super().__init__(manager, record, _BYTE.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Record

    def generic_resolve(self, record: Record, name: str) -> types.Type | None:
        return dict(zip(record.made_by._fields, record.fields, strict=True)).get(name)


@unbox(Record)  # type: ignore[untyped-decorator]
def _copy_in(record: Record, value: Any, c: Any) -> NativeValue:
    """Copy a named tuple into the memory of the call, whose caller keeps it alive."""
    places = _places(c.context.data_model_manager, record).values()
    memory = cgutils.alloca_once(c.builder, ir.ArrayType(_WORD, sum(place.words for place in places)))
    start, failed = c.builder.bitcast(memory, _BYTE.as_pointer()), cgutils.false_bit
    for index, place in enumerate(places):
        native = c.unbox(place.field, c.pyapi.tuple_getitem(value, index))
        failed = c.builder.or_(failed, native.is_error)
        for word, number in enumerate(place.packer.as_arguments(c.builder, [native.value]), place.first):
            c.builder.store(number, _address(c.builder, start, word, number.type))
        c.context.nrt.decref(c.builder, place.field, native.value)
    return NativeValue(start, is_error=failed)


@lower_getattr_generic(Record)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, record: Record, start: Any, name: str) -> Any:
    """Read a field; that records never change is what lets LLVM read them before a loop instead of in it."""
    place = _places(context.data_model_manager, record)[name]
    never_changes, numbers = builder.module.add_metadata([]), []
    for k, kind in enumerate(place.packer.argument_types):
        if k < _OWNERS and isinstance(place.field, types.Array):
            numbers.append(ir.Constant(kind, None))
        else:
            numbers.append(builder.load(_address(builder, start, place.first + k, kind)))
            numbers[-1].set_metadata("invariant.load", never_changes)
    (found,) = place.packer.from_arguments(builder, numbers)
    return found
