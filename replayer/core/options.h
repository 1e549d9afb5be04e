/* SPDX-License-Identifier: MIT */
/* options: the choices of a user of a replay. */
#ifndef LAP_REPLAYER_CORE_OPTIONS_H
#define LAP_REPLAYER_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frames.h"
#include "base/process/sandbox.h"
#include "base/status.h"
#include "inspector/edit/experiments.h"
#include "inspector/position/position.h"
#include "inspector/question/mesh_values.h"
#include "inspector/question/overdraw.h"
#include "inspector/question/shader_values.h"
#include "inspector/question/stamps.h"
#include "inspector/question/texel_history.h"
#include "vulkan/texel/texel_picture.h"

struct replay_displays;
struct replay_ignore_list;
struct replay_window_system;
struct replay_spirv_target; /* shader_validation.h */

/* LAP_OK: valid. LAP_ERROR_REPLAY: invalid, with a sentence that begins with the offset in bytes: "byte 20: ...".
 * LAP_ERROR_MEMORY. */
typedef enum lap_status (*replay_spirv_judge)(const struct replay_spirv_target *target, const uint32_t *words,
                                              size_t word_count);
/* *out: the text of SPIR-V, from malloc, a line for each instruction; texts of sources may have more.
 * LAP_ERROR_UNSUPPORTED: it has none. */
typedef enum lap_status (*replay_spirv_text)(const uint32_t *words, size_t word_count, char **out);

enum replay_present { REPLAY_PRESENT_AUTO, REPLAY_PRESENT_WINDOW, REPLAY_PRESENT_HEADLESS, REPLAY_PRESENT_OFF };

struct replay_validation; /* device/validation.h */
struct replay_reading;    /* verify/contents.h */
struct picture_list;      /* inspector/state/picture_list.h */

/* verify/pictures.h */
struct replay_pictures {
    const char *folder;       /* NULL: there are none */
    struct position after;    /* --after; count 0: not given. File names begin with it */
    struct after_wish wish;   /* --image, --buffer: with `after`; the buffer's bytes go to stdout, without a folder */
    const char *list_file;    /* --picture-list; NULL: none */
    struct each_request each; /* --each; at.count 0: not given */
    uint32_t thumbs;          /* --thumbs: with `each`: pictures of what changed, at most so wide and high; 0: whole */
    const char *names;        /* --targets: the only wanted ones of the list, separated by commas; NULL: all */
    struct lap_picture_options how;
    bool raw;                  /* bytes, in rows without padding, instead of PNG */
    bool also_png;             /* with raw: PNG, too */
    struct picture_list *list; /* filled before the replay begins */
};

/* --pixel. */
struct replay_texel {
    bool wanted, all;       /* all: also the commands that do not change it */
    struct texel_wish wish; /* inspector/question/texel_history.h */
    struct texel_history *history;
};

/* --debug. */
struct replay_debug {
    struct values_wish wish; /* inspector/question/shader_values.h; at.count 0: it is not given */
    struct shader_values *values;
    const char *name; /* only values with this name; NULL: all, beside the code */
    bool all;         /* all fragments, not one */
};

/* --overdraw, with the folder of --pictures. */
struct replay_overdraw {
    struct overdraw_wish wish; /* inspector/question/overdraw.h; at.count 0: it is not given */
    struct overdraw *counts;
};

/* --mesh. */
struct replay_mesh {
    struct mesh_wish wish; /* inspector/question/mesh_values.h; at.count 0: it is not given */
    struct mesh_values *values;
    enum replay_mesh_as { REPLAY_MESH_TEXT, REPLAY_MESH_CSV, REPLAY_MESH_OBJ } as; /* without --json */
    uint32_t first, last;                                                          /* rows; not of OBJ */
    bool clips;                                                                    /* OBJ has clip coordinates */
    const char *position; /* OBJ has the values of this attribute; NULL: what the shader writes */
};

/* --profile. */
struct replay_profile {
    struct stamps_wish wish; /* inspector/question/stamps.h; first_frame 0: it is not given */
    struct stamps *stamps;
};

struct replay_options {
    const char *file;
    const char *listen;     /* an address where a program streams the trace to; then `file` is set later */
    const char *token_file; /* of that program, or of `on`; NULL: none */
    const char *on;         /* the address of another machine that plays (elsewhere.h) */
    bool verify, force, quiet;
    bool strict;                                /* invalid calls end the replay: invalid_calls.h */
    bool validate_shaders;                      /* main.c sets `judge` */
    bool validate, validate_gpu, validate_sync; /* main.c makes `validation` */
    uint64_t messages;                          /* of each VUID that are printed; 0: as many as by default */
    struct replay_validation *validation;       /* NULL: without the validation layer */
    bool reads_all_images;                      /* verify.c: the trace has checks of whole images, and they are made; or
                                                 * images are read by `reading` or `pictures` */
    bool writes_all_images;                     /* the trace writes texels into images that it was recorded without */
    bool json;                /* the report of --check or --validate, or lines about pictures, are JSON */
    bool translate_addresses; /* also on the recorded driver */
    bool leave_new_memory;    /* new memory is not zeroed: new_memory.h */
    enum replay_present present;
    const struct replay_window_system *window_system; /* NULL: the first that answers */
    const char *gpu;                                  /* an index, a part of a name, a UUID, or NULL */
    struct lap_frames screenshots;
    bool screenshot_of_last;    /* the last frame that is played, too */
    const char *screenshot_dir; /* "." by default */
    const char *mismatch_dir;   /* with verify: the first differing image goes there as PNG; NULL: nowhere */
    bool has_tolerance;
    uint32_t tolerance;                 /* with has_tolerance: steps of the format (vulkan/texel/texel_steps.h) */
    const char *ignored_file;           /* of checks to leave out; NULL: none */
    struct replay_ignore_list *ignored; /* its contents; NULL: nothing */
    const char *hashes_file;            /* the hashes of checks go there (check_dump.h); NULL: nowhere */
    const char *report_file;            /* what came of the replay goes there (result.h); NULL: nowhere */
    const char *dump_dir;               /* with verify: all checked bytes go there (check_dump.h); NULL: nowhere */
    uint64_t last_frame;                /* stop after this frame; 0: all */
    uint64_t stop_at;                   /* stop behind the packet with this ticket; 0: at none */
    const char *read_list, *read_to;   /* with stop_at: the list of contents to read then, and the output; NULL: none */
    const struct lap_bytes_from *from; /* of a trace that is in no file here: lap_reader_options, or NULL */
    const char *resources; /* of a replay program, where those are that its file lacks (replayer/vm/resources.h) */
    struct edit_experiments experiments; /* what is to be different from the trace */
    uint64_t wait;                       /* play what is in front of this frame, then wait (waiting.h); 0: do not */
    bool list_objects;                   /* print those that live where the replay ends */
    struct replay_reading *reading;      /* both, open; NULL: nothing is read */
    struct replay_pictures pictures;     /* written where the replay ends; main.c makes its list */
    struct replay_texel texel;           /* its history is printed where the replay ends; main.c makes it */
    struct replay_debug debug;           /* its values are printed where the replay ends; main.c makes them */
    struct replay_overdraw overdraw;     /* written where the replay ends; main.c makes the counts */
    struct replay_mesh mesh;             /* printed where the replay ends; main.c makes its values */
    struct replay_profile profile;       /* its times are printed where the replay ends; main.c makes its stamps */
    unsigned threads;                    /* threads that play command buffers; 0: by the trace and the machine */
    uint64_t first_measured,
        warm_up; /* measured frames begin so many (warm_up) behind the first one; first_measured 0: frame 1 */
    uint64_t wait_limit_ms;   /* for the device (wait.h); 0: the default */
    uint64_t ahead_bytes;     /* how far the reader reads ahead; 0: not at all */
    bool blackhole;           /* submit no commands, only waits and signals */
    bool preload;             /* read everything before the first frame */
    replay_spirv_text text;   /* of code beside values; NULL: there is none */
    replay_spirv_judge judge; /* of the code of shaders; NULL: it is not checked */
    bool measure;
    const char *measure_file; /* with measure: the figures go there as JSON; NULL: stdout, as text */
    enum lap_sandbox_wish sandbox;
    /* Opened before the trace: sandbox.h. */
    int progress_fd;                        /* progress.h; 0: none */
    int measure_fd, hashes_fd, report_fd;   /* of those files */
    const struct replay_displays *displays; /* window_system.h; NULL: none answers */
    const struct lap_sandbox *sandboxed;    /* base/process/sandbox.h; NULL: not requested */
};

#endif
