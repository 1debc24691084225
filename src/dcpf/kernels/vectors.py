"""Loops over rows of factors, one line of the processor's cache at a time, written as vector instructions.

Of plain loops a compiler makes code that spends half of its time between vectors: on the sum across each, on rows
whose length it does not know. Here a vector is a line, which LLVM cuts into what the processor has. Columns beyond
the last whole line are left to the caller; factors of a fit have none (kernels/aligned.py).
"""

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dcpf.kernels.jit import kernel

LINE = 64  # bytes
TOGETHER = 8  # rows that `add_rows` adds at a time

_same_type: Callable[..., Any] = types.UniTuple  # a tuple of so many of one type
_IN_ANY_ORDER = ("reassoc", "nsz", "contract")  # NaN and inf are honoured
_INT64 = ir.IntType(64)


class _Lines:
    """Code that goes through matrices line by line, at the place where a builder stands."""

    def __init__(self, context: Any, builder: Any, number: Any) -> None:
        self.context, self.builder = context, builder
        self.lanes = 8 * LINE // number.bitwidth
        self.vector = ir.VectorType(context.get_value_type(number), self.lanes)
        self.zero = ir.Constant(self.vector, [0.0] * self.lanes)
        self.aligned = number.bitwidth // 8

    def array(self, numba_type: Any, value: Any) -> Any:
        return self.context.make_array(numba_type)(self.context, self.builder, value)

    def item(self, array: Any, place: Any) -> Any:
        return self.builder.load(self.builder.gep(array.data, [place]))

    def row(self, matrix: Any, number: Any) -> Any:
        """Where a row begins; rows of an array of more dimensions are numbered as if it had two."""
        return self.builder.gep(matrix.data, [self.builder.mul(number, self._width(matrix))])

    def count(self, matrix: Any) -> Any:
        """How many whole lines a row has."""
        return self.builder.udiv(self._width(matrix), _INT64(self.lanes))

    def load(self, row: Any, line: Any) -> Any:
        return self.builder.load(self._at(row, line), align=self.aligned)

    def store(self, vector: Any, row: Any, line: Any) -> None:
        self.builder.store(vector, self._at(row, line), align=self.aligned)

    def all_of(self, number: Any) -> Any:
        """A vector of the same number in all lanes."""
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), number, ir.IntType(32)(0))
        return self.pick(one, one, [0] * self.lanes)

    def pick(self, a: Any, b: Any, lanes: list[int]) -> Any:
        """Some lanes of two vectors; those of the second are counted on."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
        return self.builder.shuffle_vector(a, b, mask)

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_IN_ANY_ORDER)

    def plus(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_IN_ANY_ORDER)

    def for_each(self, count: Any, first: list[Any], step: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """for line in range(count): values = step(line, values)"""
        builder = self.builder
        before = builder.block
        head, inside, after = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        line, values = builder.phi(_INT64), [builder.phi(value.type) for value in first]
        builder.cbranch(builder.icmp_signed("<", line, count), inside, after)
        builder.position_at_end(inside)
        new = [builder.add(line, _INT64(1)), *step(line, values)]
        builder.branch(head)
        for phi, start, again in zip([line, *values], [_INT64(0), *first], new, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(again, inside)
        builder.position_at_end(after)
        return values

    def four_sums(self, a: Any, b: Any, c: Any, d: Any) -> Any:
        """A vector of the sums over the lanes of each of these: together, which takes less than one by one."""
        n = self.lanes
        even = [i - i % 2 + n * (i % 2) for i in range(n)]
        pairs = [i - i % 4 + i % 2 + n * (i % 4 // 2) for i in range(n)]
        ab, cd = (self._folded(x, y, even, [i + 1 for i in even]) for x, y in ((a, b), (c, d)))
        sums = self._folded(ab, cd, pairs, [i + 2 for i in pairs])  # of a, b, c, d, in each four lanes
        while n > 4:
            n //= 2
            sums = self._folded(sums, sums, list(range(n)), list(range(n, 2 * n)))
        return sums

    def _folded(self, a: Any, b: Any, these: list[int], those: list[int]) -> Any:
        return self.plus(self.pick(a, b, these), self.pick(a, b, those))

    def _width(self, matrix: Any) -> Any:
        return self.builder.extract_value(matrix.shape, matrix.shape.type.count - 1)

    def _at(self, row: Any, line: Any) -> Any:
        place = self.builder.gep(row, [self.builder.mul(line, _INT64(self.lanes))])
        return self.builder.bitcast(place, self.vector.as_pointer())


def _four_dots(typing_context: Any, eW: Any, u: Any, eH: Any, i0: Any, i1: Any, i2: Any, i3: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = _Lines(context, builder, eH.dtype)
        W, H = lines.array(eW, arguments[0]), lines.array(eH, arguments[2])
        w, rows = lines.row(W, arguments[1]), [lines.row(H, i) for i in arguments[3:]]

        def step(line: Any, sums: list[Any]) -> list[Any]:
            x = lines.load(w, line)
            return [lines.plus(lines.times(x, lines.load(h, line)), s) for h, s in zip(rows, sums, strict=True)]

        sums = lines.four_sums(*lines.for_each(lines.count(H), [lines.zero] * 4, step))
        found = [builder.extract_element(sums, ir.IntType(32)(i)) for i in range(4)]
        return context.make_tuple(builder, signature.return_type, found)

    return _same_type(eH.dtype, 4)(eW, types.int64, eH, *[types.int64] * 4), generate


def _adding(count: int) -> Callable[..., None]:
    """The loop that adds so many rows at a time."""

    def add(typing_context: Any, weights: Any, rows: Any, first: Any, factors: Any, sums: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lines = _Lines(context, builder, factors.dtype)
            w, r, F, out = (lines.array(signature.args[i], arguments[i]) for i in (0, 1, 3, 4))
            places = [builder.add(arguments[2], _INT64(j)) for j in range(count)]
            weight = [lines.all_of(lines.item(w, place)) for place in places]
            numbers = [context.cast(builder, lines.item(r, place), rows.dtype, types.int64) for place in places]
            row = [lines.row(F, number) for number in numbers]

            def step(line: Any, nothing: list[Any]) -> list[Any]:
                # Two sums: one would have to wait for each of its terms
                total, beside = lines.load(out.data, line), lines.zero
                for j in range(count):
                    total, beside = beside, lines.plus(lines.times(weight[j], lines.load(row[j], line)), total)
                lines.store(lines.plus(total, beside), out.data, line)
                return nothing

            lines.for_each(lines.count(F), [], step)
            return context.get_dummy_value()

        return types.void(weights, rows, types.int64, factors, sums), generate

    return cast(Callable[..., None], intrinsic(add))


def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cast(Any, cgutils).get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        where = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        builder.call(function, [where, number(0), number(3), number(1)])  # to read, into all caches, of data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _line_at(typing_context: Any, matrix: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = _Lines(context, builder, matrix.dtype)
        row = lines.row(lines.array(matrix, arguments[0]), arguments[1])
        found = [builder.load(builder.gep(row, [_INT64(i)])) for i in range(lines.lanes)]
        return context.make_tuple(builder, signature.return_type, found)

    return _same_type(matrix.dtype, 8 * LINE // matrix.dtype.bitwidth)(matrix, types.int64), generate


def _mixed_line(typing_context: Any, weights: Any, one: Any, matrix: Any, first: Any, apart: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = _Lines(context, builder, matrix.dtype)
        w, M = lines.array(weights, arguments[0]), lines.array(matrix, arguments[2])
        weight, number, sums = lines.row(w, arguments[1]), arguments[3], [lines.zero, lines.zero]
        for j in range(TOGETHER):
            x = lines.all_of(builder.load(builder.gep(weight, [_INT64(j)])))
            sums = [sums[1], lines.plus(lines.times(x, lines.load(lines.row(M, number), _INT64(0))), sums[0])]
            number = builder.add(number, arguments[4])
        total = lines.plus(*sums)
        found = [builder.extract_element(total, ir.IntType(32)(i)) for i in range(lines.lanes)]
        return context.make_tuple(builder, signature.return_type, found)

    lanes = 8 * LINE // matrix.dtype.bitwidth
    return _same_type(matrix.dtype, lanes)(weights, types.int64, matrix, types.int64, types.int64), generate


# Over whole lines of columns, of which a row has n:
# four_dots(eW, u, eH, i0, i1, i2, i3) = eW[u, :n] @ eH[[i0, i1, i2, i3], :n].T
# add_row(weights, rows, j, factors, sums): sums[:n] += weights[j] * factors[rows[j], :n]
# add_rows(weights, rows, first, factors, sums): the same for TOGETHER places j from `first` on
# line_at(matrix, i) = tuple(matrix[i]), for rows of one line
# mixed_line(weights, i, matrix, first, apart) = weights[i] @ matrix[first::apart][:TOGETHER], for rows of one line
four_dots: Callable[..., tuple[Any, Any, Any, Any]] = intrinsic(_four_dots)
add_row, add_rows = _adding(1), _adding(TOGETHER)
line_at: Callable[..., tuple[Any, ...]] = intrinsic(_line_at)
mixed_line: Callable[..., tuple[Any, ...]] = intrinsic(_mixed_line)
_prefetch_line: Callable[..., None] = intrinsic(_prefetch)


@kernel
def fetch(array: NDArray[Any], start: int, stop: int) -> None:
    """Have array[start:stop], which is contiguous, brought into the caches: it will be read soon."""
    for place in range(start, stop, LINE // array.itemsize):
        _prefetch_line(array, place)
