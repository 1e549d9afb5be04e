/* SPDX-License-Identifier: MIT */
/*
 * status: the result of a function that can fail, and the sentence of a failure.
 *
 * 0 is success, positive values are other outcomes without a failure, negative values are errors. The sentence is
 * thread-local; it belongs to the last lap_fail() on the calling thread.
 */
#ifndef LAP_BASE_STATUS_H
#define LAP_BASE_STATUS_H

#define LAP_STATUS_LIST(X)                                                                                             \
    X(LAP_OK, 0, "ok")                                                                                                 \
    X(LAP_END, 1, "end of stream")                                                                                     \
    X(LAP_AGAIN, 2, "try again")                                                                                       \
    X(LAP_ERROR_MEMORY, -1, "out of memory")                                                                           \
    X(LAP_ERROR_IO, -2, "input or output failed")                                                                      \
    X(LAP_ERROR_FORMAT, -3, "no readable trace")                                                                       \
    X(LAP_ERROR_INCOMPLETE, -4, "the trace is incomplete")                                                             \
    X(LAP_ERROR_UNSUPPORTED, -5, "not supported on this device")                                                       \
    X(LAP_ERROR_ARGUMENT, -6, "invalid argument")                                                                      \
    X(LAP_ERROR_REPLAY, -7, "replay failed")                                                                           \
    X(LAP_ERROR_STOPPED, -8, "recording has stopped")                                                                  \
    X(LAP_ERROR_LIMIT, -9, "a stated limit was exceeded")                                                              \
    X(LAP_ERROR_INVALID, -10, "a call that is not valid")

enum lap_status {
#define LAP_STATUS_ENUM(name, value, text) name = value,
    LAP_STATUS_LIST(LAP_STATUS_ENUM)
#undef LAP_STATUS_ENUM
};

#define LAP_MUST_CHECK                        __attribute__((warn_unused_result))
#define LAP_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))

/* Sets the calling thread's error sentence and returns `status`. The sentence is cut at 1535 bytes. */
enum lap_status lap_fail(enum lap_status status, const char *format, ...) LAP_PRINTF(2, 3);

/* Puts "prefix: " in front of the calling thread's sentence and returns `status`. */
enum lap_status lap_fail_context(enum lap_status status, const char *format, ...) LAP_PRINTF(2, 3);

/* LAP_ERROR_MEMORY: "out of memory for WHAT"; NULL: "out of memory". */
enum lap_status lap_no_memory(const char *what);

/* The calling thread's sentence; never NULL, "" when there was no failure. Valid until the next lap_fail(). */
const char *lap_error_message(void);

/* The short text of a status code; never NULL. */
const char *lap_status_text(enum lap_status status);

#endif
