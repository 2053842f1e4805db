"""A small design with something of everything, synthesised once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pezo_hw.synth import cache
from pezo_hw.synth.boards import Board, resolve
from pezo_hw.synth.yosys import Synthesis, synthesise

# Every block has a depth and a size that can be told by hand.
ZOO = """
// Registers behind XORs of BITS bits that nobody else reads: one LUT6 for 6, two levels for 12.
module parity #(parameter BITS = 6) (input clk, input [23:0] x, output reg [24/BITS-1:0] y);
  integer i;
  reg [23:0] held;
  always @(posedge clk) begin
    held <= x;
    for (i = 0; i < 24 / BITS; i = i + 1) y[i] <= ^held[BITS*i +: BITS];
  end
endmodule

module counter (input clk, output reg [15:0] n = 0);
  always @(posedge clk) n <= n + 16'd3;
endmodule

// Read without a clock: LUT RAM.
module scratch (input clk, input we, input [4:0] wa, input [4:0] ra, input [7:0] d,
                output reg [7:0] q);
  (* ram_style = "distributed" *) reg [7:0] memory [0:31];
  reg [4:0] address;
  always @(posedge clk) begin
    if (we) memory[wa] <= d;
    address <= ra;
    q <= memory[address];
  end
endmodule

module delay (input clk, input d, output reg q);
  reg [13:0] line;
  always @(posedge clk) {q, line} <= {line, d};
endmodule

module pool (input clk, input [9:0] a, output reg [35:0] q);
  (* ram_style = "block" *) reg [35:0] memory [0:1023];
  integer i;
  initial for (i = 0; i < 1024; i = i + 1) memory[i] = i * 77;
  always @(posedge clk) q <= memory[a];
endmodule

module product (input clk, input signed [15:0] a, b, output reg signed [31:0] p);
  always @(posedge clk) p <= a * b;
endmodule

module inner (input clk, input [47:0] x, output [3:0] y6, output [1:0] y12);
  parity shallow (.clk(clk), .x(x[23:0]), .y(y6));
  // Amaranth appends such a number to an instance that is called like a signal.
  parity #(.BITS(12)) deep$12 (.clk(clk), .x(x[47:24]), .y(y12));
endmodule

module zoo_core (input clk, input [141:0] x, output [3:0] y6, output [1:0] y12, output [15:0] n,
                 output [31:0] p0, p1, output [35:0] word, output [7:0] q, output late);
  inner nest (.clk(clk), .x(x[47:0]), .y6(y6), .y12(y12));
  counter count (.clk(clk), .n(n));
  product lane_0 (.clk(clk), .a(x[63:48]), .b(x[79:64]), .p(p0));
  product lane_1 (.clk(clk), .a(x[95:80]), .b(x[111:96]), .p(p1));
  pool words (.clk(clk), .a(x[121:112]), .q(word));
  scratch lutram (.clk(clk), .we(x[122]), .wa(x[127:123]), .ra(x[132:128]), .d(x[140:133]), .q(q));
  delay late_by (.clk(clk), .d(x[141]), .q(late));
endmodule
"""

# The second file is plain Verilog, as the exported wrapper is; "do" is a keyword of SystemVerilog.
WRAPPER = """
module zoo (input aclk, input [141:0] do, output [3:0] y6, output [1:0] y12, output [15:0] n,
            output [31:0] p0, p1, output [35:0] word, output [7:0] q, output late);
  zoo_core core (.clk(aclk), .x(do), .y6(y6), .y12(y12), .n(n), .p0(p0), .p1(p1), .word(word),
                 .q(q), .late(late));
endmodule
"""


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the test run's own, which its workers share."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with pytest.MonkeyPatch.context() as patch:
        # Not XDG_CACHE_HOME: YoWASP keeps its compiled Yosys there, which takes minutes to make.
        patch.setattr(cache, "directory", lambda: base / "synth-cache")
        patch.delenv("PEZO_CACHE", raising=False)
        yield base / "synth-cache"


@pytest.fixture(scope="session")
def zcu102() -> Board:
    return resolve("zcu102")


@pytest.fixture(scope="session")
def zoo_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("zoo")
    (folder / "zoo_core.sv").write_text(ZOO)
    (folder / "zoo.v").write_text(WRAPPER)
    return [folder / "zoo_core.sv", folder / "zoo.v"]


def one_at_a_time(files: list[Path], board: Board, folder: Path) -> Synthesis:
    """Let the first worker synthesise, and the others wait and find it in the cache."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return synthesise(files, top="zoo", board=board)


@pytest.fixture(scope="session")
def zoo(zoo_files: list[Path], zcu102: Board, cache_folder: Path) -> Synthesis:
    """The design for UltraScale+."""
    return one_at_a_time(zoo_files, zcu102, cache_folder)


@pytest.fixture(scope="session")
def zoo_ecp5(zoo_files: list[Path], cache_folder: Path) -> Synthesis:
    """The design for ECP5."""
    return one_at_a_time(zoo_files, resolve("ulx3s_85f"), cache_folder)
