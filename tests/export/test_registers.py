"""A generated folder with registers: the wrapper's attributes, and documents that stay the same."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from pezo_hw.config import Config, load
from pezo_hw.export import folder
from pezo_hw.export.rtl import build
from pezo_hw.export.wrapper import wrapper

STEP = ("source.generators=3", "source.bits=4", "reuse.lanes=3", "source.rotation=period")


def _config(*more: str) -> Config:
    return load("zcu102-step", [*STEP, "weights.frac=9", *more])


def test_a_block_design_finds_bus_and_interrupt() -> None:
    text = wrapper(build(_config("zo.schedule=fused")))
    buses = re.search(r"ASSOCIATED_BUSIF ([\w:]+), ASSOCIATED_RESET aresetn", text)
    assert buses is not None
    assert buses[1].split(":") == ["m_axis", "m_axis_minus", "m_axis_plus", "s_axi", "s_axis"]
    memory_mapped = re.findall(r'"xilinx\.com:interface:aximm:1\.0 s_axi (\w+)" \*\)', text)
    channels = {
        "AW": "ADDR VALID READY",
        "W": "DATA STRB VALID READY",
        "B": "RESP VALID READY",
        "AR": "ADDR VALID READY",
        "R": "DATA RESP VALID READY",
    }
    expected = [f"{channel}{name}" for channel, names in channels.items() for name in names.split()]
    assert memory_mapped == expected
    assert text.count('X_INTERFACE_PARAMETER = "PROTOCOL AXI4LITE"') == 1
    assert re.search(
        r'"xilinx\.com:signal:interrupt:1\.0 irq INTERRUPT" \*\)\n'
        r'  \(\* X_INTERFACE_PARAMETER = "SENSITIVITY LEVEL_HIGH" \*\)\n  output wire irq\n',
        text,
    )
    # No port of the commands is left.
    assert not re.search(r"\b(go|busy|beats)\b[,\n]", text)


def test_ports_take_the_place_of_the_bus() -> None:
    text = wrapper(build(_config("control.interface=ports")))
    assert "s_axi_" not in text and "irq" not in text and "  input  wire go,\n" in text


def test_documents_are_the_same_anywhere_and_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = _config("control.tensors=2")
    manifest = folder.generate(config, tmp_path / "one")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1e8)
    (tmp_path / "further" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "further")
    folder.generate(config, Path("in/two"))
    listed = manifest["files"]["registers"]
    suffixes = [Path(path).suffix for path in listed]
    assert sorted(suffixes) == [".h", ".html", ".md", ".rdl", ".xml"]
    for path in listed:
        text = (tmp_path / "one" / path).read_text(encoding="utf-8")
        assert text == (Path("in/two") / path).read_text(encoding="utf-8")
        assert str(tmp_path) not in text and not re.search(r"/(home|tmp|usr|work)/", text)
        assert not re.search(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b", text)
        assert 1000 < len(text) < 200_000


def test_a_core_without_registers_has_no_documents(tmp_path: Path) -> None:
    manifest = folder.generate(_config("control.interface=ports"), tmp_path / "core")
    assert "registers" not in manifest["files"] and "registers" not in manifest
    assert not (tmp_path / "core" / "registers").exists()


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    folder.generate(_config(), tmp_path / "core")
    text = (tmp_path / "core" / "registers" / "zcu102_step.html").read_text(encoding="utf-8")
    assert not re.search(r"(?i)\b(src|link|script|import|url)\b *[=(> ]", text)
    targets = set(re.findall(r'href="#(\w+)"', text))
    assert targets and targets == set(re.findall(r'id="(\w+)"', text))
    assert set(re.findall(r'href="([^#])', text)) == set()
