"""What a core may be called: its name becomes module, entity and file names."""

from __future__ import annotations

import re

MAX_LENGTH = 64


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# IEEE 1364-2005 and IEEE 1800-2017, annex B of each.
VERILOG_KEYWORDS = _words(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
    before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
    checker class clocking cmos config const constraint context continue cover covergroup coverpoint
    cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
    endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
    endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event
    eventually expect export extends extern final first_match for force foreach forever fork
    forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
    implements implies import incdir include initial inout input inside instance int integer
    interconnect interface intersect join join_any join_none large let liblist library local
    localparam logic longint macromodule matches medium modport module nand negedge nettype new
    nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos
    posedge primitive priority program property protected pull0 pull1 pulldown pullup
    pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime
    ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always
    s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super
    supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
    timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
    unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait
    wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
    """
)

# IEEE 1076-2008, 15.10.
VHDL_KEYWORDS = _words(
    """
    abs access after alias all and architecture array assert assume assume_guarantee attribute begin
    block body buffer bus case component configuration constant context cover default disconnect
    downto else elsif end entity exit fairness file for force function generate generic group
    guarded if impure in inertial inout is label library linkage literal loop map mod nand new next
    nor not null of on open or others out package parameter port postponed procedure process
    property protected pure range record register reject release rem report restrict
    restrict_guarantee return rol ror select sequence severity shared signal sla sll sra srl strong
    subtype then to transport type unaffected units until use variable vmode vprop vunit wait when
    while with xnor xor """
)

# Ports of the generated wrappers, which a module of the same name would hide, and a package of
# SystemVerilog. A test compares them with the ports that are generated.
TAKEN = _words(
    """
    abort_sweep aborted aclk aresetn beats beats_done busy capture capture_b coefficient dither_seed
    done flush go irq k kind m_axis_minus_tdata m_axis_minus_tkeep m_axis_minus_tlast
    m_axis_minus_tready m_axis_minus_tvalid m_axis_plus_tdata m_axis_plus_tkeep m_axis_plus_tlast
    m_axis_plus_tready m_axis_plus_tvalid m_axis_tdata m_axis_tkeep m_axis_tlast m_axis_tready
    m_axis_tvalid restore s_axi_araddr s_axi_arready s_axi_arvalid s_axi_awaddr s_axi_awready
    s_axi_awvalid s_axi_bready s_axi_bresp s_axi_bvalid s_axi_rdata s_axi_rready s_axi_rresp
    s_axi_rvalid s_axi_wdata s_axi_wready s_axi_wstrb s_axi_wvalid s_axis_tdata s_axis_tkeep
    s_axis_tlast s_axis_tready s_axis_tvalid saturations start start_index std sweeping table_data
    table_field table_index table_write tensor_count tlast_early tlast_late
    """
)

_IDENTIFIER = re.compile(r"[A-Za-z](_?[A-Za-z0-9])*")


def problem(name: str) -> str | None:
    """Return what is wrong with a core's name, as "must ..." without the value, or None.

    VHDL does not tell upper from lower case, so its keywords are refused in any case.
    """
    if len(name) > MAX_LENGTH:
        return f"must have at most {MAX_LENGTH} characters"
    if not _IDENTIFIER.fullmatch(name):
        return (
            "must be a Verilog and VHDL identifier (a letter, then letters, digits and single "
            "underscores, none at the end)"
        )
    for language, keyword in (
        ("Verilog", name in VERILOG_KEYWORDS),
        ("VHDL", name.lower() in VHDL_KEYWORDS),
    ):
        if keyword:
            return f"must not be a keyword of {language}"
    if name in TAKEN:
        return "must not be the name of one of its ports or of a package"
    return None


def legal_name(name: str) -> str:
    """Return a legal name that resembles `name`."""
    # Long before it is cut to size, so that a suffix still fits.
    clean = re.sub(r"[^A-Za-z0-9]+", "_", name)[: MAX_LENGTH - 10].strip("_")
    if not clean:
        return "core"
    if not clean[0].isalpha():
        clean = f"core_{clean}"
    return clean if problem(clean) is None else f"{clean}_core"
