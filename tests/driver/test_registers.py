"""Python map, C header and simulated RTL agree on every register of the description."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pezo_hw.config import Config
from pezo_hw.driver.registers import RegisterBackend
from pezo_hw.driver.rtl import RtlBus
from pezo_hw.errors import PezoError
from pezo_hw.registers import Access, Hardware, Register, RegisterMap
from tests.driver.cores import small

CONFIGS = {
    "in-place": small(),
    "fused": small("fused", tensors=4),
    "zoqo": small("inline-both", update="zoqo", bits=8),
}


@pytest.fixture(params=CONFIGS)
def config(request: pytest.FixtureRequest) -> Config:
    """Each of the cores that other tests compile too."""
    return CONFIGS[request.param]


def _kept(register: Register) -> int:
    """Return the bits that a write changes and a read shows."""
    return register.mask(Access.READ_WRITE)


def test_every_register_on_the_rtl(config: Config, rtl_of: Callable[..., RegisterBackend]) -> None:
    rtl = rtl_of(config)
    bus = rtl.bus
    assert isinstance(bus, RtlBus)
    for register in rtl.registers:
        for address in register.addresses():
            if not register.readable:
                with pytest.raises(PezoError, match="must be answered OKAY, not with 2"):
                    bus.read(address)
            elif register.reset is not None:
                assert bus.read(address) == register.reset, register.name
            if not register.writable:
                before = bus.read(address)
                with pytest.raises(PezoError, match="must be answered OKAY, not with 2"):
                    bus.write(address, 0xFFFFFFFF)
                if register.fields[0].hardware is Hardware.CONSTANT:
                    assert bus.read(address) == before
    # What is kept, bit by bit; CONTROL starts things, and is exercised by all other tests.
    for register in rtl.registers:
        if register.name == "CONTROL" or not _kept(register):
            continue
        address = register.address()
        for bit in range(32):
            bus.write(address, 1 << bit)
            assert bus.read(address) == (1 << bit) & _kept(register), (register.name, bit)
        bus.write(address, 0xFFFFFFFF)
        for byte in range(4):
            bus.write(address, 0, strobe=1 << byte)
            gone = (1 << 8 * (byte + 1)) - 1
            assert bus.read(address) == _kept(register) & ~gone, (register.name, byte)
        bus.write(address, 0xFFFFFFFF, strobe=0)
        assert bus.read(address) == 0
    mapped = {address for register in rtl.registers for address in register.addresses()}
    for address in set(range(0, 0x480, 4)) - mapped:
        with pytest.raises(PezoError, match="must be answered OKAY, not with 2"):
            bus.read(address)


def _numbers(registers: RegisterMap) -> dict[str, int]:
    """Return every number that header and map share, by its expression in C."""
    numbers = {}
    for register in registers:
        array, _, part = register.name.rpartition("_")
        is_array = register.count > 1
        name = f"{array}[{register.count - 1}].{part}" if is_array else register.name
        numbers[f"offsetof(pezo_step_t, {name})"] = list(register.addresses())[-1]
        prefix = f"PEZO_STEP__{array}X__{part}" if is_array else f"PEZO_STEP__{register.name}"
        for field in register.fields:
            numbers[f"{prefix}__{field.name.upper()}_bm"] = field.mask
            numbers[f"{prefix}__{field.name.upper()}_bp"] = field.low
            if field.reset is not None and field.readable:
                numbers[f"{prefix}__{field.name.upper()}_reset"] = field.reset
    return numbers


def test_the_c_header_has_the_numbers_of_the_map(
    config: Config,
    folder_of: Callable[[Config], Path],
    manifest_of: Callable[[Config], dict[str, Any]],
    tmp_path: Path,
) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    registers = RegisterMap.from_json(manifest_of(config)["registers"])
    expected = _numbers(registers)
    prints = "\n".join(
        f'    printf("%lu\\n", (unsigned long)({expression}));' for expression in expected
    )
    source = tmp_path / "print.c"
    source.write_text(
        '#include <stddef.h>\n#include <stdio.h>\n#include "driven.h"\n'
        f"int main(void)\n{{\n{prints}\n    return 0;\n}}\n"
    )
    program = tmp_path / "print"
    include = f"-I{folder_of(config) / 'registers'}"
    command = [compiler, "-std=c11", include, str(source), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert dict(zip(expected, map(int, printed.split()), strict=True)) == expected
