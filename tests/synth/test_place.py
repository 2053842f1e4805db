"""Place and route for ECP5: the harness, the figures, the critical path, what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pezo_hw.errors import PezoError
from pezo_hw.synth import cache, yosys
from pezo_hw.synth import place as placing
from pezo_hw.synth.critical import HARNESS, describe, words
from pezo_hw.synth.netlist import Cell, Netlist
from pezo_hw.synth.place import check_fits, harness, place

# A wrapper and a core, as exported, with one register in two blocks: behind nothing, or behind a
# product that no ECP5 computes from LUTs as fast.
DESIGN = """
module near (input clk, input [5:0] x, output reg [5:0] y);
  always @(posedge clk) y <= {x[0], x[5:1]};
endmodule
module far (input clk, input [5:0] x, output reg y);
  reg [5:0] held;
  reg [11:0] product;
  always @(posedge clk) begin
    held <= x;
    y <= ^(held * held * held + product);
    product <= product + {6'd0, x};
  end
endmodule
module duo_core (input clk, input rst, input [5:0] x, output [5:0] y, output z);
  near shallow (.clk(clk), .x(x ^ {6{rst}}), .y(y));
  @far@
endmodule
module duo (input aclk, input aresetn, input [5:0] x, output [11:0] y, output z);
  wire [5:0] once;
  duo_core core (.clk(aclk), .rst(~aresetn), .x(x), .y(once), .z(z));
  // A reused word: the same bits twice.
  assign y = {once[2:0], once[5:3], once};
endmodule
"""

PORTS = [
    {"name": "aclk", "direction": "input", "width": 1},
    {"name": "aresetn", "direction": "input", "width": 1},
    {"name": "x", "direction": "input", "width": 6},
    {"name": "y", "direction": "output", "width": 12},
    {"name": "z", "direction": "output", "width": 1},
]


def _write(folder: Path, *, deep: bool) -> list[Path]:
    far = "far deep (.clk(clk), .x(x), .y(z));" if deep else "assign z = y[0] & y[1];"
    path = folder / "duo.v"
    path.write_text(DESIGN.replace("@far@", far))
    return [path]


def _place(folder: Path, *, deep: bool = True, **options: Any) -> dict[str, Any]:
    return place(_write(folder, deep=deep), top="duo", ports=PORTS, seeds=(1, 2), **options)


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("Yosys was started")

    monkeypatch.setattr(yosys, "run_script", fail)


def test_harness_registers_every_port_but_the_clock() -> None:
    text = harness("duo", PORTS)
    assert "module duo_placed (" in text
    assert "input aclk, input [6:0] i," in text and "output reg [12:0] o" in text
    assert (
        "duo core (.aclk(aclk), .aresetn(held[0:0]), .x(held[6:1]), .y(made[11:0]), "
        ".z(made[12:12]));" in text
    )
    assert "held <= i;" in text and "o <= made;" in text


def test_figures_of_a_deep_and_a_shallow_design(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    said: list[str] = []
    deep = _place(tmp_path, progress=said.append)
    assert said[0] == "synthesising for LFE5U-85F-6 with Yosys"
    assert said[2:] == [f"seed {i}: {deep['fmax_all'][i - 1]:.1f} MHz" for i in (1, 2)]
    assert (deep["family"], deep["device"], deep["seeds"]) == ("ecp5", "LFE5U-85F-6", [1, 2])
    assert deep["tool"].startswith("nextpnr-ecp5 0.11.1")
    low, high = sorted(deep["fmax_all"])
    assert (deep["fmax_min_mhz"], deep["fmax_max_mhz"]) == (low, high)
    assert deep["fmax_mhz"] == pytest.approx((low + high) / 2, abs=0.01)
    # 7 inputs; of 13 outputs 7 differ, and each of those has one register.
    assert deep["harness_ff"] == 7 + 7
    assert deep["resources"]["ff"] == 14 + 6 + 6 + 1 + 12

    path = deep["critical_path"]
    assert {path[0]["block"], path[-1]["block"]} == {"deep"}
    assert path[0]["cell"] == path[-1]["cell"] == "register"
    assert path[-1]["signal"] in {"y[0]", "z[0]"}
    total = sum(step["logic_ns"] + step["routing_ns"] for step in path)
    # The slower of the two runs; nextpnr rounds to thousandths.
    assert total == pytest.approx(1000 / low, abs=0.02)
    assert " in deep " in deep["critical_path_words"]
    assert float(deep["critical_path_words"].split()[0]) == pytest.approx(total, abs=0.02)

    # The same again comes from the cache, word for word.
    request.getfixturevalue("no_tools")
    assert _place(tmp_path) == deep


def test_less_logic_is_faster_and_other_contents_are_not_the_cached_ones(tmp_path: Path) -> None:
    shallow = _place(tmp_path, deep=False)
    assert min(shallow["fmax_all"]) > 300
    assert shallow["resources"]["ff"] == 14 + 6
    blocks = {step["block"] for step in shallow["critical_path"]}
    assert blocks <= {HARNESS, "shallow", "other"}


def test_yosys_and_nextpnr_say_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.v"
    bad.write_text("module duo (input aclk); nonsense")
    with pytest.raises(PezoError, match=r"^Yosys failed: .*ERROR: syntax error"):
        place([bad], top="duo", ports=PORTS)
    with pytest.raises(PezoError, match=r"no\.v cannot be read to be placed: No such file"):
        place([tmp_path / "no.v"], top="duo", ports=PORTS)
    monkeypatch.setattr(placing, "_OPTIONS", ("--85k", "--speed", "5"))
    with pytest.raises(PezoError, match=r"^nextpnr failed: .*[Ss]peed"):
        _place(tmp_path, deep=False)


@pytest.mark.usefixtures("no_tools")
def test_an_old_entry_of_the_cache_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "load", lambda _: {"fmax_mhz": 7.0})
    with pytest.raises(AssertionError, match="Yosys was started"):
        _place(tmp_path)


def test_size() -> None:
    most = dict(placing.CAPACITY)
    check_fits(most, name="duo")
    with pytest.raises(
        PezoError,
        match=r"^duo must fit LFE5U-85F-6 \(83,640 lut, .*\) to be placed, but takes 83,641 lut; "
        r"measure it with fewer lanes, such as --set reuse\.lanes=32$",
    ):
        check_fits(most | {"lut": most["lut"] + 1}, name="duo")


# A report by hand: FF -> half of a carry cell -> a cell that nextpnr made up -> FF of a wrapper.
NETLIST = Netlist(
    top="duo_placed",
    cells=(
        Cell("a", "TRELLIS_FF", {"DI": (2,)}, {"Q": (3,)}, {}),
        Cell("add", "CCU2C", {"A0": (3,)}, {"S0": (4,)}, {}),
        Cell("b", "TRELLIS_FF", {"DI": (4,)}, {"Q": (5,)}, {}),
        Cell("c", "TRELLIS_FF", {"DI": (4,)}, {"Q": (6,)}, {}),
    ),
    inputs={},
    outputs={},
    names={
        3: (((), "core.made.up", 0), (("core", "core", "deep$7"), "state$3", 2)),
        5: (((), "held", 4),),
        6: ((("core", "core", "deep$7"), "_012_", 0),),
    },
)
OWNERS = {"a": ("core", "core", "deep$7"), "add": ("core", "core"), "b": (), "c": ("core",)}


def _step(kind: str, cell: str, delay: float) -> dict[str, Any]:
    return {"type": kind, "delay": delay, "from": {"cell": cell}, "to": {"cell": cell}}


def _report(end: str) -> dict[str, Any]:
    path = [
        _step("clk-to-q", "a", 0.5),
        _step("routing", "a", 1.0),
        _step("logic", "add$CCU2_COMB1", 0.25),
        _step("routing", "add", 0.125),
        _step("logic", "$nextpnr$1", 0.25),
        _step("routing", "", 2.0),
        _step("setup", end, 0.0),
    ]
    clock = {"from": "posedge aclk", "to": "posedge aclk", "path": path}
    other = {"from": "<async>", "to": "posedge aclk", "path": []}
    return {"critical_paths": [other, clock]}


def test_critical_path_in_words() -> None:
    path = describe(_report("b"), NETLIST, owners=OWNERS)
    assert [(s["block"], s["cell"], s["signal"]) for s in path] == [
        ("deep", "register", "state[2]"),
        ("other", "carry cell", None),
        ("other", "cell", None),
        (HARNESS, "register", "held[4]"),
    ]
    assert [s["routing_ns"] for s in path] == [0, 1, 0.125, 2]
    assert [s["logic_ns"] for s in path] == [0.5, 0.25, 0.25, 0]
    assert words(path) == (
        "4.12 ns from register state[2] in deep through 1 carry cell and 1 cell to register "
        "held[4] of the harness: 1.00 ns of logic and 3.12 ns of routing"
    )
    # A register without a name of its own.
    end = describe(_report("c"), NETLIST, owners=OWNERS)[-1]
    assert (end["block"], end["signal"]) == ("other", None)
    assert words([*path[:-1], end]).count("to a register in other:") == 1


def test_two_clocks_have_no_critical_path() -> None:
    report = _report("b")
    report["critical_paths"].append({"from": "posedge b", "to": "posedge b", "path": []})
    with pytest.raises(
        PezoError, match="^nextpnr must report one critical path of the clock, not 2"
    ):
        describe(report, NETLIST, owners=OWNERS)
