// The exported wrapper as a library: registers and streams by function calls, clocks inside.
//
// Compiled once for a design, with Verilator's output as Vtop.h and `PEZO_BEAT` (bytes of a beat),
// `PEZO_PLUS` and `PEZO_MINUS` (whether these outputs exist) defined. Inputs change after a falling
// edge, outputs are looked at before a rising one, as everything at the pins is synchronous.

#include <cstdint>
#include <cstring>
#include <memory>

#include "Vtop.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr uint64_t kBusLimit = 1000;  // clocks until an answer to a read or write
constexpr int kOutputs = 3;

// Verilator's ports of any width begin with their lowest byte on a little-endian machine.
template <typename Port> void put(Port& port, const uint8_t* from, size_t bytes) {
  std::memcpy(reinterpret_cast<uint8_t*>(&port), from, bytes);
}
template <typename Port> void get(uint8_t* to, const Port& port, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const uint8_t*>(&port), bytes);
}

struct Core {
  VerilatedContext context;
  std::unique_ptr<Vtop> top;
  uint64_t clocks = 0;
  uint32_t random = 1;
  uint32_t stall_in = 0, stall_out = 0;  // of 256 clocks

  void settle() { top->eval(); }
  void edge() {
    top->aclk = 1;
    top->eval();
    top->aclk = 0;
    ++clocks;
  }
  void tick() {
    settle();
    edge();
  }
  bool stalls(uint32_t share) {
    if (share == 0) return false;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    return (random >> 8 & 255) < share;
  }
};

// What came in one clock on an output stream.
struct Seen {
  bool valid, last;
  uint8_t data[PEZO_BEAT], keep[(PEZO_BEAT + 7) / 8];
};

template <typename Data, typename Keep>
void look(Seen* seen, bool valid, bool last, const Data& data, const Keep& keep) {
  seen->valid = valid;
  seen->last = last;
  if (valid) {
    get(seen->data, data, sizeof seen->data);
    get(seen->keep, keep, sizeof seen->keep);
  }
}

void look_at(Vtop& top, int output, Seen* seen) {
  seen->valid = false;
  if (output == 0) {
    look(seen, top.m_axis_tvalid, top.m_axis_tlast, top.m_axis_tdata, top.m_axis_tkeep);
  }
#if PEZO_PLUS
  if (output == 1) {
    look(seen, top.m_axis_plus_tvalid, top.m_axis_plus_tlast, top.m_axis_plus_tdata,
         top.m_axis_plus_tkeep);
  }
#endif
#if PEZO_MINUS
  if (output == 2) {
    look(seen, top.m_axis_minus_tvalid, top.m_axis_minus_tlast, top.m_axis_minus_tdata,
         top.m_axis_minus_tkeep);
  }
#endif
}

void take(Vtop& top, int output, bool ready) {
  if (output == 0) top.m_axis_tready = ready;
#if PEZO_PLUS
  if (output == 1) top.m_axis_plus_tready = ready;
#endif
#if PEZO_MINUS
  if (output == 2) top.m_axis_minus_tready = ready;
#endif
}

}  // namespace

extern "C" {

Core* sim_open(uint32_t seed) {
  auto* core = new Core;
  // What the RTL leaves undefined is random, so that it shows.
  core->context.randReset(2);
  core->context.randSeed(static_cast<int>(seed & 0x7FFFFFFF));
  core->random = seed | 1;
  core->top = std::make_unique<Vtop>(&core->context);
  return core;
}

void sim_close(Core* core) {
  core->top->final();
  delete core;
}

uint64_t sim_clocks(Core* core) { return core->clocks; }

// Interrupt line.
int sim_irq(Core* core) {
  core->settle();
  return core->top->irq;
}

// Shares of 256 clocks in which no beat is offered, and none is taken.
void sim_stalls(Core* core, uint32_t in, uint32_t out) {
  core->stall_in = in;
  core->stall_out = out;
}

void sim_reset(Core* core) {
  Vtop& top = *core->top;
  top.aclk = 0;
  top.aresetn = 0;
  top.s_axis_tvalid = 0;
  for (int output = 0; output < kOutputs; ++output) take(top, output, false);
  top.s_axi_awvalid = top.s_axi_wvalid = top.s_axi_bready = 0;
  top.s_axi_arvalid = top.s_axi_rready = 0;
  for (int i = 0; i < 4; ++i) core->tick();
  top.aresetn = 1;
  core->tick();
}

void sim_idle(Core* core, uint64_t clocks) {
  for (uint64_t i = 0; i < clocks; ++i) core->tick();
}

// Return the response of AXI, or -1 without one.
int sim_write(Core* core, uint32_t address, uint32_t value, uint32_t strobe) {
  Vtop& top = *core->top;
  top.s_axi_awaddr = address;
  top.s_axi_wdata = value;
  top.s_axi_wstrb = strobe;
  top.s_axi_awvalid = top.s_axi_wvalid = top.s_axi_bready = 1;
  int response = -1;
  for (uint64_t i = 0; i < kBusLimit && response < 0; ++i) {
    core->settle();
    const bool address_taken = top.s_axi_awvalid && top.s_axi_awready;
    const bool data_taken = top.s_axi_wvalid && top.s_axi_wready;
    if (top.s_axi_bvalid) response = top.s_axi_bresp;
    core->edge();
    if (address_taken) top.s_axi_awvalid = 0;
    if (data_taken) top.s_axi_wvalid = 0;
  }
  top.s_axi_awvalid = top.s_axi_wvalid = top.s_axi_bready = 0;
  return response;
}

int sim_read(Core* core, uint32_t address, uint32_t* value) {
  Vtop& top = *core->top;
  top.s_axi_araddr = address;
  top.s_axi_arvalid = top.s_axi_rready = 1;
  int response = -1;
  for (uint64_t i = 0; i < kBusLimit && response < 0; ++i) {
    core->settle();
    const bool address_taken = top.s_axi_arvalid && top.s_axi_arready;
    if (top.s_axi_rvalid) {
      response = top.s_axi_rresp;
      *value = top.s_axi_rdata;
    }
    core->edge();
    if (address_taken) top.s_axi_arvalid = 0;
  }
  top.s_axi_arvalid = top.s_axi_rready = 0;
  return response;
}

// Send bytes, TLAST with the last, and keep what comes on each output that has a place for it,
// until each of these has ended with TLAST. Nothing is taken from the others.
// `got` counts the bytes. Return 0; 1 if `limit` clocks passed in which nothing moved; 2 if an
// output is longer than `bytes`.
int sim_stream(Core* core, const uint8_t* data, uint64_t bytes, uint8_t** outputs, uint64_t* got,
                uint64_t limit) {
  Vtop& top = *core->top;
  uint64_t sent = 0, quiet = 0;
  bool offered = false, ended[kOutputs], ready[kOutputs];
  Seen seen;
  int open = 0, result = 0;
  for (int output = 0; output < kOutputs; ++output) {
    ended[output] = outputs[output] == nullptr;
    open += !ended[output];
    got[output] = 0;
  }
  while (result == 0 && (sent < bytes || open)) {
    // An offer, once made, stays.
    if (!offered && sent < bytes && !core->stalls(core->stall_in)) {
      const uint64_t size = bytes - sent < PEZO_BEAT ? bytes - sent : PEZO_BEAT;
      uint8_t beat[PEZO_BEAT] = {}, keep[(PEZO_BEAT + 7) / 8] = {};
      std::memcpy(beat, data + sent, size);
      for (uint64_t i = 0; i < size; ++i) keep[i / 8] |= uint8_t(1 << i % 8);
      put(top.s_axis_tdata, beat, sizeof beat);
      put(top.s_axis_tkeep, keep, sizeof keep);
      top.s_axis_tlast = sent + size == bytes;
      offered = true;
    }
    top.s_axis_tvalid = offered;
    for (int output = 0; output < kOutputs; ++output) {
      ready[output] = !ended[output] && !core->stalls(core->stall_out);
      take(top, output, ready[output]);
    }
    core->settle();
    ++quiet;
    if (offered && top.s_axis_tready) {
      sent += PEZO_BEAT;
      offered = false;
      quiet = 0;
    }
    for (int output = 0; output < kOutputs; ++output) {
      if (!ready[output]) continue;
      look_at(top, output, &seen);
      if (!seen.valid) continue;
      quiet = 0;
      for (int i = 0; i < PEZO_BEAT; ++i) {
        if (!(seen.keep[i / 8] >> i % 8 & 1)) continue;
        if (got[output] == bytes) {
          result = 2;
          break;
        }
        outputs[output][got[output]++] = seen.data[i];
      }
      if (seen.last) {
        ended[output] = true;
        --open;
      }
    }
    core->edge();
    if (quiet > limit) result = 1;
  }
  top.s_axis_tvalid = 0;
  for (int output = 0; output < kOutputs; ++output) take(top, output, false);
  return result;
}

// Take and drop what comes on all outputs until nothing has come for `limit` clocks, and send
// nothing. Return the beats.
uint64_t sim_drain(Core* core, uint64_t limit) {
  Vtop& top = *core->top;
  uint64_t beats = 0;
  Seen seen;
  top.s_axis_tvalid = 0;
  for (int output = 0; output < kOutputs; ++output) take(top, output, true);
  for (uint64_t quiet = 0; quiet < limit; ++quiet) {
    core->settle();
    for (int output = 0; output < kOutputs; ++output) {
      look_at(top, output, &seen);
      if (!seen.valid) continue;
      ++beats;
      quiet = 0;
    }
    core->edge();
  }
  for (int output = 0; output < kOutputs; ++output) take(top, output, false);
  return beats;
}

}  // extern "C"
