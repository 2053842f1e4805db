"""The board descriptions themselves, against the vendor's pins written down a second time."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.build.res import ResourceError
from amaranth.lib.io import SingleEndedPort

from pezo_hw import resources
from pezo_hw.synth.boards import resolve

# Signal names of the vendor's constraint files: pins, I/O standard and frequency in MHz.
CLOCKS: dict[str, dict[str, tuple[str, str, str, float]]] = {
    "zcu102": {
        "clk125": ("G21", "F21", "LVDS_25", 125),
        "clk74_25": ("AK15", "AK14", "LVDS_25", 74.25),
        "clk300": ("AL8", "AL7", "DIFF_SSTL12", 300),
    },
    "zcu104": {
        "clk125": ("F23", "E23", "LVDS", 125),
        "clk300": ("AH18", "AH17", "DIFF_SSTL12", 300),
    },
}
LEDS = {
    "zcu102": ["AG14", "AF13", "AE13", "AJ14", "AJ15", "AH13", "AH14", "AL12"],
    "zcu104": ["D5", "D6", "A5", "B5"],
}


def platform(name: str) -> Any:
    return resolve(name).platform()


def ports(board: Any, resource: str, number: int) -> list[tuple[str, str]]:
    """Pins and I/O standards of a resource, positive side first."""
    port = board.request(resource, number, dir="-")
    sides = [port.io] if isinstance(port, SingleEndedPort) else [port.p, port.n]
    return [(bit.name, bit.attrs["IOSTANDARD"]) for side in sides for bit in side.metadata]


def test_these_are_all_boards() -> None:
    assert resources.board_names() == sorted(LEDS)


@pytest.mark.parametrize("name", LEDS)
def test_leds(name: str) -> None:
    board = platform(name)
    found = [ports(board, "led", number) for number in range(len(LEDS[name]))]
    assert found == [[(pin, "LVCMOS33")] for pin in LEDS[name]]
    with pytest.raises(ResourceError):
        ports(board, "led", len(LEDS[name]))


@pytest.mark.parametrize(("name", "clock"), [(n, c) for n, found in CLOCKS.items() for c in found])
def test_clocks(name: str, clock: str) -> None:
    board = platform(name)
    positive, negative, standard, megahertz = CLOCKS[name][clock]
    assert ports(board, clock, 0) == [(positive, standard), (negative, standard)]
    assert board.lookup(clock, 0).clock.frequency == megahertz * 1e6


@pytest.mark.parametrize("name", LEDS)
def test_default_clock_is_described(name: str) -> None:
    board = platform(name)
    assert board.default_clk == "clk125" and board.default_clk_frequency == 125e6


@pytest.mark.parametrize("name", LEDS)
def test_no_pin_twice(name: str) -> None:
    board = platform(name)
    used = [pin for kind, number in board.resources for pin, _ in ports(board, kind, number)]
    assert len(used) == len(set(used)) == 2 * len(CLOCKS[name]) + len(LEDS[name])
