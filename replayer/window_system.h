/* SPDX-License-Identifier: MIT */
/*
 * window_system: what a window of the replay needs of the system that it is on, as a table of functions. One each:
 * window_wayland.c, window_xcb.c, and window_headless.c, which has no window at all but a surface that the driver makes
 * of nothing (VK_EXT_headless_surface). None of them knows what is shown. One thread.
 */
#ifndef LAP_REPLAYER_WINDOW_SYSTEM_H
#define LAP_REPLAYER_WINDOW_SYSTEM_H

#include "replayer/context.h"

enum replay_window_state {
    REPLAY_WINDOW_OPEN,
    REPLAY_WINDOW_CLOSED, /* by the user: the window's button, or Escape */
    REPLAY_WINDOW_LOST    /* the system does not answer any more */
};

struct replay_display; /* a system's own record of the connection to it */
struct replay_native;  /* and of a window */

struct replay_window_system {
    const char *name;      /* as --window-system has it */
    const char *extension; /* of the instance */
    bool on_request;       /* taken only when it is asked for */
    /* NULL where nobody answers. One connection is for all windows: a sandbox allows no more (sandbox.h). */
    struct replay_display *(*connect)(void);
    void (*disconnect)(struct replay_display **display); /* without windows; also for NULL */
    /* A window, which nobody sees when it is not `visible`. The display outlives it. LAP_ERROR_UNSUPPORTED with a
     * sentence. */
    enum lap_status (*open)(struct replay_display *display, const char *title, VkExtent2D extent, bool visible,
                            struct replay_native **out_native);
    void (*close)(struct replay_native **native); /* also for NULL */
    /* The instance has the extension. */
    VkResult (*create_surface)(const struct replay_native *native, const struct replay_instance *instance,
                               VkSurfaceKHR *out_surface);
    /* Called for images that are presented only: a system that does not listen must not be told more and more. */
    void (*set_title)(struct replay_native *native, const char *title);
    void (*resize)(struct replay_native *native, VkExtent2D extent);
    /* Takes all events. *out_extent: the window's size now. */
    enum replay_window_state (*poll)(struct replay_native *native, VkExtent2D *out_extent);
    /* NULL where a present never waits for the screen. is_ready: whether the last image is on the screen, after waiting
     * for it so long at most; it never is where nobody sees the window. set_pending: an image is about to be presented
     * (true); it could not be (false). */
    bool (*is_ready)(struct replay_native *native, uint32_t limit_ms);
    void (*set_pending)(struct replay_native *native, bool pending);
};

extern const struct replay_window_system replay_window_wayland, replay_window_xcb, replay_window_headless;

/* All of them, the one that is tried first at the front; bit N of replay_instance.window_systems is about the Nth. */
#define REPLAY_WINDOW_SYSTEM_COUNT 3u
extern const struct replay_window_system *const replay_window_systems[REPLAY_WINDOW_SYSTEM_COUNT];

struct replay_displays {
    struct replay_display *of[REPLAY_WINDOW_SYSTEM_COUNT]; /* NULL: does not answer, or is not asked */
};

/* Connects to the systems that a replay with these options may open windows on. */
void replay_displays_connect(struct replay_displays *displays, const struct replay_options *options);
void replay_displays_disconnect(struct replay_displays *displays);

#endif
