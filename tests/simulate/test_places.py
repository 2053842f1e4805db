"""Places of mutants are told by names of the RTL, and those that change nothing are left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pezo_hw.simulate import mutation
from pezo_hw.simulate.places import Places
from pezo_hw.synth.yosys import run_script

SOURCE = """
module part(input clk, input [3:0] count, output reg [3:0] kept);
  wire [3:0] _00_ = count + 1;
  always @(posedge clk) kept <= _00_ & {count[1:0], 2'd2};
endmodule
module top(input clk, input [3:0] count, output [1:0] low, output any, output five);
  wire [3:0] all;
  part inner(.clk(clk), .count(count), .kept(all));
  assign low = all[1:0];
  assign any = |count;
  assign five = count == 5;
endmodule
"""


@pytest.fixture(scope="module")
def netlist(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("places")
    (folder / "top.sv").write_text(SOURCE)
    script = ["read_verilog -sv top.sv", "hierarchy -top top", "proc", "flatten", "opt_clean"]
    run_script("\n".join([*script, "write_json flat.json"]), folder=folder)
    modules = json.loads((folder / "flat.json").read_text())["modules"]
    return dict(modules["top"])


def cell(netlist: dict[str, Any], kind: str) -> str:
    (name,) = (name for name, cell in netlist["cells"].items() if cell["type"] == kind)
    return str(name)


def test_logic_is_told_by_what_it_does(netlist: dict[str, Any]) -> None:
    places = Places(netlist)
    text = "inner: and(add(inner.count, 1), {inner.count[1:0], 2})"
    assert places.of(cell(netlist, "$and"), "Y", 2) == f"{text}[2]"
    assert places.of(cell(netlist, "$and"), "B", 3) == f"B[3] of {text}"
    register = cell(netlist, "$dff")
    assert places.of(register, "Q", 1) == "inner.kept[1]"
    assert places.of(register, "D", 1) == "D[1] of inner.kept"


@pytest.mark.parametrize(
    ("kind", "port", "bit", "mode", "changes"),
    [
        ("$and", "A", 1, "inv", True),
        # Only bits 0 and 1 leave the module: what is done to others bit by bit changes nothing.
        ("$dff", "D", 2, "inv", False),
        ("$dff", "D", 1, "inv", True),
        ("$and", "Y", 1, "inv", True),
        # A sum is not done bit by bit, as far as is looked at.
        ("$add", "A", 3, "inv", True),
        ("$and", "B", 1, "const1", False),
        ("$and", "B", 1, "const0", True),
        ("$dff", "CLK", 0, "inv", False),
        # Where the bit inverts another, the OR is 1 anyway.
        ("$reduce_or", "A", 1, "cnot1", False),
        ("$reduce_or", "A", 1, "cnot0", True),
        # A constant that never inverts it.
        ("$and", "B", 2, "cnot1", False),
        ("$and", "B", 2, "cnot0", True),
        # A comparison with 5, of which bit 0 is 1: where it is not, nothing is equal.
        ("$eq", "A", 1, "cnot0", False),
        ("$eq", "A", 1, "cnot1", True),
    ],
)
def test_what_changes_nothing_is_left_out(
    netlist: dict[str, Any], kind: str, port: str, bit: int, mode: str, changes: bool
) -> None:
    place = f"-cell {cell(netlist, kind)} -port {port} -portbit {bit} -ctrlbit 0"
    command = f"mutate -mode {mode} {place}"
    assert mutation._changes(command, netlist) == changes
