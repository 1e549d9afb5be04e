/* SPDX-License-Identifier: MIT */
/*
 * damage_program: runs the programs that read a trace and play none (lapilli info, print, tree, draws, find, shaders,
 * state, uses, check, compress) on a damaged one, and judges what they said. They are called, not started. One thread.
 *
 * Each has to end by itself with an exit status that its help names, and give back what it took. What it says of the
 * trace is right up to the damage, and either it tells the damage with its place in the file, or what it says is all as
 * without: info, print and check don't read the contents of blobs that they show no part of. compress reads everything,
 * and its new file must be what it makes of the whole trace, or end as the damaged one does.
 */
#ifndef LAP_TESTS_FUZZ_DAMAGE_PROGRAM_H
#define LAP_TESTS_FUZZ_DAMAGE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAMAGE_PROGRAMS (sizeof(void *) == 8 ? 13u : 12u) /* the last one, compile, is for 64 bits */
extern const char *const damage_program_names[];

enum damage_result { DAMAGE_SAME, DAMAGE_SHORTER, DAMAGE_REFUSED, DAMAGE_UNSEEN, DAMAGE_RESULTS };

/* Before any is run, in a process that may be another one: from then on stdout and stderr are caught. NULL, or why it
 * can't be done. */
const char *damage_programs_catch(void);
/* Lets all run on the trace as it is, some times. NULL, or what is wrong with that. */
const char *damage_programs_learn(const uint8_t *data, size_t bytes, size_t frames);
/* What does not hold, or NULL. first: the first byte that is not what it was; whole: frames that end in front of it. */
const char *damage_program_try(unsigned number, const uint8_t *data, size_t bytes, size_t first, size_t whole,
                               enum damage_result *out_result);
/* The last that was said on stderr, also by a process that has ended since. */
const char *damage_program_said(void);

/* Bytes that the process has taken; 0 where a sanitizer looks for leaks. */
size_t damage_taken(void);

#endif
