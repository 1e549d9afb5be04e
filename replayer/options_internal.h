/* SPDX-License-Identifier: MIT */
/* options_internal: what the files of the options (options.h) share. One thread. */
#ifndef LAP_REPLAYER_OPTIONS_INTERNAL_H
#define LAP_REPLAYER_OPTIONS_INTERNAL_H

#include "replayer/options.h"

struct row {
    /* value: [=X] is optional and follows =; [X] may also be the next word if that ends in .json. */
    const char *name, *value, *help;
    enum lap_status (*take)(const struct row *row, const char *value, struct replay_options *out);
    bool asked;                              /* a replay that waits can be asked for it */
    size_t at;                               /* where store_* put it in the options */
    void (*act)(enum replay_action *action); /* in the place of take */
};

/* ---- what is printed of a place, and images (options_results.c) ---- */

enum lap_status replay_take_image(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_buffer(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_image_aspect(const struct row *row, const char *value,
                                         struct replay_options *out) LAP_MUST_CHECK;

enum lap_status replay_take_pixel(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_pixel_at(const struct row *row, const char *value,
                                     struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_target(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_aspect(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_profile(const struct row *row, const char *value,
                                    struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_debug(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_overdraw(const struct row *row, const char *value,
                                     struct replay_options *out) LAP_MUST_CHECK;
/* --texel, --vertex, --instance, --invocation. */
enum lap_status replay_take_invocation(const struct row *row, const char *value,
                                       struct replay_options *out) LAP_MUST_CHECK;

enum lap_status replay_take_mesh(const struct row *row, const char *value, struct replay_options *out) LAP_MUST_CHECK;
/* --mesh-side, --mesh-as. */
enum lap_status replay_take_mesh_word(const struct row *row, const char *value,
                                      struct replay_options *out) LAP_MUST_CHECK;
/* --mesh-draw, --mesh-instance. */
enum lap_status replay_take_mesh_number(const struct row *row, const char *value,
                                        struct replay_options *out) LAP_MUST_CHECK;
enum lap_status replay_take_mesh_rows(const struct row *row, const char *value,
                                      struct replay_options *out) LAP_MUST_CHECK;

/* Whether they fit the rest. */
enum lap_status replay_check_texel(const struct replay_options *options, enum replay_action action) LAP_MUST_CHECK;
enum lap_status replay_check_profile(const struct replay_options *options, enum replay_action action) LAP_MUST_CHECK;
enum lap_status replay_check_overdraw(const struct replay_options *options, enum replay_action action) LAP_MUST_CHECK;
enum lap_status replay_check_mesh(const struct replay_options *options, enum replay_action action) LAP_MUST_CHECK;
enum lap_status replay_check_debug(const struct replay_options *options, enum replay_action action) LAP_MUST_CHECK;

#endif
