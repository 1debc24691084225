"""Loops over rows of factors, one line of the processor's cache at a time, written as vector instructions.

Of plain loops a compiler makes code that spends half of its time between vectors: on the sum across each, on rows
whose length it does not know. But for `exact_dot`, columns beyond the last whole line are left to the caller; factors
of a fit have none (kernels/aligned.py).
"""

import itertools
from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from dcpf.kernels.lines import INT64, LINE, Lines

TOGETHER = 8  # rows that are gone through side by side
SOON = 96  # numbers that are fetched at once: always as many leaves the processor nothing to guess


def _dots(typing_context: Any, eW: Any, u: Any, eH: Any, items: Any, first: Any, out: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, eH.dtype)
        W, H, who, to = (lines.array(signature.args[i], arguments[i]) for i in (0, 2, 3, 5))
        places = [builder.add(arguments[4], INT64(j)) for j in range(TOGETHER)]
        numbers = [context.cast(builder, lines.item(who, place), items.dtype, types.int64) for place in places]
        w, rows = lines.row(W, arguments[1]), [lines.row(H, number) for number in numbers]

        def product(first: Any, count: int, sums: list[Any]) -> list[Any]:
            """So many lines of each row, which are fetched together."""
            these = [builder.add(first, INT64(i)) for i in range(count)]
            x, new = [lines.load(w, line) for line in these], list(sums)
            for i, j in itertools.product(range(TOGETHER), range(count)):
                new[i] = lines.plus(lines.times(x[j], lines.load(rows[i], these[j])), new[i])
            return new

        one = INT64(1)
        pairs, left = builder.lshr(lines.count(H), one), builder.and_(lines.count(H), one)
        last = builder.shl(pairs, one)
        sums = lines.for_each(
            pairs, [lines.zero] * TOGETHER, lambda pair, sums: product(builder.shl(pair, one), 2, sums)
        )
        found = lines.sums(lines.for_each(left, sums, lambda _, sums: product(last, 1, sums)))
        if out.dtype != eH.dtype:
            found = builder.fpext(found, ir.VectorType(ir.DoubleType(), TOGETHER))
        where = builder.bitcast(builder.gep(to.data, [arguments[4]]), found.type.as_pointer())
        builder.store(found, where, align=out.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(eW, types.int64, eH, items, types.int64, out), generate


def _exact_dot(typing_context: Any, W: Any, u: Any, H: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = Lines(context, builder, types.float64)
        a, b = (lines.array(signature.args[j], arguments[j]) for j in (0, 2))
        rows = [(lines.row(a, arguments[1]), W.dtype), (lines.row(b, arguments[3]), H.dtype)]

        def add(place: Any, lanes: int, total: Any) -> Any:
            """The products from this place on, as many as there are lanes, which are added in float64."""
            numbers = []
            for row, kind in rows:
                some = ir.VectorType(context.get_value_type(kind), lanes)
                where = builder.bitcast(builder.gep(row, [place]), some.as_pointer())
                loaded = builder.load(where, align=kind.bitwidth // 8)
                numbers.append(loaded if kind == types.float64 else builder.fpext(loaded, total.type))
            return lines.plus(lines.times(*numbers), total)

        K, n = builder.extract_value(a.shape, 1), INT64(lines.lanes)
        whole = builder.udiv(K, n)
        (total,) = lines.for_each(
            whole, [lines.zero], lambda line, sums: [add(builder.mul(line, n), lines.lanes, sums[0])]
        )
        done = builder.mul(whole, n)
        (total,) = lines.for_each(
            builder.sub(K, done),
            [lines.across([total], lines.plus)],
            lambda place, sums: [add(builder.add(done, place), 1, sums[0])],
        )
        return builder.extract_element(total, ir.IntType(32)(0))

    if not W.layout == H.layout == "C":
        raise TypingError(f"rows must be contiguous, found {W} and {H}")
    return types.float64(W, types.int64, H, types.int64), generate


def _fetching(numbers: int) -> Callable[..., Any]:
    def fetching(typing_context: Any, array: Any, start: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(array)(context, builder, arguments[0]).data
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            function = cast(Any, cgutils).get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
            first = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
            for place in range(0, numbers * array.dtype.bitwidth // 8, LINE):
                where = builder.gep(first, [INT64(place)])
                builder.call(function, [where, number(0), number(3), number(1)])  # to read, into all caches, of data
            return context.get_dummy_value()

        return types.void(array, types.int64), generate

    return fetching


# exact_dot(W, u, H, i) = W[u] @ H[i], the products and the sum in float64
# Over whole lines of columns, of which a row has n:
# dots(eW, u, eH, items, first, out): out[j] = eW[u, :n] @ eH[items[j], :n] for TOGETHER places j from `first` on
# fetch(array, start): have the numbers from `start` on brought into the caches, since some of them will be read soon;
#   rows of an array of more dimensions are one after another, and to go beyond its end does no harm
# fetch_line(array, start): the same for the line of one number
dots: Callable[..., None] = intrinsic(_dots)
exact_dot: Callable[..., float] = intrinsic(_exact_dot)
fetch: Callable[..., None] = intrinsic(_fetching(SOON))
fetch_line: Callable[..., None] = intrinsic(_fetching(1))
