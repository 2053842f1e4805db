"""AXI4-Lite: the slave's side of the bus, down to single reads and writes of registers."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

WORD_BITS = 32
# Bits of a byte address: 4 KB, the least that a processor's memory map hands out.
ADDRESS_BITS = 12

OKAY, SLVERR = 0, 2


def axi_lite_signature(*, address_bits: int = ADDRESS_BITS) -> wiring.Signature:
    """Return AXI4-Lite as its manager sees it: 32 bits of data, without the optional AxPROT."""
    return wiring.Signature(
        {
            "awaddr": Out(address_bits),
            "awvalid": Out(1),
            "awready": In(1),
            "wdata": Out(WORD_BITS),
            "wstrb": Out(WORD_BITS // 8),
            "wvalid": Out(1),
            "wready": In(1),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            "araddr": Out(address_bits),
            "arvalid": Out(1),
            "arready": In(1),
            "rdata": In(WORD_BITS),
            "rresp": In(2),
            "rvalid": In(1),
            "rready": Out(1),
        }
    )


def register_bus_signature(*, address_bits: int = ADDRESS_BITS) -> wiring.Signature:
    """Return the bus to the registers, as the AXI4-Lite slave sees it.

    Members
    -------
    write : Out(1)
        A write, for one clock.
    write_word : Out(address_bits - 2)
        Which word.
    write_data : Out(32)
        What is written.
    write_strobe : Out(4)
        Bytes that are written.
    write_error : In(1)
        With `write`: the address takes no writes. Nothing may change then.
    read : Out(1)
        A read, for one clock.
    read_word : Out(address_bits - 2)
        Which word.
    read_data : In(32)
        With `read`: its value.
    read_error : In(1)
        With `read`: the address gives no value.
    """
    return wiring.Signature(
        {
            "write": Out(1),
            "write_word": Out(address_bits - 2),
            "write_data": Out(WORD_BITS),
            "write_strobe": Out(WORD_BITS // 8),
            "write_error": In(1),
            "read": Out(1),
            "read_word": Out(address_bits - 2),
            "read_data": In(WORD_BITS),
            "read_error": In(1),
        }
    )


class AxiLiteSlave(wiring.Component):
    """An AXI4-Lite slave with one write and one read under way at a time.

    Address and data of a write are taken in any order, each as soon as it comes; the write acts in
    one clock when both are there and the response of the one before has been taken. So whoever
    waits for one ready before the other valid does not hang. No output depends on an input in the
    same clock.

    Latency: a write acts 1 clock after the later of its address and data was taken, the response
    follows 1 clock later; read data comes 1 clock after the address was taken. Throughput: a write
    every 2 clocks, a read every 2.

    Members
    -------
    axi : In(axi_lite_signature())
        From the manager. The two lowest bits of an address have no meaning.
    bus : Out(register_bus_signature())
        To the registers.
    """

    def __init__(self, *, address_bits: int = ADDRESS_BITS):
        super().__init__(
            {
                "axi": In(axi_lite_signature(address_bits=address_bits)),
                "bus": Out(register_bus_signature(address_bits=address_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axi, bus = self.axi, self.bus

        # What has been taken of the write under way; the registers behind need no reset.
        addressed = Signal()
        filled = Signal()
        word = Signal.like(bus.write_word, reset_less=True)
        data = Signal.like(bus.write_data, reset_less=True)
        strobe = Signal.like(bus.write_strobe, reset_less=True)
        write_error = Signal(reset_less=True)
        m.d.comb += [
            axi.awready.eq(~addressed),
            axi.wready.eq(~filled),
            bus.write.eq(addressed & filled & ~axi.bvalid),
            bus.write_word.eq(word),
            bus.write_data.eq(data),
            bus.write_strobe.eq(strobe),
            axi.bresp[1].eq(write_error),
        ]
        with m.If(axi.awready & axi.awvalid):
            m.d.sync += [addressed.eq(1), word.eq(axi.awaddr[2:])]
        with m.If(axi.wready & axi.wvalid):
            m.d.sync += [filled.eq(1), data.eq(axi.wdata), strobe.eq(axi.wstrb)]
        with m.If(bus.write):
            m.d.sync += [
                addressed.eq(0),
                filled.eq(0),
                axi.bvalid.eq(1),
                write_error.eq(bus.write_error),
            ]
        with m.Elif(axi.bready):
            m.d.sync += axi.bvalid.eq(0)

        read_error = Signal(reset_less=True)
        read_data = Signal.like(bus.read_data, reset_less=True)
        m.d.comb += [
            axi.arready.eq(~axi.rvalid),
            bus.read.eq(axi.arvalid & axi.arready),
            bus.read_word.eq(axi.araddr[2:]),
            axi.rdata.eq(read_data),
            axi.rresp[1].eq(read_error),
        ]
        with m.If(bus.read):
            m.d.sync += [
                axi.rvalid.eq(1),
                read_data.eq(bus.read_data),
                read_error.eq(bus.read_error),
            ]
        with m.Elif(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        return m
