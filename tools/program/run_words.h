/* SPDX-License-Identifier: MIT */
/*
 * run_words: the options of lapilli-replay that `lapilli run` takes, which may be played on another machine: none of
 * them names a file there. Each becomes one word, --NAME or --NAME=VALUE. Where a value is a folder, the files in it
 * come back; where it is a file, that file. The other side has a folder for each of both.
 */
#ifndef LAP_TOOLS_PROGRAM_RUN_WORDS_H
#define LAP_TOOLS_PROGRAM_RUN_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define RUN_WORDS_MOST       256u
#define RUN_WORDS_MOST_BYTES 65536u
#define RUN_WORDS_FILE       "file" /* the name in its folder there */

struct run_words {
    char *words[RUN_WORDS_MOST]; /* freed by run_words_finish */
    size_t count;
};

/* Of a command line. LAP_ERROR_ARGUMENT with a sentence, LAP_ERROR_MEMORY; finish *out in any case. */
enum lap_status run_words_parse(char *const *arguments, struct run_words *out) LAP_MUST_CHECK;

/* One more, in its final form. LAP_ERROR_ARGUMENT, LAP_ERROR_MEMORY. */
enum lap_status run_words_add(struct run_words *words, const char *word) LAP_MUST_CHECK;

/* Of bytes from another machine: words with a zero behind each. The same errors. */
enum lap_status run_words_load(const char *bytes, size_t count, struct run_words *out) LAP_MUST_CHECK;
void run_words_finish(struct run_words *words);

/* The folder that a word names; NULL: it names none. */
const char *run_word_folder(const char *word);

/* The file that a word names; NULL: it names none. */
const char *run_word_file(const char *word);

/* The word of a folder or a file with another folder; NULL: out of memory. */
char *run_word_with_folder(const char *word, const char *folder);

#endif
