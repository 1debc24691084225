"""What code that is written as vector instructions is made of: a vector is a line of the processor's cache.

LLVM cuts it into what the processor has.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

LINE = 64  # bytes
INT64 = ir.IntType(64)
# a * b + c may be one operation, NaN and inf are honoured. Sums stay in the order in which they are written: what is
# written as two sums side by side would be made one, which waits for each of its terms.
_AS_WRITTEN = ("nsz", "contract")


class Lines:
    """Code that goes through matrices line by line, at the place where a builder stands."""

    def __init__(self, context: Any, builder: Any, number: Any, lanes: int = 0) -> None:
        self.context, self.builder = context, builder
        self.lanes = lanes or 8 * LINE // number.bitwidth
        self.vector = ir.VectorType(context.get_value_type(number), self.lanes)
        self.zero = ir.Constant(self.vector, [0.0] * self.lanes)
        self.aligned = number.bitwidth // 8

    def array(self, numba_type: Any, value: Any) -> Any:
        """What is known of an array: where its numbers are, and its shape."""
        return self.context.make_array(numba_type)(self.context, self.builder, value)

    def item(self, array: Any, place: Any) -> Any:
        """One number."""
        return self.builder.load(self.builder.gep(array.data, [place]))

    def row(self, matrix: Any, number: Any) -> Any:
        """Where a row begins; rows of an array of more dimensions are numbered as if it had two."""
        return self.builder.gep(matrix.data, [self.builder.mul(number, self._width(matrix))])

    def count(self, matrix: Any) -> Any:
        """How many whole lines a row has."""
        return self.builder.udiv(self._width(matrix), INT64(self.lanes))

    def load(self, row: Any, line: Any) -> Any:
        """A line of a row."""
        return self.builder.load(self._at(row, line), align=self.aligned)

    def store(self, vector: Any, row: Any, line: Any) -> None:
        """Put a vector where a line of a row is."""
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
        """The products, lane by lane."""
        return self.builder.fmul(a, b, flags=_AS_WRITTEN)

    def plus(self, a: Any, b: Any) -> Any:
        """The sums, lane by lane."""
        return self.builder.fadd(a, b, flags=_AS_WRITTEN)

    def for_each(self, count: Any, first: list[Any], step: Callable[[Any, list[Any]], list[Any]]) -> list[Any]:
        """for line in range(count): values = step(line, values)"""
        builder = self.builder
        before = builder.block
        head, inside, after = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        line, values = builder.phi(INT64), [builder.phi(value.type) for value in first]
        builder.cbranch(builder.icmp_signed("<", line, count), inside, after)
        builder.position_at_end(inside)
        new = [builder.add(line, INT64(1)), *step(line, values)]
        end = builder.block  # of another loop, if there is one inside
        builder.branch(head)
        for phi, start, again in zip([line, *values], [INT64(0), *first], new, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(again, end)
        builder.position_at_end(after)
        return values

    def larger(self, a: Any, b: Any) -> Any:
        """The larger ones, lane by lane."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def sums(self, vectors: list[Any]) -> Any:
        """A vector of the sums over the lanes of each of 4 or 8 vectors."""
        return self.across(vectors, self.plus)

    def across(self, vectors: list[Any], both: Callable[[Any, Any], Any]) -> Any:
        """What all lanes of each vector come to: of 4 or 8 together, which takes less than one by one.

        Each round joins neighbouring groups of lanes of two vectors, and puts those of both side by side.
        """
        n, wanted, group = self.lanes, len(vectors), 1
        while len(vectors) > 1:
            these = [i - i % (2 * group) + i % group + n * (i % (2 * group) // group) for i in range(n)]
            those = [i + group for i in these]
            pairs = zip(vectors[::2], vectors[1::2], strict=True)
            vectors = [both(self.pick(a, b, these), self.pick(a, b, those)) for a, b in pairs]
            group *= 2
        total = vectors[0]
        while n > wanted:
            n //= 2
            these, those = list(range(n)), list(range(n, 2 * n))
            total = both(self.pick(total, total, these), self.pick(total, total, those))
        return total

    def _width(self, matrix: Any) -> Any:
        return self.builder.extract_value(matrix.shape, matrix.shape.type.count - 1)

    def _at(self, row: Any, line: Any) -> Any:
        place = self.builder.gep(row, [self.builder.mul(line, INT64(self.lanes))])
        return self.builder.bitcast(place, self.vector.as_pointer())
