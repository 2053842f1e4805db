"""The exported RTL behind its registers, clocked in C++, against the golden model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pezo_hw.config import Config
from pezo_hw.driver import CheckedBackend, Description, Engine, GoldenBackend, Layout, Sweep
from pezo_hw.driver.compile import library
from pezo_hw.driver.registers import RegisterBackend
from pezo_hw.driver.rtl import RtlBus
from pezo_hw.errors import PezoError
from pezo_hw.export.folder import generate
from pezo_hw.golden.engine import Engine as ModelEngine
from pezo_hw.golden.tensors import Tensor
from pezo_hw.registers import RegisterMap
from tests.driver.cores import golden, small

Opener = Callable[..., RegisterBackend]


def _weights(count: int, *, bits: int = 16) -> Any:
    limit = 1 << (bits - 1)
    return np.random.default_rng(count).integers(-limit, limit, count)


def _random_sweeps(backend: CheckedBackend, kinds: tuple[str, ...], *, bits: int) -> None:
    rng = np.random.default_rng(0)
    for count in (1, 3, 4, 5, 61, 400):
        backend.start(int(rng.integers(0, 1000)))
        for _ in range(6):
            kind = str(rng.choice(kinds))
            fused = backend.description.schedule == "fused"
            command = Sweep(
                kind=kind,
                k=1 if kind == "inline-both" else int(rng.integers(-2, 3)),
                coefficient=0 if kind == "inline-both" else int(rng.integers(-100, 100)),
                dither_seed=int(rng.integers(0, 1 << 32)),
                capture=bool(rng.integers(2)),
                capture_b=fused and bool(rng.integers(2)),
            )
            backend.sweep(command, _weights(count, bits=bits))
            assert backend.difference is None, (command, backend.difference)


@pytest.mark.parametrize("stalls", [(0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.4, 0.4)])
def test_fused_sweeps_under_stalls(rtl_of: Opener, stalls: tuple[float, float]) -> None:
    config = small("fused", tensors=4)
    rtl = rtl_of(config, stalls=stalls)
    backend = CheckedBackend(rtl, reference=golden(config))
    _random_sweeps(backend, ("in-place", "inline", "inline-both", "fused"), bits=16)
    assert backend.sweeps == 36


def test_zoqo_sweeps_of_8_bits(rtl_of: Opener) -> None:
    config = small("inline-both", update="zoqo", bits=8)
    rtl = rtl_of(config, stalls=(0.3, 0.3))
    backend = CheckedBackend(rtl, reference=golden(config))
    _random_sweeps(backend, ("in-place", "inline", "inline-both"), bits=8)


def test_a_table_of_tensors(rtl_of: Opener) -> None:
    config = small("fused", tensors=4)
    layout = Layout((7, 1, 12, 3), 4)
    table = layout.table(
        [{"strength": 1}, {"frozen": True}, {"word_bits": 4}, {"coefficient_exponent": 2}]
    )
    backend = CheckedBackend(rtl_of(config), reference=golden(config))
    engine = Engine(backend, layout.pack(_weights(23) // 2), table=table, start=5)
    for _ in range(6):
        plus, minus = (float(np.abs(side).mean()) / 8192 for side in engine.sides())
        engine.step(plus, minus, lr=0.05)
    assert backend.difference is None
    packed = layout.unpack(engine.weights)
    assert packed[7] == _weights(23)[7] // 2
    assert not np.array_equal(packed, _weights(23) // 2)
    with pytest.raises(PezoError, match="weights must take the 7 beats of the table, not 1"):
        backend.device.sweep(Sweep(), _weights(4))


def test_a_tensor_of_no_beats_is_refused(rtl_of: Opener) -> None:
    rtl = rtl_of(small("fused", tensors=4))
    rtl.load_table((Tensor(3), Tensor(1)))
    rtl.write("TENSOR_BEATS", index=0)
    assert [name for name, value in rtl.read("ERROR").items() if value] == ["length_zero"]
    rtl.write("ERROR", length_zero=1)
    # Its length is what it was.
    assert rtl.sweep(Sweep(), _weights(16)).beats == 4
    rtl.write("TENSOR_BEATS", index=0, beats=1 << 31)
    assert not any(rtl.read("ERROR").values())
    with pytest.raises(PezoError, match=r"^beats of a tensor must be an integer from 1 to 429"):
        Tensor(0)


def test_another_word_of_the_model_is_found(rtl_of: Opener) -> None:
    config = small()
    backend = CheckedBackend(rtl_of(config), reference=golden(config))
    reference = backend.reference
    assert isinstance(reference, GoldenBackend)
    model = reference.core.engine
    assert isinstance(model, ModelEngine)
    model.exponent_table = model.exponent_table + 1
    backend.sweep(Sweep(k=1), _weights(9) // 2)
    assert backend.difference is not None and "weights[" in backend.difference


def test_a_stream_that_ends_early_is_reported_and_survived(rtl_of: Opener) -> None:
    rtl = rtl_of(small())
    assert isinstance(rtl.bus, RtlBus)
    rtl.write("LENGTH", beats=5)
    rtl.write("CONTROL", go=1)
    rtl.bus.stream(bytes(16), outputs=("weights",), beat=8)
    rtl.bus.idle(50)
    assert rtl.read("ERROR")["tlast_early"] == 1 and rtl.read("INDEX")["beats"] == 2
    # What is not looked at stays, and the sweep that finds it is ended.
    message = r"^a sweep of kind in-place .* reports tlast_early \(.* aborted after 0 beats\)$"
    with pytest.raises(PezoError, match=message):
        rtl.sweep(Sweep(), _weights(8))
    model = golden(small())
    again = rtl.sweep(Sweep(k=1), _weights(9))
    assert np.array_equal(
        again.outputs["weights"], model.sweep(Sweep(k=1), _weights(9)).outputs["weights"]
    )


class _Deaf(RtlBus):
    """Fails once in mid-stream, when nobody takes the outputs, as with a receiver's error."""

    failure: BaseException | None = PezoError("the receiver must be well, but is not")

    def stream(self, data: bytes, *, outputs: Sequence[str], beat: int) -> dict[str, bytes]:
        if self.failure is None:
            return super().stream(data, outputs=outputs, beat=beat)
        failure, self.failure = self.failure, None
        with pytest.raises(PezoError, match="nothing moved"):
            super().stream(data, outputs=(), beat=beat)
        raise failure


def _deaf(rtl: RegisterBackend, folder: Path, failure: BaseException) -> RegisterBackend:
    bus = _Deaf(library(folder))
    bus.failure = failure
    return RegisterBackend(bus, registers=rtl.registers, description=rtl.description)


@pytest.mark.parametrize("failure", [PezoError("the receiver is ill"), KeyboardInterrupt()])
def test_beats_that_nobody_takes_are_drained(
    rtl_of: Opener, folder_of: Callable[[Config], Path], failure: BaseException
) -> None:
    backend = _deaf(rtl_of(small()), folder_of(small()), failure)
    message = (
        r"^(a sweep of kind .*: the receiver is ill \(the sweep was aborted after \d+ beats\))?$"
    )
    with pytest.raises(type(failure), match=message):
        backend.sweep(Sweep(), _weights(400))
    assert backend.read("STATUS")["busy"] == 0 and not any(backend.read("ERROR").values())
    given, wanted = (b.sweep(Sweep(k=1), _weights(9)) for b in (backend, golden(small())))
    assert np.array_equal(given.outputs["weights"], wanted.outputs["weights"])
    backend.close()


def test_a_core_that_does_not_come_to_rest_keeps_the_first_message(
    rtl_of: Opener, folder_of: Callable[[Config], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = _deaf(rtl_of(small()), folder_of(small()), PezoError("the receiver is ill"))
    monkeypatch.setattr(RtlBus, "drain", lambda _: None)
    message = r": the receiver is ill \(and the core could not be brought to rest: .* 20000 clocks"
    with pytest.raises(PezoError, match=message):
        backend.sweep(Sweep(), _weights(400))
    backend.close()


def test_a_stream_that_is_too_long_is_told_and_dropped(rtl_of: Opener) -> None:
    rtl = rtl_of(small())
    write = rtl.write

    def shorter(name: str, **fields: int) -> None:
        write(name, **({"beats": 3} if name == "LENGTH" else fields))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rtl, "write", shorter)
        with pytest.raises(PezoError, match=r"nothing moved .* came; the core reports tlast_late$"):
            rtl.sweep(Sweep(), _weights(40))
    given, wanted = (b.sweep(Sweep(k=1), _weights(9)) for b in (rtl, golden(small())))
    assert np.array_equal(given.outputs["weights"], wanted.outputs["weights"])


@pytest.mark.parametrize("left", ["sweep", "flush"])
def test_what_another_program_left_is_ended(rtl_of: Opener, left: str) -> None:
    rtl = rtl_of(small())
    if left == "flush":
        rtl.write("CONTROL", flush=1)
    else:
        rtl.write("LENGTH", beats=300)
        rtl.write("CONTROL", go=1)
        with pytest.raises(PezoError, match="nothing moved"):
            rtl.bus.stream(bytes(2400), outputs=(), beat=8)
    assert rtl.read("STATUS")["busy"] == 1
    again = RegisterBackend(rtl.bus, registers=rtl.registers, description=rtl.description)
    again.start(0)
    given, wanted = (b.sweep(Sweep(k=1), _weights(9)) for b in (again, golden(small())))
    assert np.array_equal(given.outputs["weights"], wanted.outputs["weights"])


def test_a_far_start_may_take_its_clocks(rtl_of: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    rtl, model = rtl_of(small()), golden(small())
    last = rtl.description.period - 1
    assert last == 1019
    # No time at all, and fewer clocks than a walk takes.
    monkeypatch.setattr("pezo_hw.driver.registers._PATIENCE", 100)
    rtl = RegisterBackend(
        rtl.bus, registers=rtl.registers, description=rtl.description, timeout=0.0
    )
    # A walk that somebody else began.
    rtl.write("START_INDEX", group=last)
    rtl.write("CONTROL", start=1)
    for index in (last - 5, last):
        rtl.start(index)
        model.start(index)
        given, wanted = (b.sweep(Sweep(k=1), _weights(33)) for b in (rtl, model))
        assert np.array_equal(given.outputs["weights"], wanted.outputs["weights"])
    # It is given up when it should long have been there.
    read = rtl.read
    monkeypatch.setattr(rtl, "read", lambda name: {**read(name), "busy": 1})
    with pytest.raises(PezoError, match=r"STATUS.busy to 0 within 1120 clocks, but has "):
        rtl.start(0)


def test_a_stream_that_goes_nowhere_is_given_up(rtl_of: Opener) -> None:
    rtl = rtl_of(small())
    before = rtl.read("STATUS")
    assert (before["busy"], before["sweeping"]) == (0, 0)
    with pytest.raises(PezoError, match=r"nothing moved for 20000 clocks; 0 bytes of weights"):
        rtl.bus.stream(bytes(16), outputs=("weights",), beat=8)


def test_a_reset_in_mid_sweep(rtl_of: Opener) -> None:
    config = small()
    rtl = rtl_of(config)
    assert isinstance(rtl.bus, RtlBus)
    model = golden(config)
    rtl.start(50)
    rtl.write("LENGTH", beats=100)
    rtl.write("CONTROL", go=1)
    assert rtl.read("STATUS")["sweeping"] == 1
    rtl.bus.reset()
    assert rtl.read("STATUS")["sweeping"] == 0
    for command in (Sweep(k=1), Sweep(k=-2), Sweep(k=1, coefficient=9, dither_seed=3)):
        given, wanted = (b.sweep(command, _weights(33)) for b in (rtl, model))
        assert np.array_equal(given.outputs["weights"], wanted.outputs["weights"])


def test_addresses_and_interrupts(rtl_of: Opener) -> None:
    rtl = rtl_of(small())
    bus = rtl.bus
    assert isinstance(bus, RtlBus)
    with pytest.raises(PezoError, match=r"^a read of 0xff0 must be answered OKAY, not with 2$"):
        bus.read(0xFF0)
    with pytest.raises(PezoError, match=r"^a write of 0x1 to 0x000 must be answered OKAY, not"):
        bus.write(0, 1)
    assert bus.irq == 0
    rtl.write("IRQ_ENABLE", done=1)
    rtl.sweep(Sweep(k=1), _weights(4))
    assert bus.irq == 1
    rtl.write("IRQ_STATUS", done=1)
    assert bus.irq == 0
    clocks = bus.clocks
    bus.idle(7)
    assert bus.clocks == clocks + 7


def test_a_closed_core_is_refused(rtl_of: Opener) -> None:
    rtl = rtl_of(small())
    rtl.close()
    with pytest.raises(PezoError, match=r"^the simulated core must be open, but it was closed$"):
        rtl.read("STATUS")


def test_a_core_without_registers_is_refused(tmp_path: Path) -> None:
    config = small()
    assert config.control is not None
    plain: Config = config.model_copy(
        update={"control": config.control.model_copy(update={"interface": "ports"})}
    )
    generate(plain, tmp_path / "plain")
    with pytest.raises(PezoError, match=r'must hold a core with control.interface = "axi-lite"'):
        library(tmp_path / "plain")


def test_the_manifest_tells_what_the_model_tells(
    manifest_of: Callable[[Config], dict[str, Any]], rtl_of: Opener
) -> None:
    for config in (small(), small("inline-both", update="zoqo", bits=8)):
        expected = golden(config).description
        assert Description.from_manifest(manifest_of(config)) == expected
        registers = RegisterMap.from_json(manifest_of(config)["registers"])
        assert rtl_of(config).registers == registers
