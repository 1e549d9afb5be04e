/* SPDX-License-Identifier: MIT */
/*
 * slice_see: fills the facts of a slice, packet by packet up to the end of the part. The second floor: it knows nothing
 * of what stays.
 */
#ifndef LAP_INSPECTOR_SLICE_SLICE_SEE_H
#define LAP_INSPECTOR_SLICE_SLICE_SEE_H

#include "gen_decode.h"
#include "gen_effects.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/slice/slice_facts.h"

/* slice_see.c */
/* For a pass over the trace, once; and behind it. Failures are latched. */
struct trace_visitor slice_see_visitor(struct slice_facts *f);
void slice_see_end(struct slice_facts *f, struct slice_expansion *e);

/* slice_objects.c */
/* Objects by type and trace index; made where there is none yet. 0 after a failure, which is latched. */
uint32_t slice_object_of(struct slice_facts *f, uint32_t type, uint64_t index);
#define OBJECT(f, type, handle) slice_object_of(f, GEN_HANDLE_##type, gen_u64_##type(handle))
uint32_t slice_new_object(struct slice_facts *f, uint32_t type);
void slice_join(struct slice_facts *f, uint32_t a, uint32_t b);
/* All levels, layers and aspects. */
bool slice_covers(const struct slice_object *image, const VkImageSubresourceRange *range);
/* Whether attachments begin without their old contents. */
static inline bool slice_begins_anew(VkAttachmentLoadOp load)
{
    return load == VK_ATTACHMENT_LOAD_OP_CLEAR || load == VK_ATTACHMENT_LOAD_OP_DONT_CARE;
}
/* In which block it was accessed (slice_visit). NULL after a failure, which is latched. */
uint32_t *slice_seen_of(struct slice_facts *f, uint32_t object);
/* From what its creation names; before any other object can lead to it. */
void slice_note_contents(struct slice_facts *f, uint32_t object, struct slice_run names);
void slice_see_creation(struct slice_facts *f, const struct trace_call *call);
void slice_see_place(struct slice_facts *f, uint32_t object, VkDeviceMemory memory, uint64_t offset, uint64_t size);
void slice_see_bound_image(struct slice_facts *f, const struct gen_args_lapilliBindImage *a);
void slice_join_places(struct slice_facts *f); /* at the end of the trace: then roots are known */

/* slice_sets.c */
void slice_see_set_layout(struct slice_facts *f, const VkDescriptorSetLayoutCreateInfo *info, uint32_t object);
void slice_see_sets(struct slice_facts *f, const struct gen_args_vkAllocateDescriptorSets *args);
struct slice_run slice_update_sets(struct slice_facts *f, const void *args, uint32_t packet);

/* slice_sync.c */
/* False: the packet stays in any case. */
bool slice_note_sync(struct slice_facts *f, const struct trace_call *call, uint32_t packet);
/* At the end of the trace: fills the needs. */
void slice_join_syncs(struct slice_facts *f);
/* Those of a kind by object and value, for the caller to free; and the first of them that reaches a value, 0: none. */
struct slice_sync *slice_sync_of_kind(const struct slice_facts *f, enum slice_sync_kind kind, size_t *out_count);
uint32_t slice_first_with(const struct slice_sync *syncs, size_t count, uint32_t object, uint64_t value);

/* slice_suspended.c */
/* Each command of a block. */
void slice_see_suspended(struct slice_facts *f, const struct trace_call *call);
void slice_see_suspended_submit(struct slice_facts *f); /* whose command buffers are f->now.doing */
/* Behind slice_draw_add, which gave `first`. */
void slice_find_suspended(struct slice_facts *f, uint32_t first);
/* Of steps of a block, and of the blocks that they execute. *out: the rendering suspended then; its block is not
 * known. */
enum slice_leaves slice_leaves_of(const struct slice_facts *f, struct slice_run steps, struct slice_run executed,
                                  struct slice_suspended *out);

/* slice_draw.c */
/* Behind a command of a block; steps_before: how many there were before it. */
void slice_draw_see(struct slice_facts *f, const struct trace_call *call, size_t steps_before);
/* At the submit, which is the last packet: adds packets behind it for the command buffers that end with the command.
 * Returns the number of the first one; 0 after a failure, which is latched. */
uint32_t slice_draw_add(struct slice_facts *f);

/* slice_block.c */
/* Adds the effect of an access to an object on its contents, or on those that it shows. */
void slice_access(struct slice_facts *f, uint32_t object, enum slice_step kind);
enum lap_status slice_visit_in_block(void *facts, const struct trace_call *call);
void slice_end_block(struct slice_facts *f);
void slice_see_transitions(struct slice_facts *f, const struct trace_call *call); /* by the host, if it is that call */
/* effect: NULL: only notes the named objects. */
void slice_walk(struct slice_facts *f, uint32_t command, const void *args, const struct gen_effect *effect);

/* slice_late.c */
/* The effects of a command or a call on events, as steps. */
void slice_see_events(struct slice_facts *f, uint32_t command, const void *args);
/* At the end of the trace. Latches LAP_ERROR_UNSUPPORTED where the part ends with a command that no replay would
 * reach. */
void slice_find_late(struct slice_facts *f, struct slice_expansion *e);

#endif
