"""One HTML page about the registers of a core, without anything from elsewhere."""

from __future__ import annotations

from html import escape

from pezo_hw.registers.map import Access, Field, Register, RegisterMap

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; }
h2 { margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top; }
th { background: #f2f2f2; }
td.bits { text-align: center; overflow-wrap: anywhere; }
td.unused { background: #eee; }
code { font-size: .95em; }
ul { margin: .3rem 0 0; padding-left: 1.2rem; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1a1a1a; }
  th { background: #333; } th, td, h2 { border-color: #555; } td.unused { background: #2a2a2a; }
  a { color: #8ab4f8; }
}
"""


def page(name: str, *, registers: RegisterMap) -> str:
    """Return the page.

    Parameters
    ----------
    name : str
        The core.
    registers : RegisterMap
        Its registers.
    """
    title = f"Registers of {escape(name)}"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
        "<p>32-bit registers in a window of 4 KB, little endian. Unmapped addresses, writes to "
        "registers that are only read and reads of registers that are only written are answered "
        "SLVERR and change nothing.</p>",
        "<table>",
        "<tr><th>Offset</th><th>Register</th><th>After reset</th><th></th></tr>",
        *(_summary(register) for register in registers),
        "</table>",
    ]
    for register in registers:
        lines += _details(register)
    lines += ["</body>", "</html>", ""]
    return "\n".join(lines)


def _summary(register: Register) -> str:
    name = escape(register.name)
    return (
        f'<tr><td><code>{_offset(register)}</code></td><td><a href="#{name}">{name}</a></td>'
        f"<td><code>{_number(register.reset)}</code></td><td>{escape(register.title)}</td></tr>"
    )


def _details(register: Register) -> list[str]:
    name = escape(register.name)
    return [
        f'<h2 id="{name}">{name}: {escape(register.title)}</h2>',
        f"<p>Offset <code>{_offset(register)}</code>. {escape(register.description)}</p>",
        "<table>",
        f"<tr>{''.join(_layout(register))}</tr>",
        "</table>",
        "<table>",
        "<tr><th>Bits</th><th>Field</th><th>Access</th><th>After reset</th><th></th></tr>",
        *(_field(field) for field in reversed(register.fields)),
        "</table>",
    ]


def _layout(register: Register) -> list[str]:
    """Return the cells that show the fields side by side, bit 31 on the left."""
    cells = []
    above = 32
    for field in reversed(register.fields):
        end = field.low + field.bits
        if end < above:
            cells.append(f'<td class="bits unused" colspan="{above - end}"></td>')
        cells.append(f'<td class="bits" colspan="{field.bits}">{escape(field.name)}</td>')
        above = field.low
    if above:
        cells.append(f'<td class="bits unused" colspan="{above}"></td>')
    return cells


def _field(field: Field) -> str:
    high = field.low + field.bits - 1
    bits = str(high) if field.bits == 1 else f"{high}:{field.low}"
    access = field.access.value
    if field.access is Access.PULSE:
        access = "write 1 to act, reads 0"
    text = escape(field.description)
    if field.signed:
        text += " Two's complement."
    if field.values:
        items = "".join(
            f"<li>{value}: {escape(value_name)}</li>" for value_name, value in field.values.items()
        )
        text += f"<ul>{items}</ul>"
    return (
        f"<tr><td>{bits}</td><td><code>{escape(field.name)}</code></td><td>{access}</td>"
        f"<td><code>{_number(field.reset)}</code></td><td>{text}</td></tr>"
    )


def _offset(register: Register) -> str:
    if register.count == 1:
        return f"0x{register.offset:03X}"
    return f"0x{register.offset:03X} + {register.stride} i, i &lt; {register.count}"


def _number(value: int | None) -> str:
    return "" if value is None else f"0x{value:X}"
