"""Verilator warnings that generated RTL gives and that are right as they are."""

from __future__ import annotations

# (warning, file, reason)
_WAIVERS: tuple[tuple[str, str, str], ...] = (
    ("DECLFILENAME", "{name}_core.sv", "One file holds all modules of the core."),
    (
        "PROCASSINIT",
        "{name}_core.sv",
        "Registers have a power-up value beside their synchronous reset.",
    ),
    (
        "UNUSEDSIGNAL",
        "{name}_core.sv",
        "Sums are one bit wider than what is kept of them; a submodule may not need its reset.",
    ),
    (
        "WIDTHEXPAND",
        "{name}_core.sv",
        "Operands are extended to the width of the result by their $signed.",
    ),
    ("WIDTHTRUNC", "{name}_core.sv", "The operator ! asks whether a whole vector is 0."),
    ("CASEOVERLAP", "{name}_core.sv", "A multiplexer with one-hot selects lists one bit a case."),
)


def text(name: str) -> str:
    """Return the waiver file of a core."""
    lines = ["`verilator_config"]
    for warning, file, reason in _WAIVERS:
        lines += [f"// {reason}", f'lint_off -rule {warning} -file "*/{file.format(name=name)}"']
    return "\n".join(lines) + "\n"
