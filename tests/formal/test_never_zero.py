"""No generator can lock up: no LFSR state and no snapshot of one is ever 0.

By induction, so not only from the states after reset, but from any state in which nothing is 0.
"""

from __future__ import annotations

from typing import Any

import pytest

from pezo_hw.gateware.bank import Bank
from pezo_hw.gateware.dither import Dither
from pezo_hw.golden import bank as golden
from pezo_hw.golden import dither, draws, lfsr, matrices
from tests.formal.sby import Opened, Proof

# bits, generators, rotation, tracked. Sizes 1, prime, and all states there are.
BANKS = [
    (4, 1, "clock", False),
    (4, 15, "clock", True),
    (5, 3, "period", False),
    (8, 7, "clock", True),
    (11, 2, "period", False),
    (16, 3, "clock", False),
]


def _bank(bits: int, generators: int, rotation: str) -> golden.Bank:
    phases = tuple(draws.distinct((1 << bits) - 1, generators, seed=3).tolist())
    return golden.Bank(matrices.MATRICES[bits], phases=phases, rotation=rotation)


def _add_bank(proof: Proof, name: str, bank: golden.Bank, *, tracked: bool = False) -> None:
    component = Bank(bank, prefetched=False, tracked=tracked)
    proof.free(component.step, component.restore, component.capture, component.clear)
    opened = Opened(component)
    proof.m.submodules[name] = opened.fragment
    # Each generator has its state and its snapshot, and so has the tracked one.
    tracks = tracked or bank.rotation == "period"
    assert len(opened.registers) == 2 * (bank.words + tracks)
    zero = 1 << (bank.bits - 1)
    for path, register in opened.registers.items():
        # Signed registers hold words, u = v - 2^(b-1); the others hold v.
        locked = register == (-zero if register.shape().signed else 0)
        proof.always(f"{name}_{path}_nonzero", ~locked)


def _add_dither(proof: Proof, name: str, *, words: int, shift: int) -> Any:
    component = Dither(words, shift=shift)
    proof.free(component.load, component.seed, component.step)
    opened = Opened(component)
    proof.m.submodules[name] = opened.fragment
    (state,) = opened.registers.values()
    proof.always(f"{name}_state_nonzero", state.any())
    return state


def test_no_generator_is_ever_zero() -> None:
    proof = Proof()
    for bits, generators, rotation, tracked in BANKS:
        bank = _bank(bits, generators, rotation)
        _add_bank(proof, f"bank_{bits}x{generators}_{rotation}", bank, tracked=tracked)
    leap = golden.Bank(lfsr.leap_matrix(0x11D, leap=7), phases=(0, 17, 99))
    _add_bank(proof, "bank_leap", leap)
    _add_dither(proof, "dither", words=3, shift=5)
    proof.prove(depth=1)


class _ZeroStart(golden.Bank):
    @property
    def states(self) -> tuple[int, ...]:
        return (5, 0, 3)


def test_broken_generators_are_caught() -> None:
    proof = Proof(
        hunt={
            "zero_start_state_1_nonzero",
            "zero_start_snapshot_1_nonzero",
            "torn_state_0_nonzero",
            "torn_snapshot_0_nonzero",
        }
    )
    matrix = matrices.MATRICES[4]
    _add_bank(proof, "zero_start", _ZeroStart(matrix, phases=(0, 1, 2)))
    # One tap is missing: the state 1 is followed by 0 within four clocks.
    torn = tuple(row ^ (j == 1) << 1 for j, row in enumerate(matrix))
    assert lfsr.step(torn, 1, count=4) == 0
    _add_bank(proof, "torn", golden.Bank(torn, phases=(0,)))
    proof.cover(depth=6)


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_dither_is_not_zero_for_the_seeds_that_tempt_it(seed: int) -> None:
    assert dither.load(seed) != 0
