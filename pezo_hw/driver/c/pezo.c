/* Driver of a pezo step core, see pezo.h. */
#include "pezo.h"

#include <math.h>

#define OFFSET(name) ((uint32_t)offsetof(pezo_step_t, name))
#define FIELD(name, value) (((uint32_t)(value) << name##_bp) & name##_bm)

#define LANES PEZO_STEP__CAPS0__LANES_reset
#define SCHEDULE PEZO_STEP__CAPS1__SCHEDULE_reset
#define FORMAT 2u

enum { IN_PLACE, INLINE, INLINE_BOTH, FUSED };

/* A sweep's command, and where its outputs go. */
typedef struct {
    int kind, k, capture, capture_b;
    int32_t coefficient;
    uint32_t dither_seed;
    void *outputs[3];
} sweep;

static uint32_t read_register(const pezo_engine *engine, uint32_t offset)
{
    return engine->bus.read(engine->bus.context, offset);
}

static void write_register(const pezo_engine *engine, uint32_t offset, uint32_t value)
{
    engine->bus.write(engine->bus.context, offset, value);
}

static int wait_for(const pezo_engine *engine, uint32_t mask, uint32_t value)
{
    uint32_t polls;

    for (polls = 0; polls < PEZO_POLLS; ++polls)
        if ((read_register(engine, OFFSET(STATUS)) & mask) == value)
            return PEZO_OK;
    return PEZO_TIMEOUT;
}

/* Return and clear what the core complains of. */
static int errors(const pezo_engine *engine)
{
    const uint32_t word = read_register(engine, OFFSET(ERROR));

    if (word)
        write_register(engine, OFFSET(ERROR), word);
    return (int)word;
}

/* End a sweep and a flush, empty the streams, and forget what came of it. */
static int rest(const pezo_engine *engine)
{
    int result;

    /* One write: its other fields become 0, and 0 ends a flush. */
    write_register(engine, OFFSET(CONTROL), PEZO_STEP__CONTROL__ABORT_bm);
    if (engine->bus.drain)
        engine->bus.drain(engine->bus.context);
    result = wait_for(engine, PEZO_STEP__STATUS__BUSY_bm, 0);
    write_register(engine, OFFSET(ERROR), 0xFFFFFFFFu);
    write_register(engine, OFFSET(IRQ_STATUS), 0xFFFFFFFFu);
    return result;
}

/* Bring the core to rest after a failure. What failed first is what the caller must know. */
static int abandon(const pezo_engine *engine, int result)
{
    (void)rest(engine);
    return result;
}

static uint32_t beats(const pezo_engine *engine)
{
    return engine->count / LANES + (engine->count % LANES != 0);
}

static int run(pezo_engine *engine, const sweep *command)
{
    int result;
    uint32_t word = FIELD(PEZO_STEP__SWEEP__KIND, command->kind) |
                    FIELD(PEZO_STEP__SWEEP__K, command->k) |
                    FIELD(PEZO_STEP__SWEEP__CAPTURE, command->capture);

    /* A table that a loaded state had is for the caller to give again. */
    if (command->kind > SCHEDULE || engine->owed)
        return PEZO_MISUSE;
#ifdef PEZO_STEP__SWEEP__CAPTURE_B_bm
    word |= FIELD(PEZO_STEP__SWEEP__CAPTURE_B, command->capture_b);
#endif
    write_register(engine, OFFSET(SWEEP), word);
    write_register(engine, OFFSET(LENGTH), beats(engine));
    write_register(engine, OFFSET(COEFFICIENT),
                   (uint32_t)command->coefficient & PEZO_STEP__COEFFICIENT__C_bm);
#ifdef PEZO_STEP__DITHER_SEED__SEED_bm
    write_register(engine, OFFSET(DITHER_SEED), command->dither_seed);
#endif
    /* An error of before must not look like one of this sweep. */
    write_register(engine, OFFSET(ERROR), 0xFFFFFFFFu);
    write_register(engine, OFFSET(CONTROL), PEZO_STEP__CONTROL__GO_bm);
    /* Before the data goes: a core that has not begun would take none of it. */
    if ((result = errors(engine)) != 0)
        return abandon(engine, result);
    if (engine->bus.stream(engine->bus.context, engine->weights, command->outputs,
                           (size_t)engine->count * sizeof(pezo_weight)))
        return abandon(engine, PEZO_STREAM);
    if ((result = wait_for(engine, PEZO_STEP__STATUS__DONE_bm, PEZO_STEP__STATUS__DONE_bm)) != 0 ||
        (result = errors(engine)) != 0)
        return abandon(engine, result);
    engine->saturations += read_register(engine, OFFSET(SATURATIONS));
    return PEZO_OK;
}

static void end_step(pezo_engine *engine, int32_t coefficient)
{
    if (engine->bus.log)
        engine->bus.log(engine->bus.context, engine->index, coefficient);
#if PEZO_SEEDED
    ++engine->index;
#else
    engine->index =
        (uint32_t)(((uint64_t)engine->index + beats(engine)) % (uint64_t)PEZO_PERIOD);
#endif
    ++engine->steps;
    engine->displacement = 0;
}

/* Without a sweep, a flush or errors left by others, and without a table. */
static int prepare(pezo_engine *engine)
{
    const uint32_t major = read_register(engine, OFFSET(VERSION)) & PEZO_STEP__VERSION__MAJOR_bm;
    int result;

    if (read_register(engine, OFFSET(ID)) != PEZO_STEP__ID__MAGIC_reset ||
        major != FIELD(PEZO_STEP__VERSION__MAJOR, PEZO_STEP__VERSION__MAJOR_reset) ||
        read_register(engine, OFFSET(CAPS0)) != PEZO_CAPS0 ||
        read_register(engine, OFFSET(CAPS1)) != PEZO_CAPS1 ||
        read_register(engine, OFFSET(PERIOD_LO)) != PEZO_PERIOD_LO ||
        read_register(engine, OFFSET(PERIOD_HI)) != PEZO_PERIOD_HI)
        return PEZO_NO_CORE;
    write_register(engine, OFFSET(IRQ_ENABLE), 0);
    if ((result = rest(engine)) != 0)
        return result;
#ifdef PEZO_STEP__TENSOR_COUNT__TENSORS_bm
    write_register(engine, OFFSET(TENSOR_COUNT), 0);
#endif
    return PEZO_OK;
}

int pezo_open(pezo_engine *engine, const pezo_bus *bus, pezo_weight *weights, uint32_t count,
              uint32_t start, uint32_t seed)
{
    int result;
    const pezo_engine fresh = {*bus, weights, count, 0, seed, 0, 0, 0, 0, 0, 0};

    if (count == 0)
        return PEZO_MISUSE;
    *engine = fresh;
    if ((result = prepare(engine)) != 0)
        return result;
    return pezo_start(engine, start);
}

int pezo_start(pezo_engine *engine, uint32_t index)
{
    int result;

    if (engine->displacement)
        return PEZO_MISUSE;
#if !PEZO_SEEDED
    index = (uint32_t)(index % (uint64_t)PEZO_PERIOD);
#endif
    if ((result = wait_for(engine, PEZO_STEP__STATUS__BUSY_bm, 0)) != 0)
        return result;
    write_register(engine, OFFSET(START_INDEX), index);
    write_register(engine, OFFSET(CONTROL), PEZO_STEP__CONTROL__START_bm);
    if ((result = wait_for(engine, PEZO_STEP__STATUS__BUSY_bm, 0)) != 0)
        return result;
    engine->index = index;
    engine->ahead = 0;
    return errors(engine);
}

int pezo_perturb(pezo_engine *engine, int k)
{
    const sweep command = {IN_PLACE, k, 0, 0, 0, 0, {engine->weights, NULL, NULL}};
    int result;

    if (k < -2 || k > 2)
        return PEZO_MISUSE;
    if ((result = run(engine, &command)) != 0)
        return result;
    engine->displacement += k;
    return PEZO_OK;
}

int pezo_inline(pezo_engine *engine, int k, pezo_weight *out)
{
    const sweep command = {INLINE, k, 0, 0, 0, 0, {NULL, out, NULL}};

    if (k < -2 || k > 2)
        return PEZO_MISUSE;
    return run(engine, &command);
}

int pezo_inline_both(pezo_engine *engine, pezo_weight *plus, pezo_weight *minus)
{
    const int fused = SCHEDULE == FUSED;
    const sweep command = {INLINE_BOTH, 1, 0, fused, 0, 0, {NULL, plus, minus}};
    int result;

    /* The second source has left this step already. */
    if (engine->ahead)
        return PEZO_MISUSE;
    if ((result = run(engine, &command)) != 0)
        return result;
    engine->ahead = fused;
    return PEZO_OK;
}

int pezo_update(pezo_engine *engine, int32_t coefficient)
{
    return engine->displacement ? PEZO_MISUSE : pezo_restore_update(engine, coefficient);
}

int pezo_restore_update(pezo_engine *engine, int32_t coefficient)
{
    const sweep command = {IN_PLACE,
                           -engine->displacement,
                           1,
                           0,
                           coefficient,
                           pezo_dither_seed(engine->seed, engine->steps),
                           {engine->weights, NULL, NULL}};
    int result;

    if (engine->displacement < -2 || engine->displacement > 2)
        return PEZO_MISUSE;
    if ((result = run(engine, &command)) != 0)
        return result;
    end_step(engine, coefficient);
    /* The second source is where it was, or a step ahead: both begin anew together. */
    return SCHEDULE == FUSED ? pezo_start(engine, engine->index) : PEZO_OK;
}

int32_t pezo_coefficient(double loss_plus, double loss_minus, double rate)
{
    const double limit = (double)(((int64_t)1 << (PEZO_STEP__COEFFICIENT__C_bw - 1)) - 1);
    const double difference = loss_plus - loss_minus;
    double real;

    /* Not a number, or infinite: a step that changes nothing. */
    if (!(difference - difference == 0.0))
        return 0;
#if PEZO_STEP__CAPS1__UPDATE_reset == 1
    real = floor(rate * PEZO_LSBS);
    real = real < 1.0 ? 1.0 : real > limit ? limit : real;
    real *= (difference > 0) - (difference < 0);
#else
    real = rate * PEZO_LEFTOVER_SQUARED * (difference / (2 * PEZO_EPSILON)) * PEZO_SCALE;
    /* Halves to the even neighbour, as the default rounding of C does. */
    real = nearbyint(real);
    real = real < -limit ? -limit : real > limit ? limit : real;
#endif
    return (int32_t)real;
}

int pezo_step(pezo_engine *engine, double loss_plus, double loss_minus, double rate)
{
    return pezo_restore_update(engine, pezo_coefficient(loss_plus, loss_minus, rate));
}

int pezo_step_fused(pezo_engine *engine, double loss_plus, double loss_minus, double rate,
                    pezo_weight *plus, pezo_weight *minus)
{
    const int32_t coefficient = pezo_coefficient(loss_plus, loss_minus, rate);
    const sweep command = {FUSED,
                           0,
                           1,
                           1,
                           coefficient,
                           pezo_dither_seed(engine->seed, engine->steps),
                           {engine->weights, plus, minus}};
    int result;

    if (!engine->ahead || engine->displacement)
        return PEZO_MISUSE;
    if ((result = run(engine, &command)) != 0)
        return result;
    end_step(engine, coefficient);
    return PEZO_OK;
}

int pezo_save(const pezo_engine *engine, pezo_state *state)
{
    const pezo_state now = {FORMAT,          engine->index, engine->seed, engine->steps,
                            engine->tensors, 0,             engine->saturations};

    if (engine->displacement || engine->owed)
        return PEZO_MISUSE;
    *state = now;
    return PEZO_OK;
}

int pezo_load(pezo_engine *engine, const pezo_bus *bus, pezo_weight *weights, uint32_t count,
              const pezo_state *state)
{
    int result;

    if (state->format != FORMAT)
        return PEZO_MISUSE;
    if ((result = pezo_open(engine, bus, weights, count, state->index, state->seed)) != 0)
        return result;
    engine->steps = state->steps;
    engine->saturations = state->saturations;
    engine->owed = state->tensors;
    return PEZO_OK;
}

int pezo_replay(pezo_engine *engine, const uint32_t *indices, const int32_t *coefficients,
                uint32_t steps)
{
    int result;
    uint32_t step;

    for (step = 0; step < steps; ++step) {
        if (indices[step] != engine->index &&
            (result = pezo_start(engine, indices[step])) != 0)
            return result;
        /* All sweeps that change stored weights, so that even saturation happens again. */
        if (SCHEDULE == IN_PLACE && ((result = pezo_perturb(engine, 1)) != 0 ||
                                     (result = pezo_perturb(engine, -2)) != 0))
            return result;
        if ((result = pezo_restore_update(engine, coefficients[step])) != 0)
            return result;
    }
    return PEZO_OK;
}

#ifdef PEZO_STEP__TENSOR_COUNT__TENSORS_bm
int pezo_tensor(pezo_engine *engine, uint32_t entry, uint32_t beats_of_it, uint32_t settings)
{
    const uint32_t offset = OFFSET(TENSOR) + entry * (uint32_t)sizeof(pezo_step__TENSORx_t);

    if (entry >= PEZO_STEP__CAPS1__TENSORS_reset || beats_of_it == 0)
        return PEZO_MISUSE;
    write_register(engine, offset + (uint32_t)offsetof(pezo_step__TENSORx_t, BEATS), beats_of_it);
    write_register(engine, offset + (uint32_t)offsetof(pezo_step__TENSORx_t, SETTINGS), settings);
    return errors(engine);
}

int pezo_tensors(pezo_engine *engine, uint32_t tensors)
{
    int result;

    if (tensors > PEZO_STEP__CAPS1__TENSORS_reset || (engine->owed && tensors != engine->owed))
        return PEZO_MISUSE;
    write_register(engine, OFFSET(TENSOR_COUNT), tensors);
    if ((result = errors(engine)) != 0)
        return result;
    engine->tensors = tensors;
    engine->owed = 0;
    return PEZO_OK;
}
#endif

uint32_t pezo_dither_seed(uint32_t seed, uint32_t step)
{
    uint32_t value = seed + step * 0x9E3779B9u;

    value = (value ^ value >> 16) * 0x85EBCA6Bu;
    value = (value ^ value >> 13) * 0xC2B2AE35u;
    return value ^ value >> 16;
}
