// A skid buffer, sound while `fault` is 0, for the tests of the bench kit. One build serves all faults.
module skid (
    input             aclk,
    input             aresetn,
    input       [3:0] fault,
    input      [71:0] s_axis_tdata,
    input       [8:0] s_axis_tkeep,
    input             s_axis_tlast,
    input             s_axis_tvalid,
    output            s_axis_tready,
    output     [71:0] m_axis_tdata,
    output      [8:0] m_axis_tkeep,
    output            m_axis_tlast,
    output            m_axis_tvalid,
    input             m_axis_tready
);
  reg [81:0] beat, spare;
  reg full, spare_full, stalled;
  reg [3:0] count;
  wire [81:0] incoming = {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  wire taken = m_axis_tready || !full;

  assign s_axis_tready = !spare_full || fault == 10;
  assign m_axis_tdata = fault == 5 && count == 9 ? {71'd0, 1'bx} :
                        fault == 1 && count[0] && !m_axis_tready ? ~beat[71:0] : beat[71:0];
  assign m_axis_tkeep = fault == 8 ? 9'h1ff : beat[80:72];
  assign m_axis_tlast = fault == 3 && count == 3 ? 1'b0 : beat[81];
  assign m_axis_tvalid = fault == 2 ? full && !stalled :
                         fault == 4 && count == 9 ? 1'bx :
                         fault == 6 ? full && m_axis_tready :
                         fault == 7 ? full || !aresetn :
                         fault == 9 ? full && count < 9 : full;

  always @(posedge aclk)
    if (!aresetn) begin
      full <= 0;
      spare_full <= 0;
      count <= 0;
      stalled <= 0;
    end else begin
      stalled <= full && !m_axis_tready && !stalled;
      count <= count + (full && m_axis_tready ? 4'd1 : 4'd0);
      if (taken) begin
        full <= spare_full || s_axis_tvalid;
        beat <= spare_full ? spare : incoming;
        spare_full <= 0;
      end else if (s_axis_tvalid && s_axis_tready) begin
        spare_full <= 1;
        spare <= incoming;
      end
    end
endmodule
