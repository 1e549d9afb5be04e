/* SPDX-License-Identifier: MIT */
/*
 * pass_targets: the images that the render pass of a command draws to, as contents to read or to copy behind it. And a
 * table of what images were made with, those of swapchains too. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_PASS_TARGETS_H
#define LAP_INSPECTOR_QUESTION_PASS_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/state/attachments.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/picture_list.h"

/* ---- images ---- */

struct image_infos {
    struct lap_map images, swapchains; /* VkImageCreateInfo without pNext, by number */
    struct lap_arena arena;
};

void image_infos_init(struct image_infos *infos);
void image_infos_finish(struct image_infos *infos); /* also of a zeroed one */

/* For the list of a trace_visitor's commands. */
#define IMAGE_INFOS_COMMANDS GEN_vkCreateImage, GEN_vkCreateSwapchainKHR, GEN_vkGetSwapchainImagesKHR
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status image_infos_see(struct image_infos *infos, const struct trace_call *call) LAP_MUST_CHECK;
/* NULL: its creation was not seen. */
const VkImageCreateInfo *image_info_of(const struct image_infos *infos, uint64_t image);

/* ---- the render pass of a command ---- */

struct pass_targets {
    enum bound_pass_kind kind;
    uint64_t render_pass;
    uint32_t subpass, subpasses; /* subpasses: of the render pass; 0: dynamic rendering, or not known */
    uint32_t layers, views;      /* that are drawn to; views: a mask */
    unsigned begin_place;        /* which command buffer begins it: 0 is the primary one */
    uint32_t begin_command;      /* with which command */
    struct attachment *attachments;
    size_t attachment_count;
};

/* *out is in the arena. kind BOUND_NO_PASS: it is in none. */
enum lap_status pass_targets_find(const struct bound_visit *visit, struct lap_arena *arena,
                                  struct pass_targets *out) LAP_MUST_CHECK;

/* The position of the command that begins it. command: the position of the command in it. */
struct position pass_targets_begin(const struct pass_targets *targets, const struct position *command);

/* From here on their layouts are those while the render pass is on, not those behind it. */
void pass_targets_are_inside(struct pass_targets *targets);

/* Adds what can be read to the list: color0, depth, stencil and so on; each layer that is drawn to is one, like
 * color0-layer1. An attachment with several samples stands for the image that it is resolved into. left_out: 240 bytes:
 * gets the first one that can't be read, and why, if it is empty. */
enum lap_status pass_targets_list(const struct pass_targets *targets, const struct image_infos *infos, uint64_t queue,
                                  struct picture_list *list, char *left_out) LAP_MUST_CHECK;
#define PASS_TARGETS_LEFT_OUT_BYTES 240u

#endif
