"""Logic of many lanes at once: signals with one bit for each lane, and only bitwise operators.

What is the same in every lane is written once, whatever the number of lanes.
"""

from collections.abc import Sequence

from amaranth import Const, Module, Signal, Value


def ones(lanes: int) -> Const:
    """Return a 1 for each lane."""
    return Const((1 << lanes) - 1, lanes)


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
    if len(entries) != 1 << len(address):
        raise ValueError(
            f"entries must be 2^{len(address)} for {len(address)} address bits, not {len(entries)}"
        )
    known: dict[tuple[int, ...], Value] = {}

    def look_up(part: tuple[int, ...]) -> Value:
        if len(set(part)) == 1:
            return ones(lanes) if part[0] else Const(0, lanes)
        if part not in known:
            half = len(part) // 2
            low, high = part[:half], part[half:]
            bit = address[half.bit_length() - 1]
            if low == high:
                known[part] = look_up(low)
            else:
                known[part] = (~bit & look_up(low)) | (bit & look_up(high))
        return known[part]

    return look_up(tuple(entries))


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
