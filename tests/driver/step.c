/* Trains with the C driver on simulated registers; used by test_c.py.
 *
 * step LIBRARY SCHEDULE STEPS START SEED RATE < weights and targets > weights, index, saturations
 *
 * The loss is the mean of |weight - target| in LSBs, in doubles, which Python computes likewise. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pezo.h"

typedef struct {
    void *core;
    int (*write)(void *, uint32_t, uint32_t, uint32_t);
    int (*read)(void *, uint32_t, uint32_t *);
    int (*stream)(void *, const void *, uint64_t, void *const *, uint64_t *, uint64_t);
    uint64_t (*drain)(void *, uint64_t);
    enum { SOUND, NOTHING_SENT, NOTHING_TAKEN } fault; /* of the next stream */
    uint32_t foreign; /* offset of a register that reads as that of another core */
    uint32_t logged[4096];
    int32_t coefficients[4096];
    uint32_t length;
} board;

static uint32_t read_word(void *context, uint32_t offset)
{
    board *the = context;
    uint32_t value = 0;

    if (the->read(the->core, offset, &value))
        exit(90);
    return the->foreign && offset == the->foreign ? value ^ 2 : value;
}

static void write_word(void *context, uint32_t offset, uint32_t value)
{
    board *the = context;

    if (the->write(the->core, offset, value, 15))
        exit(91);
}

static int stream(void *context, const void *data, void *const outputs[3], size_t bytes)
{
    board *the = context;
    void *const nowhere[3] = {NULL, NULL, NULL};
    uint64_t got[3];
    int output, fault = the->fault;

    the->fault = SOUND;
    if (fault == NOTHING_TAKEN)
        the->stream(the->core, data, bytes, nowhere, got, 500);
    if (fault)
        return 1;
    if (the->stream(the->core, data, bytes, outputs, got, 20000))
        return 1;
    for (output = 0; output < 3; ++output)
        if (outputs[output] && got[output] != bytes)
            return 1;
    return 0;
}

static void drain(void *context)
{
    board *the = context;

    the->drain(the->core, 200);
}

/* Whatever goes wrong, the core is usable, and the step under way unchanged. */
static int survives(board *the, pezo_engine *engine)
{
    const uint32_t go = offsetof(pezo_step_t, CONTROL), length = offsetof(pezo_step_t, LENGTH);
    const int32_t before = engine->displacement;
    int fault;

    for (fault = NOTHING_SENT; fault <= NOTHING_TAKEN; ++fault) {
        the->fault = fault;
        if (pezo_perturb(engine, 1) != PEZO_STREAM || engine->displacement != before)
            return 0;
        if (read_word(the, offsetof(pezo_step_t, STATUS)) & PEZO_STEP__STATUS__BUSY_bm ||
            read_word(the, offsetof(pezo_step_t, ERROR)))
            return 0;
    }
    /* An error that nobody has looked at is none of the next sweep. */
    write_word(the, length, 0);
    write_word(the, go, PEZO_STEP__CONTROL__GO_bm);
    if (pezo_perturb(engine, 1) || pezo_perturb(engine, -1))
        return 0;
    /* A sweep of somebody else is refused once, and ended. */
    write_word(the, length, 100);
    write_word(the, go, PEZO_STEP__CONTROL__GO_bm);
    if (pezo_perturb(engine, 1) != PEZO_STEP__ERROR__START_WHILE_BUSY_bm)
        return 0;
    return !pezo_perturb(engine, 1) && !pezo_perturb(engine, -1);
}

#ifdef PEZO_STEP__TENSOR_COUNT__TENSORS_bm
/* A state of a run with a table goes on only with a table again. One like none does no harm. */
static int keeps_the_table(pezo_engine *engine, const pezo_bus *bus, pezo_weight *weights)
{
    const uint32_t lanes = PEZO_STEP__CAPS0__LANES_reset, count = engine->count;
    const uint32_t all = count / lanes + (count % lanes != 0);
    pezo_state state, other;

    if (pezo_tensor(engine, 0, 0, 0) != PEZO_MISUSE)
        return 0;
    if (pezo_tensor(engine, 0, all, 0) || pezo_tensors(engine, 1) || pezo_save(engine, &state) ||
        pezo_load(engine, bus, weights, count, &state))
        return 0;
    if (pezo_perturb(engine, 1) != PEZO_MISUSE || pezo_save(engine, &other) != PEZO_MISUSE ||
        pezo_tensors(engine, 2) != PEZO_MISUSE)
        return 0;
    return !pezo_tensor(engine, 0, all, 0) && !pezo_tensors(engine, 1) &&
           !pezo_perturb(engine, 1) && !pezo_perturb(engine, -1) && !pezo_tensors(engine, 0);
}
#endif

static void keep(void *context, uint32_t index, int32_t coefficient)
{
    board *the = context;

    the->logged[the->length] = index;
    the->coefficients[the->length++] = coefficient;
}

static double loss(const pezo_weight *weights, const pezo_weight *targets, uint32_t count)
{
    double sum = 0;
    uint32_t i;

    for (i = 0; i < count; ++i)
        sum += abs(weights[i] - targets[i]);
    return sum / PEZO_LSBS / count;
}

static void check(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s: %d\n", what, result);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    static board the;
    pezo_bus bus = {&the, read_word, write_word, stream, keep, drain};
    pezo_engine engine;
    pezo_state state;
    void *library = argc == 8 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const char *schedule = argv[2];
    const uint32_t steps = (uint32_t)atoi(argv[3]);
    const double rate = atof(argv[6]);
    const uint32_t count = (uint32_t)atoi(argv[7]);
    pezo_weight *weights = calloc(5 * (size_t)count, sizeof *weights), *targets = weights + count;
    pezo_weight *plus = targets + count, *minus = plus + count, *initial = minus + count;
    void *(*open)(uint32_t);
    uint32_t step;
    double up, down;

    if (!library || fread(weights, sizeof *weights, 2 * count, stdin) != 2 * count)
        return 80;
    *(void **)&open = dlsym(library, "sim_open");
    *(void **)&the.write = dlsym(library, "sim_write");
    *(void **)&the.read = dlsym(library, "sim_read");
    *(void **)&the.stream = dlsym(library, "sim_stream");
    *(void **)&the.drain = dlsym(library, "sim_drain");
    the.core = open(1);
    {
        void (*reset)(void *);
        *(void **)&reset = dlsym(library, "sim_reset");
        reset(the.core);
    }
    memcpy(initial, weights, count * sizeof *weights);
    for (the.foreign = offsetof(pezo_step_t, VERSION) + 4;
         the.foreign <= offsetof(pezo_step_t, PERIOD_HI); the.foreign += 4)
        if (pezo_open(&engine, &bus, weights, count, 0, 0) != PEZO_NO_CORE)
            return 85;
    the.foreign = 0;
    check(pezo_open(&engine, &bus, weights, count, (uint32_t)atoi(argv[4]),
                    (uint32_t)atoi(argv[5])),
          "open");
    for (step = 0; step < steps; ++step) {
        /* Perturbing and back changes nothing but the weights that it limits. */
        if (step == 1 && !survives(&the, &engine))
            return 83;
        if (!strcmp(schedule, "in-place")) {
            check(pezo_perturb(&engine, 1), "perturb");
            if (pezo_update(&engine, 1) != PEZO_MISUSE || pezo_save(&engine, &state) != PEZO_MISUSE)
                return 81;
            up = loss(weights, targets, count);
            check(pezo_perturb(&engine, -2), "perturb");
            down = loss(weights, targets, count);
            check(pezo_step(&engine, up, down, rate), "step");
        } else if (!strcmp(schedule, "inline")) {
            check(pezo_inline(&engine, 1, plus), "inline");
            check(pezo_inline(&engine, -1, minus), "inline");
            check(pezo_step(&engine, loss(plus, targets, count), loss(minus, targets, count), rate),
                  "step");
        } else if (!strcmp(schedule, "inline-both")) {
            check(pezo_inline_both(&engine, plus, minus), "both");
            check(pezo_step(&engine, loss(plus, targets, count), loss(minus, targets, count), rate),
                  "step");
        } else {
            if (step == 0)
                check(pezo_inline_both(&engine, plus, minus), "both");
            check(pezo_step_fused(&engine, loss(plus, targets, count), loss(minus, targets, count),
                                  rate, plus, minus),
                  "fused");
        }
        if (step == steps / 2) {
            /* Going on from a saved state changes nothing. */
#ifdef PEZO_STEP__TENSOR_COUNT__TENSORS_bm
            if (!keeps_the_table(&engine, &bus, weights))
                return 84;
#endif
            check(pezo_save(&engine, &state), "save");
            /* A program that ended in mid-sweep, or in a flush, is no obstacle. */
            write_word(&the, offsetof(pezo_step_t, LENGTH), 100);
            write_word(&the, offsetof(pezo_step_t, CONTROL),
                       step & 1 ? PEZO_STEP__CONTROL__FLUSH_bm : PEZO_STEP__CONTROL__GO_bm);
            check(pezo_load(&engine, &bus, weights, count, &state), "load");
            if (!strcmp(schedule, "fused"))
                check(pezo_inline_both(&engine, plus, minus), "both");
        }
    }
    printf("%u %u %llu\n", engine.index, engine.steps, (unsigned long long)engine.saturations);
    fwrite(weights, sizeof *weights, count, stdout);
    {
        const uint32_t length = the.length;
        check(pezo_open(&engine, &bus, initial, count, 0, (uint32_t)atoi(argv[5])), "open");
        engine.bus.log = NULL;
        check(pezo_replay(&engine, the.logged, the.coefficients, length), "replay");
        if (memcmp(initial, weights, count * sizeof *weights))
            return 82;
    }
    return 0;
}
