"""Loops over rows of factors, one line of the processor's cache at a time, written as vector instructions.

Of plain loops a compiler makes code that spends half of its time between vectors: on the sum across each, on rows
whose length it does not know. Here a vector is a line, which LLVM cuts into what the processor has. Columns beyond
the last whole line are left to the caller; factors of a fit have none (kernels/aligned.py).
"""

import itertools
from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dcpf.kernels.jit import summing_step

LINE = 64  # bytes
TOGETHER = 8  # rows that are gone through side by side
_WIDTH = 4  # lines of a row that are gone through side by side
ENTRY_BITS = 32  # of a job of `polynomials`, which has a row in the higher ones

_same_type: Callable[..., Any] = types.UniTuple  # a tuple of so many of one type
# a * b + c may be one operation, NaN and inf are honoured. Sums stay in the order in which they are written: what is
# written as two sums side by side would be made one, which waits for each of its terms.
_AS_WRITTEN = ("nsz", "contract")
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

    def powers(self, number: Any) -> Any:
        """A vector of 1, x, x^2, ...: where the place of a lane has the bit 2^j, x^(2^j) is a factor of it."""
        one, power = ir.Constant(self.vector, [1.0] * self.lanes), self.all_of(number)
        product, bit = one, 1
        while bit < self.lanes:
            has = ir.Constant(ir.VectorType(ir.IntType(1), self.lanes), [int(i & bit > 0) for i in range(self.lanes)])
            product = self.times(product, self.builder.select(has, power, one))
            power, bit = self.times(power, power), 2 * bit
        return product

    def times(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=_AS_WRITTEN)

    def plus(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=_AS_WRITTEN)

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
        end = builder.block  # of another loop, if there is one inside
        builder.branch(head)
        for phi, start, again in zip([line, *values], [_INT64(0), *first], new, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(again, end)
        builder.position_at_end(after)
        return values

    def sums(self, vectors: list[Any]) -> Any:
        """A vector of the sums over the lanes of each of 4 or 8 vectors: together, which takes less than one by one.

        Each round adds neighbouring groups of lanes of two vectors, and puts the sums of both side by side.
        """
        n, wanted, group = self.lanes, len(vectors), 1
        while len(vectors) > 1:
            these = [i - i % (2 * group) + i % group + n * (i % (2 * group) // group) for i in range(n)]
            those = [i + group for i in these]
            vectors = [self._folded(a, b, these, those) for a, b in zip(vectors[::2], vectors[1::2], strict=True)]
            group *= 2
        total = vectors[0]
        while n > wanted:
            n //= 2
            total = self._folded(total, total, list(range(n)), list(range(n, 2 * n)))
        return total

    def _folded(self, a: Any, b: Any, these: list[int], those: list[int]) -> Any:
        return self.plus(self.pick(a, b, these), self.pick(a, b, those))

    def _width(self, matrix: Any) -> Any:
        return self.builder.extract_value(matrix.shape, matrix.shape.type.count - 1)

    def _at(self, row: Any, line: Any) -> Any:
        place = self.builder.gep(row, [self.builder.mul(line, _INT64(self.lanes))])
        return self.builder.bitcast(place, self.vector.as_pointer())


def _dots(typing_context: Any, eW: Any, u: Any, eH: Any, items: Any, first: Any, out: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = _Lines(context, builder, eH.dtype)
        W, H, who, to = (lines.array(signature.args[i], arguments[i]) for i in (0, 2, 3, 5))
        places = [builder.add(arguments[4], _INT64(j)) for j in range(TOGETHER)]
        numbers = [context.cast(builder, lines.item(who, place), items.dtype, types.int64) for place in places]
        w, rows = lines.row(W, arguments[1]), [lines.row(H, number) for number in numbers]

        def product(first: Any, count: int, sums: list[Any]) -> list[Any]:
            """So many lines of each row, which are fetched together."""
            these = [builder.add(first, _INT64(i)) for i in range(count)]
            x, new = [lines.load(w, line) for line in these], list(sums)
            for i, j in itertools.product(range(TOGETHER), range(count)):
                new[i] = lines.plus(lines.times(x[j], lines.load(rows[i], these[j])), new[i])
            return new

        one = _INT64(1)
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


def _add_rows(typing_context: Any, weights: Any, rows: Any, begin: Any, end: Any, factors: Any, sums: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = _Lines(context, builder, factors.dtype)
        w, r, F, out = (lines.array(signature.args[i], arguments[i]) for i in (0, 1, 4, 5))
        begin, size = arguments[2], builder.sub(arguments[3], arguments[2])

        def add(first: Any, width: int) -> list[Any]:
            """Some lines of all rows, whose sums stay where they can be added to."""
            these = [builder.add(first, _INT64(i)) for i in range(width)]

            def one(number: Any, totals: list[Any]) -> list[Any]:
                place = builder.add(begin, number)
                weight = lines.all_of(lines.item(w, place))
                row = lines.row(F, context.cast(builder, lines.item(r, place), rows.dtype, types.int64))
                return [
                    lines.plus(lines.times(weight, lines.load(row, line)), total)
                    for line, total in zip(these, totals, strict=True)
                ]

            for line, total in zip(these, lines.for_each(size, [lines.zero] * width, one), strict=True):
                lines.store(total, out.data, line)
            return []

        count, width = lines.count(F), _INT64(_WIDTH)
        enough = builder.icmp_signed(">=", count, width)
        blocks = builder.select(enough, builder.udiv(builder.add(count, _INT64(_WIDTH - 1)), width), _INT64(0))

        def block(number: Any, nothing: list[Any]) -> list[Any]:
            first, last = builder.mul(number, width), builder.sub(count, width)  # the last ones again, if need be
            return add(builder.select(builder.icmp_signed("<", first, last), first, last), _WIDTH)

        lines.for_each(blocks, [], block)
        lines.for_each(builder.select(enough, _INT64(0), count), [], lambda line, nothing: add(line, 1))
        return context.get_dummy_value()

    return types.void(weights, rows, types.int64, types.int64, factors, sums), generate


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


def _polynomials(typing_context: Any, P: Any, Q: Any, jobs: Any, count: Any, x: Any, slopes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lines = _Lines(context, builder, P.dtype)
        p, q, job, at, out = (lines.array(signature.args[i], arguments[i]) for i in (0, 1, 2, 4, 5))
        places = ir.Constant(lines.vector, [float(i) for i in range(lines.lanes)])

        def evaluate(first: Any, together: int, sums: list[Any]) -> list[Any]:
            where, slope = [], [lines.zero] * 4
            for j in range(together):
                number = lines.item(job, builder.add(first, _INT64(j)))
                row = builder.lshr(number, _INT64(ENTRY_BITS))
                where.append(builder.and_(number, _INT64(2**ENTRY_BITS - 1)))
                powers = lines.powers(lines.item(at, where[j]))
                here, beside = (lines.load(lines.row(matrix, row), _INT64(0)) for matrix in (p, q))
                below = lines.pick(powers, powers, [0, *range(lines.lanes - 1)])
                slope[j] = lines.times(here, lines.times(places, below))
                terms = (lines.times(here, powers), slope[j], lines.times(beside, powers))
                sums = [lines.plus(term, total) for term, total in zip(terms, sums, strict=True)]
            found = lines.sums(slope)
            for j, place in enumerate(where):
                builder.store(builder.extract_element(found, ir.IntType(32)(j)), builder.gep(out.data, [place]))
            return sums

        fours = builder.lshr(arguments[3], _INT64(2))
        done = builder.shl(fours, _INT64(2))
        sums = lines.for_each(
            fours, [lines.zero] * 3, lambda number, sums: evaluate(builder.shl(number, _INT64(2)), 4, sums)
        )
        left = builder.sub(arguments[3], done)
        sums = lines.for_each(left, sums, lambda number, sums: evaluate(builder.add(done, number), 1, sums))
        total = lines.sums([*sums, lines.zero])
        found = [builder.extract_element(total, ir.IntType(32)(i)) for i in range(3)]
        return context.make_tuple(builder, signature.return_type, found)

    return _same_type(P.dtype, 3)(P, Q, jobs, types.int64, x, slopes), generate


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
# dots(eW, u, eH, items, first, out): out[j] = eW[u, :n] @ eH[items[j], :n] for TOGETHER places j from `first` on
# add_rows(weights, rows, begin, end, factors, sums): sums[:n] = weights[begin:end] @ factors[rows[begin:end], :n]
# polynomials(P, Q, jobs, count, x, slopes), for rows of one line: of the jobs row * 2**ENTRY_BITS + entry, puts the
#   slope of the polynomial with coefficients P[row] at x[entry] into slopes[entry]; gives the sum of the values of
#   these polynomials, of their slopes, and of the values of those of Q[row]
# mixed_line(weights, i, matrix, first, apart) = weights[i] @ matrix[first::apart][:TOGETHER], for rows of one line
dots: Callable[..., None] = intrinsic(_dots)
add_rows: Callable[..., None] = intrinsic(_add_rows)
mixed_line: Callable[..., tuple[Any, ...]] = intrinsic(_mixed_line)
polynomials: Callable[..., tuple[float, float, float]] = intrinsic(_polynomials)
_prefetch_line: Callable[..., None] = intrinsic(_prefetch)


@summing_step
def fetch(array: NDArray[Any], start: int, stop: int) -> None:
    """Have array[start:stop], which is contiguous, brought into the caches: it will be read soon."""
    for place in range(start, stop, LINE // array.itemsize):
        _prefetch_line(array, place)
