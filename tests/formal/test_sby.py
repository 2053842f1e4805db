"""The proofs can fail: false claims, vain hopes and contradictions are found and named."""

from __future__ import annotations

import pytest
from amaranth import Mux, Signal

from tests.formal.sby import Proof


def _counter(proof: Proof) -> Signal:
    """Count 0, 1, 2, 3, 0, ... in three bits while `go` is high."""
    go, count = Signal(), Signal(3)
    proof.free(go)
    with proof.m.If(go):
        proof.m.d.sync += count.eq(Mux(count == 3, 0, count + 1))
    return count


def test_a_false_claim_fails_by_name() -> None:
    proof = Proof()
    count = _counter(proof)
    proof.always("below_three", count < 3)
    proof.always("below_four", count < 4)
    with pytest.raises(AssertionError, match=r"does not hold: \['below_three'\]"):
        proof.prove(depth=5)


def test_what_needs_more_than_the_depth_is_not_proven() -> None:
    proof = Proof()
    count = _counter(proof)
    # True from reset on, but 4 may be followed by 5, and stays 4 as long as nothing moves.
    proof.always("not_five", count != 5)
    with pytest.raises(AssertionError, match="does not hold: .*not_five"):
        proof.prove(depth=3)


def test_a_vain_hope_fails_by_name() -> None:
    proof = Proof()
    count = _counter(proof)
    proof.reach("three", count == 3)
    proof.reach("four", count == 4)
    with pytest.raises(AssertionError, match=r"not reached: \['four'\]"):
        proof.cover(depth=6)


def test_contradictory_assumptions_prove_nothing() -> None:
    proof = Proof()
    count = _counter(proof)
    proof.assume(count == 1)
    proof.always("false", count == 5)
    with pytest.raises(AssertionError, match="assumptions contradict"):
        proof.prove(depth=2)


def test_mistakes_in_a_proof_are_refused() -> None:
    proof = Proof(hunt={"elsewhere"})
    count = _counter(proof)
    with pytest.raises(ValueError, match="must be one bit, not 3"):
        proof.always("elsewhere", count)
    proof.reach("here", count == 1)
    with pytest.raises(ValueError, match="must be new and an identifier, not 'here'"):
        proof.reach("here", count == 2)
    with pytest.raises(ValueError, match=r"must exist, not \['elsewhere'\]"):
        proof.cover(depth=2)
