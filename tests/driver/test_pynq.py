"""The board's backend against fakes with PYNQ's calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config
from pezo_hw.driver import CheckedBackend, Engine, Layout
from pezo_hw.driver.pynq import PynqBus, open_board
from pezo_hw.driver.registers import RegisterBackend
from pezo_hw.errors import PezoError
from tests.driver.board import Board, Buffer
from tests.driver.cores import golden, small


def _backend(board: Board, **more: Any) -> RegisterBackend:
    dmas = more.pop("dmas", board.dmas)
    bus = PynqBus(board.core, dmas=dmas, allocate=board.allocate, **more)
    return RegisterBackend(
        bus,
        registers=board.core.registers,
        description=board.core.golden.description,
        timeout=0.05,
    )


def _weights(count: int) -> Any:
    return np.random.default_rng(count).integers(-100, 100, count)


def _train(engine: Engine, steps: int = 5) -> Engine:
    for _ in range(steps):
        plus, minus = (float(np.abs(side - 50).mean()) / 64 for side in engine.sides())
        engine.step(plus, minus, lr=0.05)
    return engine


@pytest.mark.parametrize(
    "config",
    [
        small(),
        small("inline", bits=8),
        small("inline-both", update="zoqo"),
        small("fused", tensors=4),
    ],
    ids=["in-place", "inline", "zoqo", "fused"],
)
@pytest.mark.parametrize("count", [1, 3, 4, 5, 31])
def test_training_on_the_board_equals_the_model(config: Config, count: int) -> None:
    board = Board(config)
    backend = CheckedBackend(_backend(board), reference=golden(config))
    engine = _train(Engine(backend, _weights(count), start=3, seed=1))
    assert backend.difference is None
    alone = _train(Engine(golden(config), _weights(count), start=3, seed=1))
    assert np.array_equal(engine.weights, alone.weights)
    assert engine.saturations == alone.saturations


def test_the_table_goes_through_the_registers() -> None:
    config, layout = small("fused", tensors=4), Layout((5, 8, 3), 4)
    table = layout.table([{"strength": 2}, {"frozen": True}, {"word_bits": 3}])
    board = Board(config)
    backend = CheckedBackend(_backend(board), reference=golden(config))
    engine = _train(Engine(backend, layout.pack(_weights(16)), table=table))
    assert backend.difference is None
    assert np.array_equal(layout.unpack(engine.weights)[5:13], _weights(16)[5:13])


def test_receivers_are_ready_before_the_sender_and_memory_is_kept() -> None:
    config = small("inline-both")
    board = Board(config)
    engine = Engine(_backend(board), _weights(9))
    board.log.clear()
    list(engine.sides())
    assert board.log == ["go", "receive plus", "receive minus", "send weights"]
    _train(engine, 3)
    # 9 weights of 16 bits in beats of 8 bytes; one for sending, three for the outputs.
    assert [len(buffer) for buffer in board.buffers] == [24] * 4
    engine.close()
    assert all(buffer.freed for buffer in board.buffers)


def test_caches_without_care_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    config = small()
    with monkeypatch.context() as patch:
        patch.setattr(Buffer, "invalidate", lambda _: None)
        backend = CheckedBackend(_backend(Board(config)), reference=golden(config))
        _train(Engine(backend, _weights(9)), 1)
        assert backend.difference is not None
    monkeypatch.setattr(Buffer, "flush", lambda _: None)
    # The fake notices a dirty line in the way of the DMA.
    with pytest.raises(AssertionError):
        _train(Engine(_backend(Board(config)), _weights(9)), 1)


def test_more_than_the_length_register_is_refused() -> None:
    config = small()
    board = Board(config, length_bits=8)
    engine = Engine(_backend(board), _weights(128))
    message = (
        r"must be able to transfer 256 bytes at once, but its length register ends at 255; "
        r"set c_sg_length_width of the AXI DMA to 9 \(the sweep was aborted after 0 beats\)$"
    )
    with pytest.raises(PezoError, match=message):
        engine.perturb(1)
    # The core is usable again.
    shorter = Engine(engine.backend, _weights(127))
    shorter.perturb(1)
    assert not np.array_equal(shorter.weights, _weights(127))


def test_memory_at_a_wrong_place_is_refused() -> None:
    config = small()
    board = Board(config)
    board.offset = 4
    engine = Engine(_backend(board), _weights(9))
    with pytest.raises(PezoError, match=r"must begin at a multiple of 8 bytes, not at 0x10004"):
        engine.perturb(1)


def test_a_transfer_that_does_not_end_is_given_up() -> None:
    config = small()
    board = Board(config)
    engine = Engine(_backend(board, timeout=0.02), _weights(9))
    board.core.hangs = True
    with pytest.raises(PezoError, match=r"the sender must be done in time, but still waits \(the"):
        engine.perturb(1)
    assert "abort" in board.log
    assert np.array_equal(engine.weights, _weights(9))
    # Both channels were reset, so the next transfer is no continuation of this one.
    board.core.hangs = False
    engine.perturb(1)
    assert not np.array_equal(engine.weights, _weights(9))


def test_beats_inside_the_core_get_a_receiver() -> None:
    config = small()
    board = Board(config)
    engine = Engine(_backend(board, timeout=0.02), _weights(9))
    board.core.hangs = board.core.holds = True
    with pytest.raises(PezoError, match=r"still waits \(the sweep was aborted after 0 beats\)$"):
        engine.perturb(1)
    assert board.log[-2:] == ["abort", "receive weights"]
    assert all(dma.recvchannel.pending is None for dma in board.dmas.values())
    board.core.hangs = board.core.holds = False
    engine.perturb(1)
    assert not np.array_equal(engine.weights, _weights(9))


def test_an_error_of_the_dma_is_told() -> None:
    config = small()
    board = Board(config)
    engine = Engine(_backend(board), _weights(9))
    board.core.hangs = True
    board.dmas["weights"].sendchannel.error = True
    with pytest.raises(PezoError, match=r"the sender must transfer without an error, but reports"):
        engine.perturb(1)


def test_a_missing_dma_is_named() -> None:
    config = small("inline-both")
    board = Board(config)
    backend = _backend(board, dmas={"weights": board.dmas["weights"]})
    engine = Engine(backend, _weights(9))
    with pytest.raises(PezoError, match=r"a DMA must be given for the output plus"):
        engine.inline_both()


@pytest.mark.parametrize(
    ("register", "field", "value", "message"),
    [
        ("ID", "magic", 0xFFFFFFFF, r"must answer at this address with 0x4f5a4550, not 0xffffffff"),
        ("VERSION", "major", 7, r"must have version 0 of the registers, not 7"),
        ("CAPS0", "lanes", 8, r"its lanes is 8, not 4; use the manifest of its own folder$"),
        ("CAPS1", "schedule", 3, r"its schedule is 3, not 0"),
        ("CAPS1", "source", 3, r"its source is 3, not 0"),
        ("CAPS0", "word_bits", 9, r"its word_bits is 9, not 8"),
        ("PERIOD_LO", "groups", 9, r"its PERIOD_LO is 9, not"),
        ("PERIOD_HI", "groups", 9, r"its PERIOD_HI is 9, not 0"),
    ],
)
def test_another_core_is_refused(register: str, field: str, value: int, message: str) -> None:
    config = small()
    board = Board(config)
    board.core.field(register, field, value)
    with pytest.raises(PezoError, match=message):
        _backend(board)


def test_open_board_finds_the_parts_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = small("inline-both")
    board = Board(config)
    overlay = SimpleNamespace(
        pezo_0=board.core,
        dma_0=board.dmas["weights"],
        dma_1=board.dmas["plus"],
        dma_2=board.dmas["minus"],
    )
    module: Any = ModuleType("pynq")
    module.allocate, module.Overlay = board.allocate, lambda name: {"design.bit": overlay}[name]
    monkeypatch.setitem(sys.modules, "pynq", module)
    manifest = {
        "config": config.model_dump(mode="json", exclude_none=True),
        "leftover_scale": board.core.golden.description.leftover,
        "source": {"period": board.core.golden.description.period},
        "registers": board.core.registers.to_json(),
    }
    (tmp_path / "pezo.json").write_text(json.dumps(manifest))
    dmas = {"weights": "dma_0", "plus": "dma_1", "minus": "dma_2"}
    backend = open_board("design.bit", tmp_path, core="pezo_0", dmas=dmas)
    assert backend.description == board.core.golden.description
    engine = _train(Engine(backend, _weights(9)))
    alone = _train(Engine(golden(config), _weights(9)))
    assert np.array_equal(engine.weights, alone.weights)
    with pytest.raises(PezoError, match=r"^the overlay must hold an IP named pezo_1"):
        open_board(overlay, tmp_path, core="pezo_1", dmas=dmas)
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(PezoError, match=r"^the package pynq must be installed to drive a board"):
        open_board(overlay, tmp_path, core="pezo_0", dmas=dmas)
