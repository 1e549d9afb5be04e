/* SPDX-License-Identifier: MIT */
/*
 * halves: addresses that come to shaders in two halves, by two commands of one command buffer.
 *
 * Push constants are one block, whoever pushes which part: each command that pushes is completed here. What counts is
 * the recorded block as it stands after the command, of which two neighbouring words may be an address. Where such an
 * address needs another half beside what the command pushes, that half is pushed once more. An address that one command
 * pushes whole precedes one that two commands give. Of vkCmdUpdateBuffer the halves are found, but not followed. One
 * thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_HALVES_H
#define LAP_REPLAYER_ADDRESS_HALVES_H

#include "gen_dispatch.h"
#include "replayer/address/address_range.h"
#include "vulkan/untranslated.h"

struct lap_arena;
struct replay_halves;

struct replay_halves *replay_halves_create(void); /* NULL without memory */
void replay_halves_destroy(struct replay_halves *halves);

/* Call it before a command buffer's first command. */
void replay_halves_clear(struct replay_halves *halves);

/* Notes a command, with recorded push constants. True: a shader is going to read an address that is not followed, or
 * vkCmdUpdateBuffer has written one; out_where: "push constants", for example. Tells each state once. */
bool replay_halves_note(struct replay_halves *halves, const struct lap_address_view *view, uint32_t command,
                        const void *args, struct lap_untranslated *out, const char **out_where);

/* After replay_halves_note, if the command pushes: puts live addresses into the decoded args, and pushes other halves
 * to `commands`. out_count: how many addresses of the command have changed. LAP_ERROR_MEMORY. */
enum lap_status replay_halves_translate(struct replay_halves *halves, const struct replay_address_space *space,
                                        const struct gen_device_dispatch *vk, struct lap_arena *arena,
                                        VkCommandBuffer commands, uint32_t command, void *args,
                                        uint64_t *out_count) LAP_MUST_CHECK;

#endif
