/* SPDX-License-Identifier: MIT */
/*
 * recode: encodes commands again that were decoded with indices for handles. The encoder looks handles up in tables, in
 * which each handle of recode_know has its own index. One thread.
 */
#ifndef LAP_INSPECTOR_EDIT_RECODE_H
#define LAP_INSPECTOR_EDIT_RECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/object.h"
#include "base/status.h"
#include "codegen/support/dictionary.h"
#include "gen_ids.h"
#include "trace/wire.h"

struct recode {
    const struct lap_dictionary *dictionary; /* of the file that is written, which is that of the source */
    struct lap_map maps[GEN_HANDLE_COUNT];
    struct lap_map *list[GEN_HANDLE_COUNT];
    struct lap_object_tables tables;
    struct lap_arena arena;
    struct lap_enc enc; /* stores everything inline */
    bool failed;
    bool other_structs; /* the file numbers structures differently than this build */
};

void recode_init(struct recode *recode, const struct lap_dictionary *dictionary);
void recode_finish(struct recode *recode);

/* The handles that may be encoded: one, or all of a command. A failure shows in recode_status. */
void recode_know(struct recode *recode, uint32_t type, uint64_t index);
void recode_know_all(struct recode *recode, uint32_t command, const void *args);

/* The number of a command in the file. LAP_ERROR_UNSUPPORTED: it has none. */
enum lap_status recode_number(const struct recode *recode, uint32_t command, uint32_t *out) LAP_MUST_CHECK;

/* Of what was encoded since recode_init or lap_enc_reset. LAP_ERROR_MEMORY; LAP_ERROR_UNSUPPORTED: a chained
 * structure can't be encoded for the file. */
enum lap_status recode_status(const struct recode *recode) LAP_MUST_CHECK;

#endif
