"""One step of an LFSR as logic."""

from functools import reduce
from operator import xor

from amaranth import Cat, Value

from pezo_hw.golden.lfsr import Matrix


def next_state(matrix: Matrix, state: Value) -> Value:
    """Return M v, one XOR of at most a few bits of `state` for each bit.

    Parameters
    ----------
    matrix : tuple of int
        Row masks: bit i of entry j set means that next bit j taps state bit i.
    state : Value
        v, as many bits as the matrix has rows.
    """
    bits = len(matrix)
    return Cat(reduce(xor, (state[i] for i in range(bits) if mask >> i & 1)) for mask in matrix)


def state_of_word(word: Value) -> Value:
    """Return the state v of a signed word u = v - 2^(b-1): its bits with the top one inverted."""
    return Cat(word[:-1], ~word[-1])


def word_of_state(state: Value) -> Value:
    """Return the signed word u of a state v, as a signed value."""
    return Cat(state[:-1], ~state[-1]).as_signed()
