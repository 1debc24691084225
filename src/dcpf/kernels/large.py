"""What is large among many values: found a line at a time, by vector instructions.

A compiler makes no such code of plain loops: it does not find the largest of some lines side by side, and does not
make bits of comparisons.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from dcpf.kernels.lines import INT64, Lines

GROUP = 2  # lines whose largest is looked for


def _top_of(typing_context: Any, values: Any, group: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, values.dtype)
        v = lines.array(values, arguments[0])
        a, b = (lines.load(v.data, line) for line in _lines_of(builder, arguments[1]))
        most = lines.larger(lines.larger(a, b), lines.zero)
        return builder.extract_element(lines.across([most], lines.larger), ir.IntType(32)(0))

    return values.dtype(values, types.int64), generate


def _clear_group(typing_context: Any, values: Any, group: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, values.dtype)
        v = lines.array(values, arguments[0])
        for line in _lines_of(builder, arguments[1]):
            lines.store(lines.zero, v.data, line)
        return context.get_dummy_value()

    return types.void(values, types.int64), generate


def _reaching(typing_context: Any, values: Any, group: Any, least: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, values.dtype)
        v, level, bits = lines.array(values, arguments[0]), lines.all_of(arguments[2]), INT64(0)
        for i, line in enumerate(_lines_of(builder, arguments[1])):
            reached = builder.fcmp_ordered(">=", lines.load(v.data, line), level)
            mask = builder.zext(builder.bitcast(reached, ir.IntType(lines.lanes)), INT64)
            bits = builder.or_(bits, builder.shl(mask, INT64(lines.lanes * i)))
        return bits

    return types.int64(values, types.int64, values.dtype), generate


def _larger(typing_context: Any, values: Any, size: Any, than: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, values.dtype)
        v, level = lines.array(values, arguments[0]), lines.all_of(arguments[2])

        def count(line: Any, total: list[Any]) -> list[Any]:
            above = builder.fcmp_ordered(">", lines.load(v.data, line), level)
            bits = builder.bitcast(above, ir.IntType(lines.lanes))
            return [builder.add(total[0], builder.zext(builder.ctpop(bits), INT64))]

        number = builder.udiv(builder.add(arguments[1], INT64(lines.lanes - 1)), INT64(lines.lanes))
        return lines.for_each(number, [INT64(0)], count)[0]

    return types.int64(values, types.int64, values.dtype), generate


def _lines_of(builder: Any, group: Any) -> list[Any]:
    first = builder.mul(group, INT64(GROUP))
    return [builder.add(first, INT64(i)) for i in range(GROUP)]


def _first_bit(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


# Of a vector of values, of which GROUP lines are a group:
# top_of(values, g) = the largest of group g, or 0 if that is larger
# clear_group(values, g): make them zeros
# reaching(values, g, least): bits that say which of group g are not smaller; first_bit(bits): the lowest of them
# larger(values, size, than) = (values[:size] > than).sum(), where size is made up to whole lines
top_of: Callable[..., float] = intrinsic(_top_of)
clear_group: Callable[..., None] = intrinsic(_clear_group)
reaching: Callable[..., int] = intrinsic(_reaching)
larger: Callable[..., int] = intrinsic(_larger)
first_bit: Callable[..., int] = intrinsic(_first_bit)
