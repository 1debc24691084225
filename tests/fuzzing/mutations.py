"""Damage: what accident and malice do to the bytes of a file, drawn from a random generator."""

import re
from collections.abc import Callable
from random import Random

Mutation = Callable[[bytes, Random], bytes]

_WORDS = (
    b'\0 \xff \xff\xff\xff\xff \x80 \xef\xbb\xbf \xc3\x28 " "" \' , ; \t \r \r\n \n \n\n { } [ ] : NaN nan inf -1 '
    b"1e999 1e308 0.5 0x10 99999999999999999999 PAR1 PK\x03\x04 \x1f\x8b (((("
).split(b" ")
_LIES = (
    0,
    1,
    2**7,
    2**8 - 1,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_NUMBERS = (b"0", b"-1", b"2147483647", b"2147483648", b"9223372036854775807", b"18446744073709551616", b"9" * 400)


def damaged(data: bytes, random: Random, others: list[bytes]) -> bytes:
    """One to four mutations, one after another; now and then the end of another file instead of its own."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        if random.random() < 0.1:
            data = spliced(data, random, random.choice(others))
        else:
            data = random.choice(MUTATIONS)(data, random)
    return data


def spliced(data: bytes, random: Random, other: bytes) -> bytes:
    """The start of one file and the end of another."""
    return data[: _place(data, random)] + other[_place(other, random) :]


def flipped(data: bytes, random: Random) -> bytes:
    """Some bits are other ones."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            changed[_place(data, random)] ^= 1 << random.randrange(8)
    return bytes(changed)


def cut(data: bytes, random: Random) -> bytes:
    """The end is missing."""
    return data[: _place(data, random)]


def dropped(data: bytes, random: Random) -> bytes:
    """Some bytes within are missing."""
    place = _place(data, random)
    return data[:place] + data[place + _length(random) :]


def repeated(data: bytes, random: Random) -> bytes:
    """Some bytes come again, once or many times: a key, a line, a bracket."""
    place, length = _place(data, random), _length(random)
    return (
        data[: place + length] + data[place : place + length] * random.choice((1, 1, 2, 300)) + data[place + length :]
    )


def inserted(data: bytes, random: Random) -> bytes:
    """A word that means something to one of the parsers, beside what is there or instead of it."""
    place = _place(data, random)
    return data[:place] + random.choice(_WORDS) + data[place + random.choice((0, 1, 4)) :]


def shuffled(data: bytes, random: Random) -> bytes:
    """Two pieces have changed places."""
    first, second = sorted((_place(data, random), _place(data, random)))
    length = min(_length(random), second - first)
    end = second + length
    return data[:first] + data[second:end] + data[first + length : second] + data[first : first + length] + data[end:]


def lying(data: bytes, random: Random) -> bytes:
    """A binary number, perhaps a length or an offset, is another one."""
    width, order = random.choice((1, 2, 4, 8)), random.choice(("little", "big"))
    value = random.choice(_LIES) if random.random() < 0.7 else random.getrandbits(64)
    place = _place(data, random)
    return data[:place] + (value % 2 ** (8 * width)).to_bytes(width, order) + data[place + width :]


def misspelt(data: bytes, random: Random) -> bytes:
    """A number in digits, perhaps a size, is another one."""
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return data
    one = random.choice(numbers)
    return data[: one.start()] + random.choice(_NUMBERS) + data[one.end() :]


def nested(data: bytes, random: Random) -> bytes:
    """Brackets within brackets, deeper than any stack."""
    place = _place(data, random)
    return data[:place] + random.choice((b"[", b'{"a":', b"(", b'"')) * random.choice((10, 100_000)) + data[place:]


MUTATIONS: tuple[Mutation, ...] = (
    flipped,
    flipped,
    cut,
    dropped,
    repeated,
    inserted,
    inserted,
    shuffled,
    lying,
    lying,
    misspelt,
    nested,
)


def _place(data: bytes, random: Random) -> int:
    """Anywhere, and more often near one of the ends, where the headers are."""
    last = max(len(data) - 1, 0)
    near = min(last, random.choice((8, 64, 400)))
    return random.choice((random.randint(0, last), random.randint(0, near), last - random.randint(0, near)))


def _length(random: Random) -> int:
    return random.choice((1, 2, 4, 8, 30, 500))
