/* SPDX-License-Identifier: MIT */
/*
 * options: the options of the layer. One table (options.c) gives name, environment variable, settings key, default and
 * help; it is resolved once, at the first vkCreateInstance, in the order environment, vk_layer_settings.txt, default.
 * In a setuid or setgid program no option applies and the layer is off. On Android they are system properties
 * (android.h).
 */
#ifndef LAP_LAYER_OPTIONS_H
#define LAP_LAYER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frames.h"
#include "base/key.h"
#include "base/log.h"
#include "memtrack/memtrack.h"
#include "trace/format/format.h"

/* The pages for host-visible memory. */
enum layer_backing_option {
    LAYER_BACKING_AUTO, /* the layer's pages where the driver's can't be watched for writes or are slow to read */
    LAYER_BACKING_HOST, /* the layer's pages wherever possible */
    LAYER_BACKING_OFF   /* the driver's pages */
};

/* The recorded parts of the run. Numbers of frames and submits begin at 1. */
struct layer_parts {
    bool on;                  /* parts are recorded; else all of it */
    struct lap_frames frames; /* presented; where the program has no surface: submits that run commands */
    struct lap_frames submits;
    struct lap_frames milliseconds; /* since the first instance */
    bool signal;                    /* SIGUSR2 begins one */
    const struct lap_key *key;      /* or this key, in a window of the program; NULL: no key */
    char *trigger_file;             /* or the appearance of this file, which is then deleted; NULL: no file */
    bool calls;                     /* or the program itself: include/lapilli.h */
    bool control;                   /* or a command: control.h */
    uint64_t trigger_frames;        /* of each such part */
    struct lap_length keep_last;    /* instead of all that: the run's last part, of at least this length. Commands can
                                       change it: part/turns.h */
    bool exit_after;                /* the program gets SIGTERM when the last part that can come is recorded */
};

struct layer_android;

struct layer_options {
    const struct layer_android *android; /* NULL: elsewhere */
    bool armed;                          /* recording was asked for */
    char *file; /* pattern: %p pid, %e program, %t time, %n number, %%; or, streamed, an address */
    bool streamed;
    bool stream_wait;    /* for a receiver, before the program's first call */
    char *control;       /* the address for commands; NULL: that of the receiver of the trace, if it is streamed */
    char *token_file;    /* of the receiver and of the sender of commands, or NULL */
    char *imported_from; /* what the trace is made of, a JSON object, or NULL */
    char *report;        /* a file to which the path of each trace is appended, or NULL */
    bool verify;
    bool verify_bytes; /* with verify: the trace also has the checked texels and pixels */
    bool verify_all;   /* with verify: everything that a submit wrote is read back after it */
    bool reads_back;   /* the layer can read contents back: for verify_all, or for the beginning of parts */
    struct layer_parts parts;
    bool real_memory_types;
    enum lap_watch_kind write_watch;
    enum layer_backing_option backing;
    bool in_flight;                 /* calls are noted before they are made: notes.h */
    bool no_addresses;              /* a replay can't ask for the same device addresses */
    const struct lap_codec *packer; /* NULL: nothing is compressed */
    size_t queue_bytes;             /* as in lap_writer_options */
    enum lap_log_level log_level;
    struct lap_frames screenshots;
    char *screenshot_dir;
};

/* Resolves all options. named: the program enabled the layer by its name, which asks for a recording unless
 * LAPILLI_CAPTURE says otherwise. Bad values are reported to the log and replaced by the default. */
void layer_options_resolve(struct layer_options *options, const struct layer_android *android, bool named,
                           const struct lap_log *log);
void layer_options_finish(struct layer_options *options);

#define LAYER_PROGRAM_BYTES 4096u

/* The path of the program, or the package of an app; "": it is not known. */
void layer_options_program_path(const struct layer_options *options, char out[LAYER_PROGRAM_BYTES]);

/* The file name of the program, or the package of an app. */
void layer_options_program(const struct layer_options *options, char *out, size_t capacity);

/* Expands the file pattern; attempt > 1 adds or changes the number. Caller frees; NULL when out of memory. */
char *layer_options_path(const struct layer_options *options, unsigned attempt);

#endif
