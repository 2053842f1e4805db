"""Logic of many lanes at once: signals with one bit for each lane, and only bitwise operators.

What is the same in every lane is written once, whatever the number of lanes.
"""

from collections.abc import Sequence

from amaranth import Const, Module, Signal, Value


def ones(lanes: int) -> Const:
    """Return a 1 for each lane."""
    return Const((1 << lanes) - 1, lanes)


def select(entries: Sequence[Value], address: Sequence[Value]) -> Value:
    """Return for each lane the entry at its address.

    Parameters
    ----------
    entries : sequence of Value
        2^n of them, each with a bit for each lane. Those that are equal are used once.
    address : sequence of Value
        n signals with a bit for each lane, the least significant bit of the address first.
    """
    if len(entries) != 1 << len(address):
        raise ValueError(
            f"entries must be 2^{len(address)} for {len(address)} address bits, not {len(entries)}"
        )
    if all(entry is entries[0] for entry in entries):
        return entries[0]
    half = len(entries) // 2
    low, high = (select(part, address[:-1]) for part in (entries[:half], entries[half:]))
    return low if low is high else (~address[-1] & low) | (address[-1] & high)


def table(entries: Sequence[int], address: Sequence[Value], *, lanes: int) -> Value:
    """Return one entry for each lane, looked up in a constant table.

    Parameters
    ----------
    entries : sequence of int
        0 or 1, 2^n of them.
    address : sequence of Value
        n signals with a bit for each lane, the least significant bit of the address first.
    lanes : int
        Lanes.
    """
    constants = Const(0, lanes), ones(lanes)
    return select([constants[entry] for entry in entries], address)


def at_most_constant(word: Sequence[Signal], limit: int, *, lanes: int) -> Value:
    """Return for each lane whether its word is at most a constant.

    Parameters
    ----------
    word : sequence of Signal
        With a bit for each lane, the least significant bit of the number first.
    limit : int
    lanes : int
        Lanes.
    """
    result: Value = ones(lanes)
    for i, bit in enumerate(word):
        result = ~bit | result if limit >> i & 1 else ~bit & result
    return result


def at_most(
    m: Module, word: Sequence[Signal], limit: Sequence[Signal], *, name: str, lanes: int
) -> Value:
    """Return for each lane whether its word is at most its limit.

    Parameters
    ----------
    m : Module
        Where signals for the results of fewer bits are added. (Amaranth writes out an expression
        as often as it is used.)
    word, limit : sequence of Signal
        With a bit for each lane, the least significant bit of the number first.
    name : str
        What the names of those signals begin with.
    lanes : int
        Lanes.
    """
    result: Value = ones(lanes)
    for i, (bit, other) in enumerate(zip(word, limit, strict=True)):
        lower = Signal(lanes, name=f"{name}_{i}")
        m.d.comb += lower.eq(result)
        # As one of two cases, and not as "less, or equal and ..": that is a LUT level more.
        result = (~bit & (other | lower)) | (bit & other & lower)
    return result
