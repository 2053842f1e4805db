/* Driver of a pezo step core: zeroth-order steps through its registers and streams.
 *
 * The core is described by pezo_core.h and the register header beside this file, both generated.
 * How registers are reached and streams are moved is given as three functions, see pezo_bus; the
 * driver allocates nothing and needs no operating system.
 *
 * A step in place:
 *
 *     pezo_perturb(&engine, +1);  plus = loss(weights);
 *     pezo_perturb(&engine, -2);  minus = loss(weights);
 *     pezo_step(&engine, plus, minus, rate);
 *
 * where the stored weights stay (schedule inline; inline-both has pezo_inline_both):
 *
 *     pezo_inline(&engine, +1, buffer);  plus = loss(buffer);
 *     pezo_inline(&engine, -1, buffer);  minus = loss(buffer);
 *     pezo_step(&engine, plus, minus, rate);
 *
 * and fused, where one pass ends a step and gives both sides of the next one:
 *
 *     pezo_inline_both(&engine, plus_buffer, minus_buffer);     for the first step only
 *     pezo_step_fused(&engine, loss(plus_buffer), loss(minus_buffer), rate, plus_buffer,
 *                     minus_buffer);
 *
 * Functions return PEZO_OK, a negative code, or a positive word of bits of the register ERROR.
 */
#ifndef PEZO_H
#define PEZO_H

#include <stddef.h>
#include <stdint.h>

#include "pezo_core.h"

#ifdef __cplusplus
extern "C" {
#endif

#if PEZO_STEP__CAPS0__WEIGHT_BITS_reset == 8
typedef int8_t pezo_weight;
#else
typedef int16_t pezo_weight;
#endif

enum {
    PEZO_OK = 0,
    PEZO_NO_CORE = -1,  /* what answers is not the core of pezo_core.h */
    PEZO_TIMEOUT = -2,  /* the core did not become ready within PEZO_POLLS reads */
    PEZO_STREAM = -3,   /* the bus reported that a transfer failed; the sweep was aborted. Weights
                         * that it had changed in their place stay changed: go on from a state */
    PEZO_MISUSE = -4    /* a call that does not fit the state or the schedule */
};

/* Reads of STATUS until the driver gives up. */
#ifndef PEZO_POLLS
#define PEZO_POLLS 100000000u
#endif

/* How the core is reached. */
typedef struct {
    void *context; /* handed to the functions */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t value);
    /* Send `bytes` bytes with TLAST on the last one, and receive as many on each output that is not
     * NULL (0 weights, 1 plus, 2 minus). outputs[0] may be `data`: a beat comes back only after it
     * was sent. Receiving has to be prepared before sending. With caches: clean `data` before, and
     * invalidate the outputs after; no output may share a cache line with other variables.
     * Return 0 if all came. */
    int (*stream)(void *context, const void *data, void *const outputs[3], size_t bytes);
    /* Called at the end of a step, to keep a log; may be NULL. */
    void (*log)(void *context, uint32_t index, int32_t coefficient);
    /* Called at the begin and after a failed sweep, when the core was told to end it; may be NULL,
     * but then a core whose outputs nobody takes stays busy. Drop what has not been sent (reset the
     * sender), take and drop what the core still sends on all outputs, and leave no transfer. */
    void (*drain)(void *context);
} pezo_bus;

/* A training. Of the fields only bus, weights and count are for the caller to know. */
typedef struct {
    pezo_bus bus;
    pezo_weight *weights; /* the stored weights */
    uint32_t count;
    uint32_t index;       /* where the current step begins */
    uint32_t seed;        /* of the stochastic rounding */
    uint32_t steps;       /* finished */
    int32_t displacement; /* multiple of the perturbation that the stored weights carry */
    int32_t ahead;        /* the second source is a step ahead of the first */
    uint64_t saturations; /* weights limited so far */
    uint32_t tensors;     /* entries of the table in use */
    uint32_t owed;        /* entries that a loaded state had, until pezo_tensors is called */
} pezo_engine;

/* What has to be kept, with the weights, to go on later: 32 bytes without pointers. */
typedef struct {
    uint32_t format, index, seed, steps, tensors, zero;
    uint64_t saturations;
} pezo_state;

/* Begin a training at a group, or a seed. */
int pezo_open(pezo_engine *engine, const pezo_bus *bus, pezo_weight *weights, uint32_t count,
              uint32_t start, uint32_t seed);
/* Choose the group, or the seed, that the next step begins with. */
int pezo_start(pezo_engine *engine, uint32_t index);
/* Add k times the perturbation to the stored weights, k from -2 to 2. */
int pezo_perturb(pezo_engine *engine, int k);
/* Put the weights with k times the perturbation into `out`; the stored ones stay. */
int pezo_inline(pezo_engine *engine, int k, pezo_weight *out);
/* Put the weights plus and minus the perturbation into `plus` and `minus`. */
int pezo_inline_both(pezo_engine *engine, pezo_weight *plus, pezo_weight *minus);
/* Subtract the update from unperturbed weights, and end the step. */
int pezo_update(pezo_engine *engine, int32_t coefficient);
/* Take the perturbation back and subtract the update in one sweep, and end the step. */
int pezo_restore_update(pezo_engine *engine, int32_t coefficient);
/* The coefficient C for two losses. */
int32_t pezo_coefficient(double loss_plus, double loss_minus, double rate);
/* Update by two losses, and end the step. */
int pezo_step(pezo_engine *engine, double loss_plus, double loss_minus, double rate);
/* The same in a fused sweep, which also puts both sides of the next step into `plus`, `minus`. */
int pezo_step_fused(pezo_engine *engine, double loss_plus, double loss_minus, double rate,
                    pezo_weight *plus, pezo_weight *minus);
/* Between two steps: what to keep, and going on from it with the weights of then. The table is not
 * kept: after loading a state of a run with one, write its entries again and call pezo_tensors with
 * their number; until then sweeps and pezo_save are PEZO_MISUSE. */
int pezo_save(const pezo_engine *engine, pezo_state *state);
int pezo_load(pezo_engine *engine, const pezo_bus *bus, pezo_weight *weights, uint32_t count,
              const pezo_state *state);
/* Build the weights of a run again: `engine` holds the initial ones. */
int pezo_replay(pezo_engine *engine, const uint32_t *indices, const int32_t *coefficients,
                uint32_t steps);
#if defined(PEZO_STEP__TENSOR_COUNT__TENSORS_bm)
/* Write an entry of the table, of 1 beat or more (0 is PEZO_MISUSE); `settings` as in the register
 * TENSOR[].SETTINGS. */
int pezo_tensor(pezo_engine *engine, uint32_t entry, uint32_t beats, uint32_t settings);
/* Let all further sweeps run over the first `tensors` entries; 0: without the table. */
int pezo_tensors(pezo_engine *engine, uint32_t tensors);
#endif
/* Seed of the stochastic rounding of a step. */
uint32_t pezo_dither_seed(uint32_t seed, uint32_t step);

#ifdef __cplusplus
}
#endif

#endif
