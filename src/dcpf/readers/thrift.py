"""The compact protocol of Thrift, in which Parquet describes itself: a struct as a dict of its fields by number.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 20  # structs within structs; Parquet has less than ten


class ThriftError(ValueError):
    """These bytes are no struct."""


class Reader:
    """Reads values from bytes, one after another. IndexError: the bytes end before the value does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The struct that begins here: its fields by number."""
        if depth > _DEEPEST:
            raise ThriftError("structs within structs, too deep")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):  # a boolean within a list takes a byte
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._integer()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(self._possible(size))]
        if kind == _MAP:
            size = self._possible(self._varint())
            kinds = self._byte() if size else 0
            return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ThriftError(f"a value of the unknown kind {kind}")

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]

    def _bytes(self, size: int) -> bytes:
        self.place += self._possible(size)
        return self._data[self.place - size : self.place]

    def _possible(self, size: int) -> int:
        """A number of things that take a byte or more each."""
        if size > len(self._data) - self.place:
            raise IndexError(size)
        return size

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ThriftError("an integer of more than 64 bits")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
