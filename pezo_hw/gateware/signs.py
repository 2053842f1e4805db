"""Signs of reused words: their generators, and the lanes that take them."""

from amaranth import Cat, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from pezo_hw.golden import signs as golden
from pezo_hw.golden.reuse import word_of_lane

from .lfsr import next_state
from .seeder import bits_of

_Members = dict[str, wiring.Member]


class CyclicSigns(wiring.Component):
    """A generator that runs along with a bank or pool, with the snapshot that `restore` goes to.

    A row has at most 4 taps, so that with the restore input a state bit is one LUT6 deep.

    Latency: a command acts at the next clock edge. Throughput: one group a clock.

    Parameters
    ----------
    signs : golden.signs.CyclicSigns
        Whose bits this hardware gives.

    Members
    -------
    step : In(1)
        Go to the next group.
    restore : In(1)
        Go back to the snapshot; wins over `step`.
    capture : In(1)
        Take the group of the next clock as the snapshot; only in a clock with `step`.
    clear : In(1)
        Go to group 0 and make it the snapshot; wins over everything.
    negative : Out(B)
        For each block of lanes, whether its words are negated.
    """

    def __init__(self, signs: golden.CyclicSigns):
        self._signs = signs
        super().__init__(
            {
                "step": In(1),
                "restore": In(1),
                "capture": In(1),
                "clear": In(1),
                "negative": Out(signs.blocks),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        signs = self._signs
        state = Signal(unsigned(signs.state_bits), init=signs.state)
        snapshot = Signal.like(state)
        following = Signal.like(state, init=0)
        m.d.comb += following.eq(Mux(self.restore, snapshot, next_state(signs.matrix, state)))
        with m.If(self.clear):
            m.d.sync += [state.eq(signs.state), snapshot.eq(signs.state)]
        with m.Else():
            with m.If(self.step | self.restore):
                m.d.sync += state.eq(following)
            with m.If(self.capture):
                m.d.sync += snapshot.eq(following)
        m.d.comb += self.negative.eq(state)
        return m


class SeededSigns(wiring.Component):
    """A wide generator beside that of a seeded source.

    Parameters
    ----------
    signs : golden.signs.SeededSigns
        Whose bits this hardware gives.
    members : dict
        Those of the source.

    Members
    -------
    clear, inject, expand, step, seed : In
        See `gateware.seeded.source_signature`.
    negative : Out(B)
        For each block of lanes, whether its words are negated.
    """

    def __init__(self, signs: golden.SeededSigns, members: _Members):
        self._signs = signs
        self._generator = bits_of(signs.sequence, members)
        inputs = {name: member for name, member in members.items() if name != "words"}
        super().__init__(inputs | {"negative": Out(signs.blocks)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = self._generator
        m.d.comb += [
            generator.clear.eq(self.clear),
            generator.inject.eq(self.inject),
            generator.expand.eq(self.expand),
            generator.step.eq(self.step),
            generator.seed.eq(self.seed ^ golden.FLIPS),
            self.negative.eq(Cat(word[-1] for word in generator.words)),
        ]
        return m


class SignedReuse(wiring.Component):
    """Give each of P lanes its word or the word's negative: `Reuse` with a sign for each block.

    Latency: none. One multiplexer for each bit of a lane; the lowest bit of a word and of its
    negative are the same, so this one is a wire.

    Parameters
    ----------
    lanes : int
        P, a multiple of `words`.
    words : int
        W.
    stride : int
        0 to W - 1.
    shape : Shape
        Shape of a word.

    Members
    -------
    words, negated : In(ArrayLayout(shape, W))
        The words, and the negatives of the same words.
    negative : In(P // W)
        For each block of lanes, whether it gets the negatives.
    lanes : Out(ArrayLayout(shape, P))
    """

    def __init__(self, lanes: int, *, words: int, stride: int, shape: Shape):
        self._words = [int(w) for w in word_of_lane(lanes, words=words, stride=stride)]
        self._blocks = lanes // words
        super().__init__(
            {
                "words": In(data.ArrayLayout(shape, words)),
                "negated": In(data.ArrayLayout(shape, words)),
                "negative": In(self._blocks),
                "lanes": Out(data.ArrayLayout(shape, lanes)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        size = len(self._words) // self._blocks
        blocks = []
        for block in range(self._blocks):
            order = self._words[block * size : (block + 1) * size]
            plus = Cat(self.words[word] for word in order)
            minus = Cat(self.negated[word] for word in order)
            # Only for its name, which would be a number else.
            values = Signal(len(plus), name=f"block_{block}")
            m.d.comb += values.eq(Mux(self.negative[block], minus, plus))
            blocks.append(values)
        m.d.comb += self.lanes.as_value().eq(Cat(blocks))
        return m


def negative_of(word: Value, *, zeros: int) -> Value:
    """Return the bits of -word, for a word that has its negative in the same width.

    Parameters
    ----------
    word : Value
        Signed.
    zeros : int
        Lowest bits of the word that are always 0.
    """
    # That these bits and the next one stay as they are, no tool finds in an adder's carry chain.
    upper = word[zeros:].as_signed()
    return Cat(word[: zeros + 1], (-upper)[1 : len(upper)])


def negative_members(
    signs: golden.CyclicSigns | golden.SeededSigns, *, words: data.ArrayLayout
) -> _Members:
    """Return what an engine with signs gives beside its stream.

    Members
    -------
    negated : Out(ArrayLayout(shape, W))
        The negatives of the words of the current group.
    negative : Out(B)
        For each block of lanes, whether it gets them.
    """
    return {"negated": Out(words), "negative": Out(signs.blocks)}
