"""What the vendor's tools need beside the RTL: clock constraint, out-of-context script."""

from __future__ import annotations

from pezo_hw.synth.boards import Board


def files(name: str, *, board: Board, rtl: list[str]) -> dict[str, str]:
    """Return the vendor files for a board, by path in the folder.

    Parameters
    ----------
    name : str
        The core.
    board : Board
        Whose part and clock are used.
    rtl : list of str
        Paths of the RTL in the folder, in order.
    """
    if board.vendor == "vivado":
        return {
            f"vivado/{name}.xdc": _xdc(board),
            "vivado/out_of_context.tcl": _tcl(name, board=board, rtl=rtl),
        }
    mega = board.clock_hz / 1e6
    if board.vendor == "trellis":
        return {f"nextpnr/{name}.lpf": f'FREQUENCY PORT "aclk" {mega:g} MHZ;\n'}
    return {f"nextpnr/{name}_clock.py": f'ctx.addClock("aclk", {mega:g})\n'}


def _xdc(board: Board) -> str:
    period = 1e9 / board.clock_hz
    return (
        f"# {board.name}: {board.clock_hz / 1e6:g} MHz. For out-of-context runs;\n"
        "# in a design the clock is constrained where it is made.\n"
        f"create_clock -name aclk -period {period:.3f} [get_ports aclk]\n"
    )


def _tcl(name: str, *, board: Board, rtl: list[str]) -> str:
    sources = "\n".join(
        f"read_verilog {'-sv ' if path.endswith('.sv') else ''}[file join $root {path}]"
        for path in rtl
    )
    return f"""# Synthesise, place and route {name} alone for {board.part}.
# Run from any directory: vivado -mode batch -source out_of_context.tcl
set root [file dirname [file dirname [file normalize [info script]]]]
{sources}
read_xdc -mode out_of_context [file join $root vivado {name}.xdc]
synth_design -top {name} -part {board.part} -mode out_of_context
opt_design
place_design
phys_opt_design
route_design
report_utilization -hierarchical -file {name}_utilization.txt
report_timing_summary -file {name}_timing.txt
write_checkpoint -force {name}.dcp
"""
