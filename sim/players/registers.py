"""The registers of a device by name, and what is done to each whatever it is for."""

from __future__ import annotations

from kit import OKAY, SLVERR, AxiLite, Bench

from pezo_hw.registers import Access, Field, Register, RegisterMap

WORD = 0xFFFFFFFF
WINDOW = 0x1000
# Reads of STATUS; each takes some clocks, and no walk takes more than 2^16.
_PATIENCE = 1 << 15


def spread(strobe: int) -> int:
    """Return the bits of the bytes with a strobe."""
    return sum(0xFF << (8 * byte) for byte in range(4) if strobe >> byte & 1)


class RegisterBus:
    """The registers that the manifest describes, behind the bus of the device.

    Parameters
    ----------
    bench : Bench
        Whose device it is.

    Attributes
    ----------
    axi : AxiLite
        The bus.
    map : RegisterMap
        The registers.
    """

    def __init__(self, bench: Bench):
        self.axi: AxiLite = bench.add(AxiLite(bench))
        self.map = RegisterMap.from_json(bench.manifest["registers"])

    async def read(self, name: str, index: int = 0) -> int:
        """Read a register that must answer, with 0 where it has no field to read."""
        register = self.map[name]
        data, response = await self.axi.read(register.address(index))
        assert response == OKAY, f"a read of {name} is answered {response}"
        fields = sum(field.mask for field in register.fields if field.readable)
        assert not data & ~fields, f"{name} is {data:#x}, with ones outside its fields"
        return data

    async def get(self, name: str, field: str) -> int:
        """Read a field."""
        return self.map[name].field(field).get(await self.read(name))

    async def write(self, name: str, *, index: int = 0, strobe: int = 0xF, **fields: int) -> None:
        """Write a register that must answer: the given fields, the others 0."""
        register = self.map[name]
        response = await self.axi.write(
            register.address(index), register.pack(**fields), strobe=strobe
        )
        assert response == OKAY, f"a write to {name} is answered {response}"

    async def expect(self, name: str, **fields: int) -> None:
        """Check fields of a register; those that are not named must be 0."""
        found = self.map[name].unpack(await self.read(name))
        expected = dict.fromkeys(found, 0) | fields
        assert found == expected, f"{name} is {found}, not {expected}"

    async def expect_error(self, **causes: int) -> None:
        """Check the error causes, clear them and see them cleared."""
        await self.expect("ERROR", **causes)
        status = await self.get("IRQ_STATUS", "error")
        assert status == int(any(causes.values())), f"IRQ_STATUS.error is {status}"
        await self.write("ERROR", **causes)
        await self.expect("ERROR")
        await self.write("IRQ_STATUS", error=1)

    async def wait_idle(self) -> None:
        """Wait until the device is not busy."""
        for _ in range(_PATIENCE):
            if not await self.get("STATUS", "busy"):
                return
        raise AssertionError(f"hang: still busy after {_PATIENCE} reads of STATUS")


class Checks:
    """What is done to each register, whatever it is for."""

    def __init__(self, bus: RegisterBus, *, bench: Bench):
        self._registers, self._bus, self._rng = bus, bus.axi, bench.rng
        self.checked: dict[str, int] = {**dict.fromkeys(Access, 0), "unmapped": 0}

    async def all(self) -> None:
        """Check all registers, then all other addresses."""
        for register in self._registers.map:
            await self._register(register)
        await self._others()

    async def snapshot(self) -> dict[str, int]:
        """Return the value of every register that can be read."""
        return {
            r.name: await self._registers.read(r.name) for r in self._registers.map if r.readable
        }

    async def _register(self, register: Register) -> None:
        indices = {0, register.count - 1, self._rng.randrange(register.count)}
        for index in sorted(indices):
            address = register.address(index)
            if register.readable:
                value, response = await self._bus.read(address | self._rng.randrange(4))
                assert response == OKAY, f"{register.name}: read answered {response}"
                # In idle, what the core decides is 0 after a reset.
                expected = register.reset or 0
                assert value == expected, f"{register.name} is {value:#x} after reset"
            else:
                assert (await self._bus.read(address))[1] == SLVERR, f"{register.name} is readable"
            if register.external:
                await self._external(register, address)
            elif register.writable:
                await self._written(register, address)
            else:
                await self._read_only(register, address)
        for field in register.fields:
            self.checked[field.access] += 1

    async def _read_only(self, register: Register, address: int) -> None:
        before = await self._registers.read(register.name)
        for strobe in (0xF, 0x1, 0x8, 0x0):
            response = await self._bus.write(address, ~before & WORD, strobe=strobe)
            assert response == SLVERR, f"{register.name}: write answered {response}"
        assert await self._registers.read(register.name) == before, f"{register.name} was written"

    async def _external(self, register: Register, address: int) -> None:
        for strobe in range(16):
            response = await self._bus.write(address, self._rng.getrandbits(32), strobe=strobe)
            expected = OKAY if strobe in (0, 0xF) else SLVERR
            assert response == expected, f"{register.name}: strobe {strobe} answered {response}"

    async def _written(self, register: Register, address: int) -> None:
        """Write with every strobe; bits that do something are written 0."""
        kept = register.mask(Access.READ_WRITE) & ~self._busy_bits(register)
        value = await self._registers.read(register.name)
        for strobe in range(16):
            data = self._rng.getrandbits(32) & ~(
                register.mask(Access.PULSE, Access.CLEAR) | self._busy_bits(register)
            )
            response = await self._bus.write(address, data, strobe=strobe)
            assert response == OKAY, f"{register.name}: write answered {response}"
            bits = spread(strobe) & kept
            value = (value & ~bits) | (data & bits)
            found = await self._registers.read(register.name)
            assert found == value, f"{register.name} is {found:#x}, not {value:#x}"
        for field in register.fields:
            if field.access is Access.PULSE:
                await self._silent_pulse(register, field, address)
        await self._bus.write(address, register.reset or 0)

    @staticmethod
    def _busy_bits(register: Register) -> int:
        """Return the bits that make the core busy while they are set."""
        return sum(field.mask for field in register.fields if field.clearable)

    async def _silent_pulse(self, register: Register, field: Field, address: int) -> None:
        """Write a 1 to a pulse without a strobe for its byte: nothing happens."""
        byte = field.low // 8
        for strobe in range(16):
            if not strobe >> byte & 1:
                assert await self._bus.write(address, field.mask, strobe=strobe) == OKAY
        await self._registers.expect("STATUS")
        await self._registers.expect("ERROR")

    async def _others(self) -> None:
        # All ones, which must be seen nowhere else.
        for register in self._registers.map:
            ones = register.mask(Access.READ_WRITE) & ~self._busy_bits(register)
            await self._fill(register, ones)
        mapped = {address for register in self._registers.map for address in register.addresses()}
        before = await self.snapshot()
        plain = max(r.offset for r in self._registers.map if not r.external)
        least = 1 << plain.bit_length()
        for address in range(0, WINDOW, 4):
            if address not in mapped:
                value, response = await self._bus.read(address)
                assert response == SLVERR, f"{address:#x} is readable"
                # Further up, bits of the address that no register needs are left out.
                assert not value or address >= least, f"{address:#x} gives {value:#x}"
                # What starts something needs ones, what is all ones shows zeros.
                both = (WORD, 0) if address < 2 * least else (self._rng.choice((WORD, 0)),)
                for data in both:
                    response = await self._bus.write(address, data)
                    assert response == SLVERR, f"{address:#x} is writable"
                self.checked["unmapped"] += 1
        assert await self.snapshot() == before, "a write to an unmapped address acted"
        for register in self._registers.map:
            await self._fill(register, register.reset or 0)

    async def _fill(self, register: Register, value: int) -> None:
        if register.writable and register.readable:
            assert await self._bus.write(register.address(), value) == OKAY
