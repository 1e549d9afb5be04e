/* SPDX-License-Identifier: MIT */
/* A slice from its three floors: facts (slice_see.h), what stays (slice_solve.h), and what both say of it (slice.h). */
#include "inspector/slice/slice.h"

#include <stdlib.h>

#include "inspector/slice/slice_see.h"
#include "inspector/slice/slice_solve.h"

#define STEP_BYTES (UINT64_C(1) << 20) /* of packets, between two reports of progress */

struct slice {
    struct slice_facts facts;
    struct slice_solution solution;
    struct slice_expansion expansion;
    enum lap_status status;
};

/* ---- the whole ---- */

/* Of a part that ends with a command. */
static enum lap_status check_waits(const struct slice *s)
{
    for (size_t i = 1; i < s->facts.packet_count; i++)
        if (s->facts.packets[i].unreached && s->solution.packets[i].kept)
            return lap_fail(LAP_ERROR_UNSUPPORTED,
                            "packet #%zu waits for a value of a semaphore that is signalled behind the command, which "
                            "would not be there",
                            i - 1);
    return LAP_OK;
}

static enum lap_status find(struct slice *s, const struct lap_reader *trace, slice_progress_fn progress, void *user)
{
    struct trace_visitor visitors[2] = {slice_see_visitor(&s->facts)};
    unsigned visitor_count = 1;
    struct trace_pass *pass = NULL;
    enum lap_status status;

    if (s->facts.takes && s->facts.first > 1)
        image_layouts_visitor(s->solution.taking->layouts, s->facts.first - 1, &visitors[visitor_count++]);
    status = s->status == LAP_OK ? trace_pass_open(trace, 0, visitors, visitor_count, &pass) : s->status;
    for (uint64_t bytes = STEP_BYTES; status == LAP_OK; bytes += STEP_BYTES) {
        status = s->status == LAP_OK ? trace_pass_advance(pass, bytes) : s->status;
        if (progress)
            progress(user, trace_pass_packet(pass)->ticket, s->facts.last * 2);
    }
    trace_pass_close(&pass);
    if (status == LAP_END)
        status = s->status;
    if (status == LAP_OK) {
        slice_see_end(&s->facts, &s->expansion);
        status = s->status;
    }
    if (status == LAP_OK)
        status = slice_solve(&s->solution);
    return status == LAP_OK && s->facts.draw.at ? check_waits(s) : status;
}

static enum lap_status create(const struct lap_reader *trace, const struct slice_facts *asked,
                              const struct contents_file *file, slice_progress_fn progress, void *user,
                              struct slice **out)
{
    struct slice *s = *out = calloc(1, sizeof *s);
    enum lap_status status;

    if (!s)
        return lap_no_memory(NULL);
    s->facts = *asked;
    s->facts.status = &s->status;
    s->solution = (struct slice_solution){.facts = &s->facts, .sets = &s->facts.sets, .expansion = &s->expansion};
    if (s->facts.takes && !(s->solution.taking = slice_taking_create(file)))
        status = lap_no_memory(NULL);
    else
        status = find(s, trace, progress, user);
    if (status != LAP_OK)
        slice_destroy(out);
    return status;
}

enum lap_status slice_find(const struct lap_reader *trace, uint64_t first, uint64_t last,
                           const struct position_found *draw, slice_progress_fn progress, void *user,
                           struct slice **out)
{
    const struct slice_facts asked = {.first = first, .last = last, .draw.at = draw};
    return create(trace, &asked, NULL, progress, user, out);
}

enum lap_status slice_find_with_contents(const struct lap_reader *trace, uint64_t first, uint64_t last,
                                         const struct contents_file *file, slice_progress_fn progress, void *user,
                                         struct slice **out)
{
    const struct slice_facts asked = {.first = first, .last = last, .takes = true};
    return create(trace, &asked, file, progress, user, out);
}

void slice_destroy(struct slice **slice)
{
    struct slice *s = *slice;

    if (!s)
        return;
    slice_facts_finish(&s->facts);
    slice_expansion_finish(&s->expansion);
    slice_taking_destroy(s->solution.taking);
    free(s->solution.packets);
    free(s);
    *slice = NULL;
}

/* ---- what stays ---- */

enum slice_fate slice_fate_of(const struct slice *s, uint64_t ticket)
{
    const struct slice_stay *p;

    if (ticket >= s->facts.packet_count)
        return SLICE_DROPPED;
    p = &s->solution.packets[ticket];
    if (s->facts.packets[ticket].kind != SLICE_BLOCK || ticket >= s->facts.first)
        return p->kept ? SLICE_KEPT : SLICE_DROPPED;
    if (s->solution.taking && s->solution.taking->records_again ? p->early : p->whole)
        return SLICE_KEPT;
    return p->kept ? SLICE_EMPTIED : SLICE_DROPPED;
}

/* An object that has this number. */
static bool number_stays(const struct slice *s, uint32_t type, size_t index)
{
    const uint32_t object = s->facts.numbers[type].at[index], maker = object ? s->facts.objects[object].maker : 0;
    return maker && s->solution.packets[maker].kept;
}

uint64_t slice_holes(const struct slice *s)
{
    uint64_t holes = 0;

    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        uint64_t behind = 0; /* the highest that stays so far */
        for (size_t index = 1; index < s->facts.numbers[type].capacity; index++)
            if (number_stays(s, type, index)) {
                holes += index - behind - 1;
                behind = index;
            }
    }
    return holes;
}

bool slice_executes(const struct slice *s, uint64_t ticket)
{
    return slice_fate_of(s, ticket) == SLICE_KEPT && s->facts.packets[ticket].subjects.count;
}

uint64_t slice_next_number(const struct slice *s, uint32_t type)
{
    for (size_t index = s->facts.numbers[type].capacity; index-- > 1;)
        if (number_stays(s, type, index))
            return index + 1;
    return 1;
}

/* ---- suspended rendering ---- */

struct slice_fences slice_fences_of(const struct slice *s, uint64_t ticket)
{
    const struct slice_packet *p = ticket < s->facts.packet_count ? &s->facts.packets[ticket] : NULL;
    bool alone =
        p && p->kind == SLICE_BLOCK && ticket < s->facts.first && s->solution.packets[ticket].whole && p->submitted;
    return (struct slice_fences){.front = alone && !p->goes_on, .behind = alone && !p->pauses};
}

bool slice_is_suspended(const struct slice *s, unsigned place, uint64_t *out_block, uint32_t *out_command)
{
    *out_block = s->facts.draw.prefixes[place].suspended.block;
    *out_command = s->facts.draw.prefixes[place].suspended.command;
    return *out_block != 0;
}

enum slice_leaves slice_leaves_executed(const struct slice *s, unsigned place, uint32_t first, uint32_t count,
                                        uint64_t *out_block, uint32_t *out_command)
{
    struct slice_run executed = s->facts.packets[s->facts.draw.prefixes[place].packet].subjects;

    for (uint32_t i = first + count; i-- > first;) {
        uint32_t packet = i < executed.count ? s->facts.ids.at[executed.from + i] : 0;
        if (s->facts.packets[packet].leaves == SLICE_LEAVES_SUSPENDED) {
            struct slice_suspended at = slice_find_begin(&s->facts, (struct slice_suspended){.packet = packet});
            *out_block = at.block;
            *out_command = at.command;
        }
        if (s->facts.packets[packet].leaves != SLICE_LEAVES_AS_IT_WAS)
            return (enum slice_leaves)s->facts.packets[packet].leaves;
    }
    return SLICE_LEAVES_AS_IT_WAS;
}

/* ---- contents ---- */

const struct contents *slice_contents(const struct slice *s)
{
    static const struct contents none;
    return s->solution.taking ? &s->solution.taking->list : &none;
}

/* Some objects may not stay that only share contents with those that the part needs. */
bool slice_takes_content(const struct slice *s, size_t line)
{
    static const uint16_t types[] = {[CONTENT_BUFFER] = GEN_HANDLE_VkBuffer,
                                     [CONTENT_IMAGE] = GEN_HANDLE_VkImage,
                                     [CONTENT_QUERIES] = GEN_HANDLE_VkQueryPool};
    const struct content *content;

    if (!s->solution.taking || !s->solution.taking->is_taken || line >= s->solution.taking->list.count ||
        !s->solution.taking->is_taken[line])
        return false;
    content = &s->solution.taking->list.at[line];
    return s->solution.packets[s->facts.objects[s->facts.numbers[types[content->kind]].at[content->index]].maker].kept;
}

const struct contents *slice_laid(const struct slice *s)
{
    static const struct contents none;
    return s->solution.taking ? &s->solution.taking->laid : &none;
}

bool slice_takes_layout(const struct slice *s, size_t line)
{
    const uint64_t image = slice_laid(s)->at[line].index;
    return s->solution.packets[s->facts.objects[s->facts.numbers[GEN_HANDLE_VkImage].at[image]].maker].kept;
}

void slice_count_contents(const struct slice *s, uint64_t *out_wanted, uint64_t *out_taken)
{
    *out_wanted = s->solution.taking ? s->solution.taking->wanted : 0;
    *out_taken = s->solution.taking ? s->solution.taking->taken : 0;
}

uint32_t slice_queue_family(const struct slice *s, uint64_t queue)
{
    return s->solution.taking ? image_layouts_family(s->solution.taking->layouts, queue) : UINT32_MAX;
}

const VkImageCreateInfo *slice_image_info(const struct slice *s, uint64_t image)
{
    return &image_layouts_find(s->solution.taking->layouts, image)->info;
}

uint64_t slice_parent_of(const struct slice *s, uint32_t type, uint64_t index, uint32_t parent_type)
{
    const uint32_t object = index < s->facts.numbers[type].capacity ? s->facts.numbers[type].at[index] : 0;
    const struct slice_run names = s->facts.packets[s->facts.objects[object].maker].names;

    for (uint32_t i = 0; i < names.count; i++)
        if (s->facts.objects[s->facts.ids.at[names.from + i]].type == parent_type)
            return s->facts.objects[s->facts.ids.at[names.from + i]].index;
    return 0;
}

bool slice_records_again(const struct slice *s, uint64_t ticket)
{
    return s->solution.taking && s->solution.taking->records_again && ticket < s->facts.first &&
           ticket < s->facts.packet_count && s->facts.packets[ticket].kind == SLICE_BLOCK &&
           s->solution.packets[ticket].late;
}

bool slice_is_postponed(const struct slice *s, uint64_t ticket)
{
    return ticket < s->facts.packet_count && s->solution.packets[ticket].postponed;
}

uint64_t slice_next_alive(const struct slice *s, uint32_t type, uint64_t behind)
{
    for (uint64_t index = behind + 1; index < s->facts.numbers[type].capacity; index++)
        if (number_stays(s, type, index) &&
            slice_is_alive(&s->facts, &s->facts.objects[s->facts.numbers[type].at[index]]))
            return index;
    return 0;
}

uint64_t slice_unused_number(const struct slice *s, uint32_t type)
{
    uint64_t index = s->facts.numbers[type].capacity;

    while (index > 1 && !s->facts.numbers[type].at[index - 1])
        index--;
    return index ? index : 1;
}
