/* SPDX-License-Identifier: MIT */
/*
 * window_system: the interface of the replay's window to a window system, as a table of functions. Implementations:
 * window_wayland.c, window_xcb.c, window_android.c, and window_headless.c, which has no window but a headless surface
 * of the driver (VK_EXT_headless_surface). One thread, but for what says otherwise.
 */
#ifndef LAP_REPLAYER_PRESENT_WINDOW_SYSTEM_H
#define LAP_REPLAYER_PRESENT_WINDOW_SYSTEM_H

#include "replayer/core/replay.h"

enum replay_window_state {
    REPLAY_WINDOW_OPEN,
    REPLAY_WINDOW_CLOSED, /* by the user: the window's button, or Escape */
    REPLAY_WINDOW_LOST    /* the system does not answer any more */
};

struct replay_display; /* the connection, defined by each system */
struct replay_native;  /* the window, defined by each system */

struct replay_window_system {
    const char *name;      /* for --window-system */
    const char *extension; /* of the instance */
    bool on_request;       /* used only on request */
    /* NULL: no answer. One connection serves all windows, since the sandbox allows no more (sandbox.h). */
    struct replay_display *(*connect)(void);
    void (*disconnect)(struct replay_display **display); /* without windows; also for NULL */
    /* Opens a window. The display outlives it. LAP_ERROR_UNSUPPORTED with a sentence. */
    enum lap_status (*open)(struct replay_display *display, const char *title, VkExtent2D extent, bool visible,
                            struct replay_native **out_native);
    void (*close)(struct replay_native **native); /* also for NULL */
    /* The instance has the extension. */
    VkResult (*create_surface)(const struct replay_native *native, const struct replay_instance *instance,
                               VkSurfaceKHR *out_surface);
    /* Called only with presented images, so that messages do not pile up at a system that does not read them. */
    void (*set_title)(struct replay_native *native, const char *title);
    void (*resize)(struct replay_native *native, VkExtent2D extent);
    /* Takes all events. *out_extent: the window's size now. */
    enum replay_window_state (*poll)(struct replay_native *native, VkExtent2D *out_extent);
    /* NULL where a present never waits for the screen. is_ready: whether the last image is on the screen, after a
     * wait of at most limit_ms; never for a hidden window. set_pending: true before an image is presented; false if
     * the present failed. */
    bool (*is_ready)(struct replay_native *native, uint32_t limit_ms);
    void (*set_pending)(struct replay_native *native, bool pending);
    /* NULL where a window is there as long as the replay wants it. Else another thread may take it away at any time,
     * and give another one later. hold: whether a window is there; if so, it stays until release. The driver is called
     * with the window's surface in between only. */
    bool (*hold)(struct replay_native *native);
    void (*release)(struct replay_native *native);
    /* Once, after open. lose: called when the window goes, while nobody holds it, and by any thread; no object of the
     * driver has the window afterwards. */
    void (*watch)(struct replay_native *native, void (*lose)(void *window), void *window);
};

extern const struct replay_window_system replay_window_wayland, replay_window_xcb, replay_window_android,
    replay_window_headless;

/* All of them, in the order of attempts; bit N of replay_instance.window_systems is for the Nth. */
#define REPLAY_WINDOW_SYSTEM_COUNT 4u
extern const struct replay_window_system *const replay_window_systems[REPLAY_WINDOW_SYSTEM_COUNT];

struct replay_displays {
    struct replay_display *of[REPLAY_WINDOW_SYSTEM_COUNT]; /* NULL: no answer, or not requested */
};

/* Connects to the systems on which a replay with these options may open windows. */
void replay_displays_connect(struct replay_displays *displays, const struct replay_options *options);
void replay_displays_disconnect(struct replay_displays *displays);

#endif
