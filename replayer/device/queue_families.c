/* SPDX-License-Identifier: MIT */
#include "replayer/device/queue_families.h"

#include <stdio.h>
#include <string.h>

/* Graphics and compute imply transfer, whether the driver reports it or not. */
static VkQueueFlags kinds_of(VkQueueFlags flags)
{
    return flags & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT) ? flags | VK_QUEUE_TRANSFER_BIT : flags;
}

static unsigned count_bits(uint32_t bits)
{
    return (unsigned)__builtin_popcount(bits);
}

/* ---- requirements ---- */

void replay_family_needs_kinds(struct replay_family_needs *needs, VkQueueFlags kinds)
{
    needs->one_of |= lap_queue_kinds_set(kinds);
    if (!(kinds & LAP_QUEUE_KINDS))
        needs->other |= kinds;
}

/* The recorded machine took the work, so what its family lacks is not needed: drivers may allow more. */
void replay_family_needs_sets(struct replay_family_needs *needs, uint64_t sets, VkQueueFlags flags)
{
    for (; sets; sets &= sets - 1)
        if (!flags || lap_queue_kinds_pack(kinds_of(flags)) & (uint32_t)__builtin_ctzll(sets))
            needs->one_of |= sets & -sets;
}

#define STAGE_VIDEO_ENCODE ((VkPipelineStageFlags2)1 << 27) /* in older headers it is provisional */

/* "Supported Pipeline Stage Flags" of the specification. */
static const struct {
    VkPipelineStageFlags2 stages;
    VkQueueFlags kinds;
} stage_kinds[] = {
    {VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT | VK_PIPELINE_STAGE_2_INDEX_INPUT_BIT |
         VK_PIPELINE_STAGE_2_VERTEX_ATTRIBUTE_INPUT_BIT | VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT |
         VK_PIPELINE_STAGE_2_TESSELLATION_CONTROL_SHADER_BIT | VK_PIPELINE_STAGE_2_TESSELLATION_EVALUATION_SHADER_BIT |
         VK_PIPELINE_STAGE_2_GEOMETRY_SHADER_BIT | VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT |
         VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |
         VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT | VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT |
         VK_PIPELINE_STAGE_2_ALL_GRAPHICS_BIT | VK_PIPELINE_STAGE_2_TRANSFORM_FEEDBACK_BIT_EXT |
         VK_PIPELINE_STAGE_2_FRAGMENT_SHADING_RATE_ATTACHMENT_BIT_KHR |
         VK_PIPELINE_STAGE_2_FRAGMENT_DENSITY_PROCESS_BIT_EXT | VK_PIPELINE_STAGE_2_TASK_SHADER_BIT_NV |
         VK_PIPELINE_STAGE_2_MESH_SHADER_BIT_NV | VK_PIPELINE_STAGE_2_BLIT_BIT,
     VK_QUEUE_GRAPHICS_BIT},
    {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_RAY_TRACING_SHADER_BIT_KHR |
         VK_PIPELINE_STAGE_2_ACCELERATION_STRUCTURE_BUILD_BIT_KHR,
     VK_QUEUE_COMPUTE_BIT},
    {VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_COMMAND_PREPROCESS_BIT_NV |
         VK_PIPELINE_STAGE_2_CONDITIONAL_RENDERING_BIT_EXT | VK_PIPELINE_STAGE_2_RESOLVE_BIT |
         VK_PIPELINE_STAGE_2_CLEAR_BIT,
     VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT},
    {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT,
     VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT},
    {VK_PIPELINE_STAGE_2_VIDEO_DECODE_BIT_KHR, LAP_QUEUE_VIDEO_DECODE},
    {STAGE_VIDEO_ENCODE, LAP_QUEUE_VIDEO_ENCODE},
};

void replay_family_needs_stages(struct replay_family_needs *needs, VkPipelineStageFlags2 stages, VkQueueFlags flags)
{
    for (size_t i = 0; i < sizeof stage_kinds / sizeof *stage_kinds; i++)
        /* Half of an ownership transfer may use stages that only the other family supports. */
        if ((stages & stage_kinds[i].stages) && (!flags || (kinds_of(flags) & stage_kinds[i].kinds)))
            replay_family_needs_kinds(needs, stage_kinds[i].kinds);
}

void replay_family_needs_flags(struct replay_family_needs *needs, VkQueueFlags flags)
{
    flags = kinds_of(flags);
    for (VkQueueFlags kind = 1; kind < LAP_QUEUE_KINDS; kind <<= 1)
        if (flags & kind & LAP_QUEUE_KINDS)
            replay_family_needs_kinds(needs, kind);
}

/* The number of required kinds that a family lacks. */
static unsigned lacks(const struct replay_family_needs *needs, VkQueueFlags flags)
{
    unsigned count = count_bits(needs->other & ~flags);

    for (uint64_t sets = needs->one_of; sets; sets &= sets - 1)
        count += !(lap_queue_kinds_pack(kinds_of(flags)) & (uint32_t)__builtin_ctzll(sets));
    return count;
}

static void append(char out[REPLAY_KINDS_BYTES], const char *text)
{
    size_t length = strlen(out);
    snprintf(out + length, REPLAY_KINDS_BYTES - length, "%s", text);
}

static void append_kinds(char out[REPLAY_KINDS_BYTES], uint32_t kinds)
{
    static const char *const names[LAP_QUEUE_KIND_COUNT] = {"graphics",       "compute",        "transfer",
                                                            "sparse binding", "video decoding", "video encoding"};
    const char *between = out[0] ? ", " : "";

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (kinds >> i & 1) {
            append(out, between);
            append(out, names[i]);
            between = " or ";
        }
}

void replay_family_needs_write(const struct replay_family_needs *needs, char out[REPLAY_KINDS_BYTES])
{
    out[0] = 0;
    for (uint32_t kinds = 1; kinds < 1u << LAP_QUEUE_KIND_COUNT; kinds++) {
        bool implied = false; /* a narrower requirement in the set already implies this one */
        for (uint32_t less = 1; less < kinds; less++)
            implied = implied || ((needs->one_of >> less & 1) && (less & kinds) == less);
        if ((needs->one_of >> kinds & 1) && !implied)
            append_kinds(out, kinds);
    }
    if (needs->other) {
        append(out, out[0] ? ", " : "");
        append(out, "work of other kinds");
    }
    if (!out[0])
        append(out, "nothing that is known");
}

/* ---- plans ---- */

static bool divides(uint32_t part, uint32_t whole)
{
    return part == 1 || part == whole || (part && whole && whole % part == 0);
}

/* Whether every copy of part of an image that was valid on the recorded family is valid on this one. */
static bool takes_copies(const VkQueueFamilyProperties *available, const struct replay_recorded_family *recorded)
{
    const VkQueueFlags any_part =
        VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT; /* independent of the granularity that the driver reports */
    const VkExtent3D *part = &available->minImageTransferGranularity, one = {1, 1, 1};
    const VkExtent3D *was = !recorded->flags || recorded->flags & any_part ? &one : &recorded->granularity;

    return available->queueFlags & any_part ||
           (divides(part->width, was->width) && divides(part->height, was->height) && divides(part->depth, was->depth));
}

/* Maps the families without queues too: the lists of CONCURRENT objects contain them. */
static void name_the_rest(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES], uint32_t available_count,
                          struct replay_queue_plan *plan)
{
    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        if (!recorded[i].queue_count)
            plan->families[i] = i < available_count ? i : 0;
        plan->differs = plan->differs || (plan->families[i] != i && (recorded[i].queue_count || recorded[i].flags));
    }
}

static void take(struct replay_queue_plan *plan, const struct replay_recorded_family *recorded, uint32_t number,
                 uint32_t family, uint32_t most, uint64_t *used)
{
    most = most ? most : 1;
    plan->families[number] = family;
    plan->first_queues[number] = (uint32_t)(*used % most);
    *used += recorded->queue_count;
    plan->shared = plan->shared || *used > most;
    plan->queue_counts[family] = *used < most ? (uint32_t)*used : most;
}

bool replay_queue_plan_identity(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES],
                                const VkQueueFamilyProperties *available, uint32_t available_count,
                                struct replay_queue_plan *out_plan)
{
    *out_plan = (struct replay_queue_plan){.failed = UINT32_MAX};
    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        struct replay_family_needs all = {0};
        uint64_t used = 0;
        if (!recorded[i].queue_count)
            continue;
        replay_family_needs_flags(&all, recorded[i].flags);
        if (i >= available_count || !recorded[i].flags || recorded[i].queue_count > available[i].queueCount ||
            lacks(&all, available[i].queueFlags) || !takes_copies(&available[i], &recorded[i]))
            return false;
        take(out_plan, &recorded[i], i, i, available[i].queueCount, &used);
    }
    name_the_rest(recorded, available_count, out_plan);
    return true;
}

struct planning {
    const struct replay_recorded_family *recorded;
    const VkQueueFamilyProperties *available;
    uint32_t available_count;
    uint64_t used[REPLAY_MAX_FAMILIES];
};

/* The cost of a mapping; the first part weighs most. */
#define COST_PARTS 6u
static void cost_of(const struct planning *p, uint32_t number, uint32_t family, uint64_t out[COST_PARTS])
{
    const struct replay_recorded_family *recorded = &p->recorded[number];
    const VkQueueFamilyProperties *available = &p->available[family];
    const VkQueueFlags compared = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT |
                                  LAP_QUEUE_VIDEO_DECODE | LAP_QUEUE_VIDEO_ENCODE;
    VkQueueFlags kinds = kinds_of(available->queueFlags) & compared, were = kinds_of(recorded->flags) & compared;
    uint64_t used = p->used[family] + recorded->queue_count;

    out[0] = lacks(&recorded->needs, available->queueFlags);
    out[1] = (recorded->needs.image_copies && !takes_copies(available, recorded)) +
             (recorded->needs.timestamps && !available->timestampValidBits);
    out[2] = used > available->queueCount ? used - available->queueCount : 0;
    out[3] = recorded->flags ? kinds != were : number != family;
    out[4] = recorded->flags ? count_bits(kinds) : LAP_QUEUE_KIND_COUNT - count_bits(kinds);
    out[5] = number != family;
}

static uint32_t cheapest(const struct planning *p, uint32_t number, uint64_t best[COST_PARTS])
{
    uint32_t chosen = REPLAY_MAX_FAMILIES;

    for (uint32_t i = 0; i < p->available_count; i++) {
        uint64_t cost[COST_PARTS];
        uint32_t part = 0;
        cost_of(p, number, i, cost);
        while (part < COST_PARTS && cost[part] == best[part])
            part++;
        if (chosen == REPLAY_MAX_FAMILIES || (part < COST_PARTS && cost[part] < best[part])) {
            memcpy(best, cost, sizeof cost);
            chosen = i;
        }
    }
    return chosen;
}

static uint32_t count_choices(const struct planning *p, uint32_t number)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < p->available_count; i++)
        count += lacks(&p->recorded[number].needs, p->available[i].queueFlags) == 0;
    return count;
}

/* Of the families that are not yet mapped, the one with the fewest choices. */
static uint32_t next_family(const struct planning *p, uint32_t placed)
{
    uint32_t next = REPLAY_MAX_FAMILIES, fewest = UINT32_MAX;

    for (uint32_t i = 0; i < REPLAY_MAX_FAMILIES; i++) {
        uint32_t count = p->recorded[i].queue_count && !(placed >> i & 1) ? count_choices(p, i) : UINT32_MAX;
        if (count < fewest) {
            fewest = count;
            next = i;
        }
    }
    return next;
}

enum lap_status replay_queue_plan_choose(const struct replay_recorded_family recorded[REPLAY_MAX_FAMILIES],
                                         const VkQueueFamilyProperties *available, uint32_t available_count, bool force,
                                         struct replay_queue_plan *out_plan)
{
    struct planning p = {.recorded = recorded, .available = available, .available_count = available_count};
    enum lap_status status = LAP_OK;
    uint32_t placed = 0, number;

    *out_plan = (struct replay_queue_plan){.failed = UINT32_MAX};
    while ((number = next_family(&p, placed)) < REPLAY_MAX_FAMILIES) {
        uint64_t cost[COST_PARTS] = {0};
        uint32_t family = cheapest(&p, number, cost);
        placed |= 1u << number;
        if (cost[0] && !force) {
            status = LAP_ERROR_UNSUPPORTED;
            out_plan->failed = number < out_plan->failed ? number : out_plan->failed;
            family = 0;
        }
        if (cost[1])
            out_plan->unfit |= 1u << number;
        take(out_plan, &recorded[number], number, family, available[family].queueCount, &p.used[family]);
    }
    name_the_rest(recorded, available_count, out_plan);
    return status;
}

uint32_t replay_queue_plan_number(const struct replay_queue_plan *plan, uint32_t family, uint32_t number)
{
    uint32_t count = plan->queue_counts[plan->families[family]];

    return count ? (uint32_t)(((uint64_t)plan->first_queues[family] + number) % count) : 0;
}
