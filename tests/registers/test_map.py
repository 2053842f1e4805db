"""The map of registers that software uses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pezo_hw
from pezo_hw.config import Config, from_mapping, load
from pezo_hw.errors import PezoError
from pezo_hw.golden.engine import engine_of
from pezo_hw.registers import RegisterMap
from pezo_hw.registers.artefacts import texts
from pezo_hw.registers.description import PATH, parameters, register_map


def _config(*more: str) -> Config:
    sizes = ("source.generators=5", "source.bits=5", "reuse.lanes=5", "weights.frac=12")
    return load("zcu102-step", [*sizes, "control.interface=axi-lite", *more])


def _map(*more: str) -> RegisterMap:
    config = _config(*more)
    return register_map(config, model=engine_of(config))


def test_words_are_packed_and_taken_apart() -> None:
    sweep = _map()["SWEEP"]
    assert sweep.pack(k=-2, capture=1) == 0b1_110_00
    assert sweep.unpack(0b1_110_01) == {"kind": 1, "k": -2, "capture": 1}
    with pytest.raises(PezoError, match=r"\Ak must be from -4 to 3, not 4\Z"):
        sweep.pack(k=4)
    with pytest.raises(PezoError, match=r"\Aseed must be from 0 to 4294967295, not -1\Z"):
        _map()["DITHER_SEED"].pack(seed=-1)
    with pytest.raises(PezoError, match=r"\Athe register SWEEP must have a field q, but has none"):
        sweep.pack(q=1)
    coefficient = _map()["COEFFICIENT"]
    assert coefficient.unpack(coefficient.pack(c=-3)) == {"c": -3}
    assert coefficient.pack(c=-3) == (1 << 18) - 3


def test_capabilities_say_what_was_built() -> None:
    config = _config("zo.schedule=fused", "control.tensors=7")
    registers = register_map(config, model=engine_of(config))
    version = registers["VERSION"].unpack(registers["VERSION"].reset or 0)
    assert ".".join(map(str, reversed(version.values()))) == pezo_hw.__version__
    sizes = registers["CAPS0"].unpack(registers["CAPS0"].reset or 0)
    assert sizes == {"lanes": 5, "weight_bits": 16, "word_bits": 5}
    built = registers["CAPS1"].unpack(registers["CAPS1"].reset or 0)
    assert built == {
        "source": 0,
        "schedule": 3,
        "update": 0,
        "tensors": 7,
        "coefficient_bits": 18,
        "coefficient_shift": 16,
    }
    assert registers["CAPS1"].field("schedule").values["FUSED"] == 3
    assert (registers["ID"].reset or 0).to_bytes(4, "big") == b"OZEP"
    assert registers["PERIOD_LO"].reset == 155 and registers["PERIOD_HI"].reset == 0


@pytest.mark.parametrize(
    ("kind", "lanes", "period"),
    [
        ("gaussian-tree", 4, 0x1505B282B),
        ("rademacher", 4, (1 << 64) - 1),
        # A generator of more than 64 bits.
        ("rademacher", 256, 0),
    ],
)
def test_long_periods_take_both_halves_or_are_not_said(kind: str, lanes: int, period: int) -> None:
    mapping = _config().model_dump(mode="json", exclude_none=True)
    del mapping["scaling"]
    config = from_mapping(mapping | {"source": {"kind": kind}, "reuse": {"lanes": lanes}})
    registers = register_map(config, model=engine_of(config))
    halves = [registers[f"PERIOD_{half}"].reset or 0 for half in ("HI", "LO")]
    assert halves[0] << 32 | halves[1] == period
    assert registers["START_INDEX"].field("group").bits == 32


def test_registers_that_a_core_does_not_need_do_not_exist() -> None:
    plain = _map()
    assert "TENSOR_COUNT" not in plain and "TENSOR_BEATS" not in plain and "DITHER_SEED" in plain
    with pytest.raises(PezoError, match=r"\Athe core must have a register TENSOR_COUNT, but"):
        plain["TENSOR_COUNT"]
    tables = _map("control.tensors=64")
    assert tables["TENSOR_SETTINGS"].address(63) == 0x5FC
    with pytest.raises(PezoError, match=r"\Athe index of TENSOR_BEATS must be below 64, not 64\Z"):
        tables["TENSOR_BEATS"].address(64)
    fields = [field.name for field in _map("zo.schedule=fused")["SWEEP"].fields]
    assert fields == ["kind", "k", "capture", "capture_b"]


def test_json_holds_the_whole_map() -> None:
    registers = _map("control.tensors=3")
    assert RegisterMap.from_json(json.loads(json.dumps(registers.to_json()))) == registers


def test_the_description_in_a_folder_gives_the_same_registers(tmp_path: Path) -> None:
    from systemrdl.compiler import RDLCompiler

    config = _config("control.tensors=3", "zo.schedule=inline")
    model = engine_of(config)
    registers = register_map(config, model=model)
    given = parameters(config, model=model)
    written = texts("core", registers=registers, given=given)["core.rdl"]
    assert written != PATH.read_text(encoding="utf-8")
    file = tmp_path / "core.rdl"
    file.write_text(written, encoding="utf-8")
    compiler = RDLCompiler()
    compiler.compile_file(str(file))
    found = {
        node.inst_name: node.raw_address_offset for node in compiler.elaborate().top.registers()
    }
    expected = {r.name: r.offset for r in registers if not r.external}
    assert found == expected


def test_a_map_is_read_without_the_compiler() -> None:
    script = (
        "import sys, pezo_hw.registers, pezo_hw.cli.main; "
        "print([name for name in sys.modules if name.startswith(('systemrdl', 'peakrdl'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
