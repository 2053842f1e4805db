"""What each register document says, read back without the code that wrote it, in one form."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from pezo_hw.registers import Access, RegisterMap

# Of a field: lowest bit, width, value after a reset, and whether it is read, written, cleared by 1.
Field = tuple[int, int, int | None, str | None]
# Of a register: offset, and fields by name. Elements of an array are registers of their own.
Said = dict[str, tuple[int, dict[str, Field]]]

_SHORT = {
    Access.READ: "r",
    Access.READ_WRITE: "rw",
    Access.WRITE: "w",
    Access.CLEAR: "w1c",
    # A pulse is written; that it acts once is in the descriptions only.
    Access.PULSE: "w",
}


def _elements(name: str, count: int) -> Iterable[str]:
    return [name] if count == 1 else [f"{name}[{i}]" for i in range(count)]


def of_map(registers: RegisterMap) -> Said:
    said: Said = {}
    for register in registers:
        fields: dict[str, Field] = {
            field.name: (field.low, field.bits, field.reset, _SHORT[field.access])
            for field in register.fields
        }
        for name, offset in zip(
            _elements(register.name, register.count), register.addresses(), strict=True
        ):
            said[name] = (offset, fields)
    return said


def without_access(said: Said) -> Said:
    """Return what a document says that does not say how fields are accessed."""
    return {
        name: (offset, {key: (*field[:3], None) for key, field in fields.items()})
        for name, (offset, fields) in said.items()
    }


def of_html(text: str) -> Said:
    said: Said = {}
    kinds = {access.value: short for access, short in _SHORT.items()}
    kinds["write 1 to act, reads 0"] = "w"
    for part in re.split(r'<h2 id="', text)[1:]:
        name = part.partition('"')[0]
        place = re.search(r"Offset <code>0x(\w+)(?: \+ (\d+) i, i &lt; (\d+))?</code>", part)
        assert place is not None
        fields: dict[str, Field] = {}
        row = (
            r"<tr><td>(\d+)(?::(\d+))?</td><td><code>(\w+)</code></td><td>([^<]*)</td>"
            r"<td><code>(?:0x(\w+))?</code></td>"
        )
        for high, low, field, access, reset in re.findall(row, part):
            least = int(low or high)
            value = int(reset, 16) if reset else None
            fields[field] = (least, int(high) - least + 1, value, kinds[html.unescape(access)])
        count = int(place[3] or 1)
        for i, element in enumerate(_elements(name, count)):
            said[element] = (int(place[1], 16) + i * int(place[2] or 0), fields)
    return said


def of_markdown(text: str) -> Said:
    """Read the sections; of an array, its table and the section of its first element."""
    kinds = {"r": "r", "rw": "rw", "w": "w", "rw, woclr": "w1c"}
    said: Said = {}
    arrays: dict[str, int] = {}
    for offset, name in re.findall(r"\|\s*0x(\w+)\|\s*(\w+\[\d+\])\s*\|", text):
        arrays[name] = int(offset, 16)
    inner: dict[str, tuple[int, dict[str, Field]]] = {}
    holder = ""
    for part in re.split(r"(?m)^(?=#{2,3} )", text):
        head = re.match(r"#{2,3} (\w+) (register file|register|address map)", part)
        if head is None:
            continue
        if head[2] == "register file":
            holder = head[1]
            continue
        offset = re.search(r"Base Offset: 0x(\w+)", part)
        if head[2] != "register" or offset is None:
            continue
        fields: dict[str, Field] = {}
        row = r"\|\s*(\d+)(?::\s*(\d+))?\s*\|\s*(\w+)\s*\|\s*([\w, ]+?)\s*\|\s*(0x\w+|—)\s*\|"
        for high, low, field, access, reset in re.findall(row, part):
            least = int(low or high)
            value = None if reset == "—" else int(reset, 16)
            fields[field] = (least, int(high) - least + 1, value, kinds[access])
        if holder:
            inner[head[1]] = (int(offset[1], 16), fields)
        else:
            said[head[1]] = (int(offset[1], 16), fields)
    for element, base in arrays.items():
        name, _, index = element.partition("[")
        for register, (more, fields) in inner.items():
            said[f"{name}_{register}[{index}"] = (base + more, fields)
    return said


def of_ip_xact(text: str) -> Said:
    space = {"x": "http://www.accellera.org/XMLSchema/IPXACT/1685-2014"}
    root = ElementTree.fromstring(text)
    said: Said = {}

    def number(node: ElementTree.Element, path: str) -> int | None:
        value = node.findtext(path, namespaces=space)
        if value is None:
            return None
        return int(value.replace("'h", "0x"), 0)

    def fields_of(register: ElementTree.Element) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for field in register.findall("x:field", space):
            name = field.findtext("x:name", "", space)
            kind = {"read-only": "r", "read-write": "rw", "write-only": "w"}[
                field.findtext("x:access", "", space)
            ]
            if field.findtext("x:modifiedWriteValue", "", space) == "oneToClear":
                kind = "w1c"
            low, bits = number(field, "x:bitOffset"), number(field, "x:bitWidth")
            assert low is not None and bits is not None
            found[name] = (low, bits, number(field, "x:resets/x:reset/x:value"), kind)
        return found

    block = root.find(".//x:addressBlock", space)
    assert block is not None
    for register in block.findall("x:register", space):
        offset = number(register, "x:addressOffset")
        assert offset is not None
        said[register.findtext("x:name", "", space)] = (offset, fields_of(register))
    for file in block.findall("x:registerFile", space):
        base, count = number(file, "x:addressOffset"), number(file, "x:dim")
        stride = number(file, "x:range")
        assert base is not None and count is not None and stride is not None
        for register in file.findall("x:register", space):
            more = number(register, "x:addressOffset")
            assert more is not None
            name = f"{file.findtext('x:name', '', space)}_{register.findtext('x:name', '', space)}"
            for i, element in enumerate(_elements(name, count)):
                said[element] = (base + more + i * stride, fields_of(register))
    return said


def of_c_header(path: Path, *, expected: Said, folder: Path) -> Said:
    """Compile a program that says what the header's struct and macros are.

    The names asked for are the expected ones; one that is not there fails to compile.
    """
    lines = []
    for name, (_, fields) in expected.items():
        member, macro = name, name.partition("[")[0]
        if macro.startswith("TENSOR_") and macro != "TENSOR_COUNT":
            array, _, part = macro.partition("_")
            member = f"{array}[{name.partition('[')[2]}.{part}"
            macro = f"{array}X__{part}"
        lines.append(f'  printf("{name} %zu\\n", offsetof(pezo_step_t, {member}));')
        for field, (_, _, reset, _) in fields.items():
            prefix = f"PEZO_STEP__{macro}__{field.upper()}"
            value = "-1LL" if reset is None else f"(long long){prefix}_reset"
            lines.append(
                f'  printf(". {field} %d %d %lld %u\\n", {prefix}_bp, {prefix}_bw, {value}, '
                f"(unsigned){prefix}_bm);"
            )
    program = "\n".join(
        [
            "#include <stdio.h>",
            "#include <stddef.h>",
            f'#include "{path.name}"',
            "int main(void) {",
            *lines,
            "  return 0;",
            "}\n",
        ]
    )
    (folder / "say.c").write_text(program, encoding="utf-8")
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(path.parent)]
    subprocess.run([*command, "say.c", "-o", "say"], cwd=folder, check=True)
    output = subprocess.run([folder / "say"], capture_output=True, text=True, check=True).stdout
    said: Said = {}
    found: dict[str, Field] = {}
    for line in output.splitlines():
        parts = line.split()
        if parts[0] != ".":
            found = {}
            said[parts[0]] = (int(parts[1]), found)
            continue
        low, bits, reset, mask = map(int, parts[2:])
        assert mask == ((1 << bits) - 1) << low, line
        found[parts[1]] = (low, bits, None if reset < 0 else reset, None)
    return said
