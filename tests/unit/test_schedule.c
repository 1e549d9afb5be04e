/* SPDX-License-Identifier: MIT */
/*
 * The schedule of queue operations against a model: programs that some driver could have run are made up in the order
 * in which their batches run, their calls are put into another order that the specification allows, and real queues,
 * fewer than recorded ones, execute what they are given, each strictly in order. Every program ends, and a recorded
 * wait is over when it is reached.
 */
#include "replayer/submit/schedule.h"

#include <stdlib.h>
#include <time.h>

#include "tests/unit/unit.h"

#define QUEUES    5u
#define TIMELINES 3u
#define BINARIES  12u
#define EVENTS    6u
#define BATCHES   60u /* bits of a set of batches */
#define POINTS    6u
#define HOST      QUEUES /* the queue of what the host does: waits, then a signal, then it sets an event */
#define NONE      UINT32_MAX

/* ---- programs ---- */

struct point {
    uint32_t semaphore; /* binaries behind the timelines */
    uint64_t value;
};

struct batch {
    uint32_t queue, wait_count, signal_count;
    struct point waits[POINTS], signals[POINTS];
    uint32_t event; /* that the host sets, or that a queue waits for and resets; NONE */
    uint64_t after; /* batches that are finished when this one is */
    bool waits_binary, submitted, executed;
};

struct program {
    uint64_t random;
    uint32_t count, queue_count;
    struct batch batches[BATCHES];
    uint64_t values[TIMELINES]; /* while it is made up */
    int last_of_queue[QUEUES];  /* -1: none */
    int signaller[BINARIES], waiter[BINARIES];
    int setter[EVENTS], resetter[EVENTS];
};

static uint32_t any(struct program *p, uint32_t limit)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return (uint32_t)((p->random >> 20) % limit);
}

static void add_after(struct program *p, struct batch *batch, int number)
{
    if (number >= 0)
        batch->after |= p->batches[number].after | 1ull << number;
}

/* The batch that brings a timeline to a value or beyond; -1: it began there. */
static int reaches(const struct program *p, uint32_t timeline, uint64_t value, uint32_t before)
{
    for (uint32_t i = 0; value && i < before; i++)
        for (uint32_t j = 0; j < p->batches[i].signal_count; j++)
            if (p->batches[i].signals[j].semaphore == timeline && p->batches[i].signals[j].value >= value)
                return (int)i;
    return -1;
}

static void wait_for(struct program *p, uint32_t number, uint32_t timeline, uint64_t value)
{
    struct batch *batch = &p->batches[number];

    if (batch->wait_count == POINTS)
        return;
    batch->waits[batch->wait_count++] = (struct point){timeline, value};
    add_after(p, batch, reaches(p, timeline, value, number));
}

/* Signals of one timeline have to be ordered by the program: each waits for the one before. */
static void signal_timeline(struct program *p, uint32_t number)
{
    struct batch *batch = &p->batches[number];
    uint32_t timeline = any(p, TIMELINES);

    for (uint32_t i = 0; i < batch->signal_count; i++)
        if (batch->signals[i].semaphore == timeline)
            return;
    if (batch->wait_count == POINTS)
        return;
    wait_for(p, number, timeline, p->values[timeline]);
    p->values[timeline] += 1 + any(p, 3);
    batch->signals[batch->signal_count++] = (struct point){timeline, p->values[timeline]};
}

static bool has_after(const struct batch *batch, int number)
{
    return number < 0 || (batch->after >> number & 1);
}

/* Two waits of one binary semaphore must not be under way at a time, so each follows the one before. */
static void use_binary(struct program *p, uint32_t number)
{
    struct batch *batch = &p->batches[number];
    uint32_t binary = any(p, BINARIES);

    for (uint32_t i = 0; i < batch->wait_count; i++)
        if (batch->waits[i].semaphore == TIMELINES + binary)
            return;
    if (!has_after(batch, p->waiter[binary]))
        return;
    if (p->signaller[binary] >= 0 && p->signaller[binary] != (int)number && batch->wait_count < POINTS) {
        batch->waits[batch->wait_count++] = (struct point){TIMELINES + binary, 0};
        batch->waits_binary = true;
        add_after(p, batch, p->signaller[binary]);
        p->signaller[binary] = -1;
        p->waiter[binary] = (int)number;
    } else if (p->signaller[binary] < 0 && batch->signal_count < POINTS) {
        batch->signals[batch->signal_count++] = (struct point){TIMELINES + binary, 0};
        p->signaller[binary] = (int)number;
    }
}

/* The host sets an event when it knows that the last one who waited for it has reset it; and the next one begins to
 * wait behind that, whoever sets it. */
static void use_event(struct program *p, uint32_t number)
{
    struct batch *batch = &p->batches[number];
    uint32_t event = any(p, EVENTS);

    if (batch->queue == HOST && p->setter[event] < 0 && has_after(batch, p->resetter[event])) {
        p->setter[event] = (int)number;
        batch->event = event;
    } else if (batch->queue != HOST && p->setter[event] >= 0 && has_after(batch, p->resetter[event])) {
        add_after(p, batch, p->setter[event]);
        p->setter[event] = -1;
        p->resetter[event] = (int)number;
        batch->event = event;
    }
}

static void make_batch(struct program *p, uint32_t number)
{
    struct batch *batch = &p->batches[number];
    uint32_t queue = any(p, 8) == 0 ? HOST : any(p, p->queue_count);

    *batch = (struct batch){.queue = queue, .event = NONE};
    if (queue != HOST) {
        add_after(p, batch, p->last_of_queue[queue]);
        p->last_of_queue[queue] = (int)number;
    }
    for (uint32_t i = any(p, 3); i > 0; i--) {
        uint32_t timeline = any(p, TIMELINES);
        wait_for(p, number, timeline, p->values[timeline] - any(p, 2) * (p->values[timeline] > 0));
    }
    for (uint32_t i = any(p, 3); i > 0 && queue != HOST; i--)
        use_binary(p, number);
    for (uint32_t i = any(p, 3); i > 0 && (queue != HOST || !batch->signal_count); i--)
        signal_timeline(p, number);
    if (any(p, 2))
        use_event(p, number);
}

static void make_program(struct program *p, uint64_t seed)
{
    *p = (struct program){.random = seed * 0x9e3779b97f4a7c15ull | 1};
    p->queue_count = 2 + any(p, QUEUES - 1);
    p->count = 5 + any(p, BATCHES - 5);
    for (uint32_t i = 0; i < QUEUES; i++)
        p->last_of_queue[i] = -1;
    for (uint32_t i = 0; i < BINARIES; i++)
        p->signaller[i] = p->waiter[i] = -1;
    for (uint32_t i = 0; i < EVENTS; i++)
        p->setter[i] = p->resetter[i] = -1;
    for (uint32_t i = 0; i < p->count; i++)
        make_batch(p, i);
}

/* ---- real queues ---- */

struct real_queue {
    uint32_t todo[BATCHES], count, done;
};

struct machine {
    struct program *program;
    struct real_queue queues[QUEUES];
    uint32_t queue_count;
    uint64_t values[TIMELINES];
    bool signalled[BINARIES], set[EVENTS];
    const char *wrong;
};

static bool is_over(const struct machine *m, const struct point *wait)
{
    return wait->semaphore < TIMELINES ? m->values[wait->semaphore] >= wait->value
                                       : m->signalled[wait->semaphore - TIMELINES];
}

static bool all_over(const struct machine *m, const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->wait_count; i++)
        if (!is_over(m, &batch->waits[i]))
            return false;
    return batch->queue == HOST || batch->event == NONE || m->set[batch->event];
}

static void execute(struct machine *m, uint32_t number)
{
    struct batch *batch = &m->program->batches[number];

    for (uint32_t i = 0; i < m->program->count; i++)
        if ((batch->after >> i & 1) && !m->program->batches[i].executed)
            m->wrong = "a batch runs before one that it follows";
    for (uint32_t i = 0; i < batch->wait_count; i++)
        if (batch->waits[i].semaphore >= TIMELINES)
            m->signalled[batch->waits[i].semaphore - TIMELINES] = false;
    for (uint32_t i = 0; i < batch->signal_count; i++) {
        const struct point *signal = &batch->signals[i];
        if (signal->semaphore < TIMELINES) {
            if (signal->value <= m->values[signal->semaphore])
                m->wrong = "a timeline goes back";
            m->values[signal->semaphore] = signal->value;
        } else {
            if (m->signalled[signal->semaphore - TIMELINES])
                m->wrong = "a binary semaphore is signalled twice";
            m->signalled[signal->semaphore - TIMELINES] = true;
        }
    }
    if (batch->event != NONE)
        m->set[batch->event] = batch->queue == HOST;
    batch->executed = true;
}

/* Runs all that can run. False: some that was given can't. */
static bool settle(struct machine *m)
{
    bool moved = true, empty = true;

    while (moved) {
        moved = false;
        empty = true;
        for (uint32_t i = 0; i < m->queue_count; i++) {
            struct real_queue *queue = &m->queues[i];
            while (queue->done < queue->count && all_over(m, &m->program->batches[queue->todo[queue->done]])) {
                execute(m, queue->todo[queue->done++]);
                moved = true;
            }
            empty = empty && queue->done == queue->count;
        }
    }
    return empty;
}

/* ---- the replay ---- */

struct operation {
    struct replay_operation operation; /* first */
    struct player *player;
    uint32_t numbers[BATCHES], count;
    struct replay_batch batches[BATCHES];
    struct replay_point points[BATCHES * 2 * POINTS];
    struct replay_event_step steps[BATCHES * 2];
    bool ended;
};

struct player {
    struct machine machine;
    struct replay_schedule schedule;
    struct replay_recorded_queue queues[QUEUES];
    struct replay_semaphore semaphores[TIMELINES + BINARIES];
    struct replay_event events[EVENTS];
    uint32_t kept, dropped, ended;
};

static enum lap_status give(void *user, struct replay_operation *given, uint32_t first, uint32_t count)
{
    struct player *player = user;
    struct operation *operation = (struct operation *)(void *)given;

    for (uint32_t i = first; i < first + count; i++) {
        uint32_t number = operation->numbers[i];
        struct real_queue *queue =
            &player->machine.queues[player->machine.program->batches[number].queue % player->machine.queue_count];
        queue->todo[queue->count++] = number;
    }
    player->ended += first + count == given->batch_count;
    return LAP_OK;
}

static enum lap_status keep(void *user, const struct replay_operation *given, struct replay_operation **out_copy)
{
    struct player *player = user;
    struct operation *copy = malloc(sizeof *copy);

    if (!copy)
        return LAP_ERROR_MEMORY;
    memcpy(copy, given, sizeof *copy);
    copy->operation.batches = copy->batches;
    copy->operation.points = copy->points;
    copy->operation.steps = copy->steps;
    player->kept++;
    *out_copy = &copy->operation;
    return LAP_OK;
}

static void drop(void *user, struct replay_operation *copy)
{
    ((struct player *)user)->dropped++;
    free(copy);
}

static void player_init(struct player *player, struct program *program, uint32_t real_queues)
{
    *player = (struct player){
        .machine = {.program = program, .queue_count = real_queues},
        .schedule = {.user = player, .submit = give, .copy = keep, .drop = drop},
    };
    for (uint32_t i = 0; i < QUEUES; i++)
        replay_schedule_queue(&player->schedule, &player->queues[i]);
    for (uint32_t i = 0; i < TIMELINES; i++)
        player->semaphores[i].timeline = true;
}

static void add_points(struct player *player, struct operation *operation, uint32_t *count, const struct point *points,
                       uint32_t point_count)
{
    for (uint32_t i = 0; i < point_count; i++)
        operation->points[(*count)++] =
            (struct replay_point){&player->semaphores[points[i].semaphore], points[i].value};
}

/* One call with batches of one queue. */
static void submit(struct player *player, const uint32_t *numbers, uint32_t count)
{
    struct operation *operation = calloc(1, sizeof *operation);
    uint32_t points = 0, steps = 0;

    if (!operation)
        abort();
    operation->operation.batch_count = count;
    operation->operation.batches = operation->batches;
    operation->operation.points = operation->points;
    operation->operation.steps = operation->steps;
    for (uint32_t i = 0; i < count; i++) {
        const struct batch *batch = &player->machine.program->batches[numbers[i]];
        operation->numbers[i] = numbers[i];
        operation->batches[i] = (struct replay_batch){batch->wait_count, batch->signal_count, 0};
        if (batch->event != NONE) {
            struct replay_event *event = &player->events[batch->event];
            operation->batches[i].step_count = 2;
            operation->steps[steps++] = (struct replay_event_step){event, REPLAY_EVENT_WAIT};
            operation->steps[steps++] = (struct replay_event_step){event, REPLAY_EVENT_RESET};
        }
        add_points(player, operation, &points, batch->waits, batch->wait_count);
        add_points(player, operation, &points, batch->signals, batch->signal_count);
    }
    CHECK_EQ_INT(replay_schedule_add(&player->schedule,
                                     &player->queues[count ? player->machine.program->batches[numbers[0]].queue : 0],
                                     &operation->operation),
                 LAP_OK);
    free(operation);
}

/* Waits as it was recorded, then signals. */
static void act_as_host(struct player *player, uint32_t number)
{
    struct machine *m = &player->machine;
    const struct batch *batch = &m->program->batches[number];

    if (!settle(m) || !all_over(m, batch))
        m->wrong = "a recorded wait does not end";
    execute(m, number);
    for (uint32_t i = 0; i < batch->signal_count; i++)
        CHECK_EQ_INT(replay_schedule_signal(&player->schedule, &player->semaphores[batch->signals[i].semaphore],
                                            batch->signals[i].value),
                     LAP_OK);
    if (batch->event != NONE)
        CHECK_EQ_INT(replay_schedule_set(&player->schedule, &player->events[batch->event]), LAP_OK);
}

/* ---- calls in some order ---- */

/* The batches that a call would have, if the next batch of the queue can be submitted now; 0: it can't. What waits for
 * a binary semaphore, as the host does, comes behind all that its signal follows. */
static uint32_t next_call(struct program *p, uint32_t queue, uint32_t numbers[BATCHES])
{
    uint32_t count = 0, most = 1 + any(p, 3);

    for (uint32_t i = 0; i < p->count && count < most; i++) {
        const struct batch *batch = &p->batches[i];
        if (batch->queue != queue || batch->submitted)
            continue;
        if (count && batch->waits_binary)
            break;
        for (uint32_t j = 0; j < p->count && (batch->waits_binary || queue == HOST); j++)
            if ((batch->after >> j & 1) && !p->batches[j].submitted)
                return 0;
        numbers[count++] = i;
        if (queue == HOST)
            break;
    }
    return count;
}

typedef void submit_function(struct player *player, const uint32_t *numbers, uint32_t count);

/* What went wrong; NULL: nothing. */
static const char *play(struct player *player, submit_function *function)
{
    struct program *p = player->machine.program;
    uint32_t numbers[BATCHES], left = p->count;

    while (left && !player->machine.wrong) {
        uint32_t queue = any(p, p->queue_count + 1);
        queue = queue == p->queue_count ? HOST : queue;
        uint32_t count = next_call(p, queue, numbers);
        for (uint32_t i = 0; i < count; i++)
            p->batches[numbers[i]].submitted = true;
        left -= count;
        if (count && queue == HOST)
            act_as_host(player, numbers[0]);
        else if (count)
            function(player, numbers, count);
        if (any(p, 3) == 0 && function == submit && !settle(&player->machine))
            player->machine.wrong = "the driver was given what can't end";
    }
    if (!player->machine.wrong && (!settle(&player->machine) || player->schedule.held))
        player->machine.wrong = "the program does not end";
    for (uint32_t i = 0; i < p->count && !player->machine.wrong; i++)
        if (!p->batches[i].executed)
            player->machine.wrong = "a batch was lost";
    return player->machine.wrong;
}

static void play_seed(uint64_t seed, uint32_t *kept)
{
    static struct program program;
    static struct player player;
    const char *wrong;

    make_program(&program, seed);
    player_init(&player, &program, 1 + (uint32_t)(seed % program.queue_count));
    wrong = play(&player, submit);
    if (wrong)
        UNIT_FAIL("seed %" PRIu64 ", %u real queues for %u: %s", seed, player.machine.queue_count, program.queue_count,
                  wrong);
    replay_schedule_finish(&player.schedule);
    CHECK_EQ_U64(player.dropped, player.kept);
    *kept += player.kept;
}

UNIT_TEST(every_program_ends)
{
    uint64_t fresh = (uint64_t)time(NULL) * 100000;
    uint32_t kept = 0;

    for (uint64_t seed = 1; seed <= 3000; seed++)
        play_seed(seed, &kept);
    CHECK(kept > 3000); /* the programs are such that need it */
    for (uint64_t i = 0; i < 3000; i++)
        play_seed(fresh + i, &kept);
}

static void submit_at_once(struct player *player, const uint32_t *numbers, uint32_t count)
{
    struct operation operation = {.operation.batch_count = count};

    memcpy(operation.numbers, numbers, count * sizeof *numbers);
    (void)give(player, &operation.operation, 0, count);
}

UNIT_TEST(without_it_programs_hang)
{
    static struct program program;
    static struct player player;
    uint32_t hung = 0;

    for (uint64_t seed = 1; seed <= 200; seed++) {
        make_program(&program, seed);
        player_init(&player, &program, 1);
        hung += play(&player, submit_at_once) != NULL;
    }
    CHECK(hung > 100);
}

/* ---- by hand ---- */

/* Queue 0 waits for 1 and signals 2, queue 1 waits for 2 and signals 3, queue 2 signals 1. */
static void make_chain(struct program *p)
{
    *p = (struct program){.count = 3, .queue_count = 3};
    p->batches[0] = (struct batch){.queue = 2, .signals = {{0, 1}}, .signal_count = 1};
    p->batches[1] =
        (struct batch){.queue = 0, .waits = {{0, 1}}, .wait_count = 1, .signals = {{0, 2}}, .signal_count = 1};
    p->batches[2] =
        (struct batch){.queue = 1, .waits = {{0, 2}}, .wait_count = 1, .signals = {{0, 3}}, .signal_count = 1};
    for (uint32_t i = 0; i < p->count; i++)
        p->batches[i].event = NONE;
}

UNIT_TEST(a_chain_runs_backwards)
{
    struct program program;
    struct player player;

    make_chain(&program);
    player_init(&player, &program, 1);
    submit(&player, &(uint32_t){2}, 1);
    submit(&player, &(uint32_t){1}, 1);
    CHECK_EQ_U64(player.machine.queues[0].count, 0);
    CHECK_EQ_U64(player.schedule.held, 2);
    submit(&player, &(uint32_t){0}, 1);
    CHECK_EQ_U64(player.schedule.held, 0);
    CHECK_EQ_U64(player.machine.queues[0].count, 3);
    CHECK(settle(&player.machine));
    CHECK_EQ_U64(player.machine.values[0], 3);
    CHECK_EQ_U64(player.dropped, 2);
}

UNIT_TEST(what_stands_behind_is_held_too)
{
    struct program program;
    struct player player;

    make_chain(&program);
    program.batches[2].queue = 0; /* behind the one that waits, in one call */
    player_init(&player, &program, 1);
    submit(&player, (uint32_t[]){1, 2}, 2);
    submit(&player, NULL, 0); /* a fence on the same queue */
    CHECK_EQ_U64(player.ended, 0);
    CHECK(replay_schedule_names(&player.schedule, &player.semaphores[0]));
    CHECK(!replay_schedule_names(&player.schedule, &player.semaphores[1]));
    CHECK_EQ_INT(replay_schedule_signal(&player.schedule, &player.semaphores[0], 1), LAP_OK);
    CHECK_EQ_U64(player.ended, 2);
    CHECK_EQ_U64(player.machine.queues[0].count, 2);
}

/* The first batch of a call goes while the second waits for what the first lets happen elsewhere. */
UNIT_TEST(calls_are_given_in_parts)
{
    struct program program;
    struct player player;

    make_chain(&program);
    program.batches[0].queue = program.batches[2].queue = 0;
    program.batches[1].queue = 1;
    player_init(&player, &program, 1);
    submit(&player, (uint32_t[]){0, 2}, 2);
    CHECK_EQ_U64(player.machine.queues[0].count, 1);
    CHECK_EQ_U64(player.ended, 0);
    submit(&player, &(uint32_t){1}, 1);
    CHECK_EQ_U64(player.ended, 2);
    CHECK(settle(&player.machine));
}

UNIT_TEST(all_goes_when_it_must)
{
    struct program program;
    struct player player;

    make_chain(&program);
    player_init(&player, &program, 1);
    submit(&player, &(uint32_t){2}, 1);
    submit(&player, &(uint32_t){1}, 1);
    CHECK_EQ_INT(replay_schedule_flush(&player.schedule), LAP_OK);
    CHECK_EQ_U64(player.schedule.held, 0);
    CHECK_EQ_U64(player.machine.queues[0].todo[0], 2); /* as they came */
    CHECK_EQ_U64(player.machine.queues[0].todo[1], 1);
}

UNIT_TEST(what_is_left_is_dropped)
{
    struct program program;
    struct player player;

    make_chain(&program);
    player_init(&player, &program, 1);
    submit(&player, &(uint32_t){2}, 1);
    replay_schedule_finish(&player.schedule);
    CHECK_EQ_U64(player.machine.queues[0].count, 0);
    CHECK_EQ_U64(player.dropped, 1);
    CHECK_EQ_U64(player.schedule.held, 0);
}

/* One step after the other on one event each, as command buffers do it. */
struct work {
    struct replay_operation operation;
    struct replay_batch batches[2];
    struct replay_event_step steps[4];
};
static uint32_t given_batches;

static enum lap_status count_given(void *user, struct replay_operation *operation, uint32_t first, uint32_t count)
{
    given_batches += count;
    return LAP_OK;
}

static enum lap_status keep_work(void *user, const struct replay_operation *given, struct replay_operation **out_copy)
{
    struct work *copy = malloc(sizeof *copy);

    if (!copy)
        abort();
    memcpy(copy, given, sizeof *copy);
    copy->operation.batches = copy->batches;
    copy->operation.steps = copy->steps;
    *out_copy = &copy->operation;
    return LAP_OK;
}

static void drop_work(void *user, struct replay_operation *copy)
{
    free(copy);
}

static void add_work(struct replay_schedule *schedule, struct replay_recorded_queue *queue, const struct work *work)
{
    struct work copy = *work;

    copy.operation.batch_count = copy.batches[1].step_count ? 2 : 1;
    copy.operation.batches = copy.batches;
    copy.operation.steps = copy.steps;
    CHECK_EQ_INT(replay_schedule_add(schedule, queue, &copy.operation), LAP_OK);
}

UNIT_TEST(work_waits_for_events_of_the_host)
{
    struct replay_schedule schedule = {.submit = count_given, .copy = keep_work, .drop = drop_work};
    struct replay_recorded_queue queue = {0}, other = {0};
    struct replay_event event = {0}, own = {0};
    const struct work turn = {.batches = {{0, 0, 4}},
                              .steps = {{&own, REPLAY_EVENT_SET},
                                        {&own, REPLAY_EVENT_WAIT}, /* set by itself */
                                        {&event, REPLAY_EVENT_WAIT},
                                        {&event, REPLAY_EVENT_RESET}}};

    given_batches = 0;
    replay_schedule_queue(&schedule, &queue);
    replay_schedule_queue(&schedule, &other);
    CHECK_EQ_INT(replay_schedule_set(&schedule, &event), LAP_OK);
    add_work(&schedule, &queue, &turn);
    CHECK_EQ_U64(given_batches, 1); /* it was set before */
    add_work(&schedule, &queue, &turn);
    add_work(&schedule, &queue, &turn);
    add_work(&schedule, &other, &(struct work){.batches = {{0, 0, 0}}});
    CHECK_EQ_U64(given_batches, 2); /* on the other queue only */
    CHECK(replay_schedule_names_event(&schedule, &event));
    CHECK_EQ_INT(replay_schedule_set(&schedule, &event), LAP_OK);
    CHECK_EQ_U64(given_batches, 3); /* the first of both resets it */
    replay_schedule_reset(&event);
    CHECK_EQ_U64(schedule.held, 1);
    CHECK_EQ_INT(replay_schedule_set(&schedule, &event), LAP_OK);
    CHECK_EQ_U64(given_batches, 4);
    CHECK(!replay_schedule_names_event(&schedule, &event));
}

/* The device tells the host, and the host the device, in one command buffer. */
UNIT_TEST(what_the_program_saw_set_is_given)
{
    struct replay_schedule schedule = {.submit = count_given, .copy = keep_work, .drop = drop_work};
    struct replay_recorded_queue queue = {0};
    struct replay_event answer = {0}, question = {0}, never = {0};
    const struct work turn = {.batches = {{0, 0, 3}, {0, 0, 1}},
                              .steps = {{&question, REPLAY_EVENT_SET},
                                        {&answer, REPLAY_EVENT_WAIT},
                                        {&answer, REPLAY_EVENT_RESET},
                                        {&never, REPLAY_EVENT_WAIT}}};

    given_batches = 0;
    replay_schedule_queue(&schedule, &queue);
    add_work(&schedule, &queue, &turn);
    CHECK_EQ_U64(given_batches, 0);
    CHECK_EQ_INT(replay_schedule_seen(&schedule, &never), LAP_OK);
    CHECK_EQ_U64(given_batches, 0);
    CHECK_EQ_INT(replay_schedule_seen(&schedule, &question), LAP_OK);
    CHECK_EQ_U64(given_batches, 1);
    CHECK_EQ_U64(schedule.held, 1);
    CHECK_EQ_U64(schedule.awaited, 1);
    CHECK_EQ_INT(replay_schedule_set(&schedule, &answer), LAP_OK);
    CHECK_EQ_U64(schedule.awaited, 0);
    CHECK(!answer.set); /* what was given resets it */
    CHECK_EQ_INT(replay_schedule_set(&schedule, &never), LAP_OK);
    CHECK_EQ_U64(given_batches, 2);
    CHECK_EQ_U64(schedule.held, 0);
    add_work(&schedule, &queue, &turn);
    CHECK_EQ_U64(given_batches, 2); /* the next turn waits again */
    replay_schedule_finish(&schedule);
}

UNIT_TEST(binary_semaphores_take_turns)
{
    struct replay_semaphore before = {0}, now = {0};
    struct replay_schedule schedule = {0};

    CHECK(replay_schedule_wait(&before)); /* signalled when there was no schedule yet */
    CHECK(!replay_schedule_wait(&before));
    CHECK_EQ_INT(replay_schedule_signal(&schedule, &now, 0), LAP_OK);
    CHECK(replay_schedule_wait(&now));
    CHECK(!replay_schedule_wait(&now));
}

UNIT_MAIN();
