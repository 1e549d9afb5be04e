/* SPDX-License-Identifier: MIT */
/* A window of the xdg-shell protocol, without decorations. wayland-scanner generates xdg_shell.h during the
 * build. */
#include "replayer/present/window_system.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/core/device.h"

#ifdef LAP_HAS_WAYLAND

#include <wayland-client.h>

#include "xdg_shell.h"

#define KEY_ESCAPE 1u /* code of the kernel's input events, as keyboards report it */

/* A replay_display is libwayland's display under another name. */

struct replay_native {
    struct wl_display *display; /* shared by all windows */
    struct wl_registry *registry;
    struct wl_compositor *compositor;
    struct wl_seat *seat;
    struct wl_keyboard *keyboard;
    struct wl_surface *surface;
    struct wl_callback *frame; /* fires when the last present is on the screen */
    struct xdg_wm_base *shell;
    struct xdg_surface *shell_surface;
    struct xdg_toplevel *toplevel;
    VkExtent2D wanted, imposed; /* imposed: by the user or the compositor; 0: not imposed */
    bool synced, configured, closed, lost;
    bool focused; /* keyboard focus: keyboards send events to every window of the connection */
};

#define ANSWER_MS 5000u /* limit for a live compositor */

/* ---- events of the compositor ---- */

static void on_ping(void *data, struct xdg_wm_base *shell, uint32_t serial)
{
    xdg_wm_base_pong(shell, serial);
}

static void on_configure(void *data, struct xdg_surface *shell_surface, uint32_t serial)
{
    struct replay_native *w = data;

    xdg_surface_ack_configure(shell_surface, serial);
    w->configured = true;
}

static void on_size(void *data, struct xdg_toplevel *toplevel, int32_t width, int32_t height, struct wl_array *states)
{
    struct replay_native *w = data;
    bool imposed = width > 0 && height > 0;

    w->imposed = imposed ? (VkExtent2D){(uint32_t)width, (uint32_t)height} : (VkExtent2D){0, 0};
}

static void on_close(void *data, struct xdg_toplevel *toplevel)
{
    ((struct replay_native *)data)->closed = true;
}

static void on_frame(void *data, struct wl_callback *callback, uint32_t time)
{
    struct replay_native *w = data;

    wl_callback_destroy(callback);
    w->frame = NULL;
}

static void on_synced(void *data, struct wl_callback *callback, uint32_t serial)
{
    wl_callback_destroy(callback);
    ((struct replay_native *)data)->synced = true;
}

static void on_key(void *data, struct wl_keyboard *keyboard, uint32_t serial, uint32_t time, uint32_t key,
                   uint32_t state)
{
    struct replay_native *w = data;

    w->closed |= w->focused && key == KEY_ESCAPE && state == WL_KEYBOARD_KEY_STATE_PRESSED;
}

static void on_keymap(void *data, struct wl_keyboard *keyboard, uint32_t format, int32_t fd, uint32_t size)
{
    close(fd);
}

static void on_enter(void *data, struct wl_keyboard *keyboard, uint32_t serial, struct wl_surface *surface,
                     struct wl_array *keys)
{
    struct replay_native *w = data;

    w->focused = surface == w->surface;
}

static void on_leave(void *data, struct wl_keyboard *keyboard, uint32_t serial, struct wl_surface *surface)
{
    ((struct replay_native *)data)->focused = false;
}

static void on_modifiers(void *data, struct wl_keyboard *keyboard, uint32_t serial, uint32_t depressed,
                         uint32_t latched, uint32_t locked, uint32_t group)
{
}

static void on_seat(void *data, struct wl_seat *seat, uint32_t capabilities)
{
    static const struct wl_keyboard_listener listener = {
        .keymap = on_keymap, .enter = on_enter, .leave = on_leave, .key = on_key, .modifiers = on_modifiers};
    struct replay_native *w = data;

    if (!(capabilities & WL_SEAT_CAPABILITY_KEYBOARD) || w->keyboard)
        return;
    w->keyboard = wl_seat_get_keyboard(seat);
    if (w->keyboard)
        wl_keyboard_add_listener(w->keyboard, &listener, w);
}

static void on_global(void *data, struct wl_registry *registry, uint32_t name, const char *interface, uint32_t version)
{
    struct replay_native *w = data;

    if (strcmp(interface, wl_compositor_interface.name) == 0 && !w->compositor)
        w->compositor = wl_registry_bind(registry, name, &wl_compositor_interface, version < 4 ? version : 4);
    else if (strcmp(interface, xdg_wm_base_interface.name) == 0 && !w->shell)
        w->shell = wl_registry_bind(registry, name, &xdg_wm_base_interface, 1);
    else if (strcmp(interface, wl_seat_interface.name) == 0 && !w->seat)
        w->seat = wl_registry_bind(registry, name, &wl_seat_interface, 1);
}

static void on_global_remove(void *data, struct wl_registry *registry, uint32_t name) {}

/* ---- the connection ---- */

static struct replay_display *connect_display(void)
{
    return (struct replay_display *)(getenv("WAYLAND_DISPLAY") ? wl_display_connect(NULL) : NULL);
}

static void disconnect_display(struct replay_display **display)
{
    if (*display)
        wl_display_disconnect((struct wl_display *)*display);
    *display = NULL;
}

/* Handles pending events, after waiting for them at most limit_ms. The driver reads from the same connection: each
 * reader leaves the other's events in the other's queue. */
static void dispatch(struct replay_native *w, int limit_ms)
{
    struct pollfd fd = {.fd = wl_display_get_fd(w->display), .events = POLLIN};

    while (!w->lost && wl_display_prepare_read(w->display) != 0)
        w->lost = wl_display_dispatch_pending(w->display) < 0;
    if (w->lost)
        return;
    if (wl_display_flush(w->display) < 0 && errno != EAGAIN && errno != EPIPE)
        w->lost = true;
    if (!w->lost && poll(&fd, 1, limit_ms) > 0) {
        w->lost = wl_display_read_events(w->display) < 0;
    } else {
        wl_display_cancel_read(w->display);
    }
    if (wl_display_dispatch_pending(w->display) < 0)
        w->lost = true;
}

/* Whether *what becomes true soon. */
static bool wait_for(struct replay_native *w, const bool *what)
{
    uint64_t end = replay_now_ms() + ANSWER_MS, now;

    while (!*what && !w->lost && (now = replay_now_ms()) < end)
        dispatch(w, (int)(end - now));
    return *what;
}

/* ---- the window ---- */

static void close_window(struct replay_native **native)
{
    struct replay_native *w = *native;

    if (!w)
        return;
    if (w->frame)
        wl_callback_destroy(w->frame);
    if (w->toplevel)
        xdg_toplevel_destroy(w->toplevel);
    if (w->shell_surface)
        xdg_surface_destroy(w->shell_surface);
    if (w->surface)
        wl_surface_destroy(w->surface);
    if (w->keyboard)
        wl_keyboard_destroy(w->keyboard);
    if (w->seat)
        wl_seat_destroy(w->seat);
    if (w->shell)
        xdg_wm_base_destroy(w->shell);
    if (w->compositor)
        wl_compositor_destroy(w->compositor);
    if (w->registry)
        wl_registry_destroy(w->registry);
    (void)wl_display_flush(w->display);
    free(w);
    *native = NULL;
}

/* A surface becomes a window with its first image. It must be configured before that. */
static bool give_role(struct replay_native *w, const char *title)
{
    static const struct xdg_wm_base_listener shell = {.ping = on_ping};
    static const struct xdg_surface_listener surface = {.configure = on_configure};
    static const struct xdg_toplevel_listener toplevel = {.configure = on_size, .close = on_close};

    xdg_wm_base_add_listener(w->shell, &shell, w);
    w->shell_surface = xdg_wm_base_get_xdg_surface(w->shell, w->surface);
    xdg_surface_add_listener(w->shell_surface, &surface, w);
    w->toplevel = xdg_surface_get_toplevel(w->shell_surface);
    xdg_toplevel_add_listener(w->toplevel, &toplevel, w);
    xdg_toplevel_set_title(w->toplevel, title);
    xdg_toplevel_set_app_id(w->toplevel, "lapilli-replay");
    wl_surface_commit(w->surface);
    return wait_for(w, &w->configured);
}

/* Finds the compositor's globals; false when it does not answer. */
static bool find_globals(struct replay_native *w)
{
    static const struct wl_registry_listener globals = {.global = on_global, .global_remove = on_global_remove};
    static const struct wl_callback_listener sync = {.done = on_synced};

    w->registry = wl_display_get_registry(w->display);
    wl_registry_add_listener(w->registry, &globals, w);
    wl_callback_add_listener(wl_display_sync(w->display), &sync, w);
    return wait_for(w, &w->synced);
}

static enum lap_status open_window(struct replay_display *display, const char *title, VkExtent2D extent, bool visible,
                                   struct replay_native **out_native)
{
    static const struct wl_seat_listener seat = {.capabilities = on_seat};
    struct replay_native *w = calloc(1, sizeof *w);

    *out_native = NULL;
    if (!w)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    w->wanted = extent;
    w->display = (struct wl_display *)display;
    if (!find_globals(w)) {
        close_window(&w);
        return lap_fail(LAP_ERROR_UNSUPPORTED, "no Wayland compositor answers (WAYLAND_DISPLAY is %s)",
                        getenv("WAYLAND_DISPLAY"));
    }
    if (!w->compositor || !w->shell) {
        close_window(&w);
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the Wayland compositor has no windows (xdg_wm_base)");
    }
    w->surface = wl_compositor_create_surface(w->compositor);
    if (visible && w->seat)
        wl_seat_add_listener(w->seat, &seat, w);
    if (visible && !give_role(w, title)) {
        close_window(&w);
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the Wayland compositor does not show the window");
    }
    *out_native = w;
    return LAP_OK;
}

static VkResult create_surface(const struct replay_native *w, const struct replay_instance *instance,
                               VkSurfaceKHR *out_surface)
{
    VkWaylandSurfaceCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_WAYLAND_SURFACE_CREATE_INFO_KHR, .display = w->display, .surface = w->surface};

    return instance->vk.CreateWaylandSurfaceKHR
               ? instance->vk.CreateWaylandSurfaceKHR(instance->live, &info, NULL, out_surface)
               : VK_ERROR_EXTENSION_NOT_PRESENT;
}

static void set_title(struct replay_native *w, const char *title)
{
    if (w->toplevel)
        xdg_toplevel_set_title(w->toplevel, title);
}

static void resize(struct replay_native *w, VkExtent2D extent)
{
    w->wanted = extent;
}

static enum replay_window_state poll_events(struct replay_native *w, VkExtent2D *out_extent)
{
    dispatch(w, 0);
    *out_extent = w->imposed.width ? w->imposed : w->wanted;
    if (w->closed)
        return REPLAY_WINDOW_CLOSED;
    return w->lost ? REPLAY_WINDOW_LOST : REPLAY_WINDOW_OPEN;
}

/* A driver's present waits for earlier presents, without limit where the compositor does not draw the window. The
 * frame callback reports the same without blocking. */
static bool is_ready(struct replay_native *w, uint32_t limit_ms)
{
    uint64_t end = replay_now_ms() + limit_ms, now;

    dispatch(w, 0);
    while (w->frame && !w->lost && (now = replay_now_ms()) < end)
        dispatch(w, (int)(end - now));
    return !w->frame && !w->lost;
}

static void set_pending(struct replay_native *w, bool pending)
{
    static const struct wl_callback_listener listener = {.done = on_frame};

    if (w->frame)
        wl_callback_destroy(w->frame);
    w->frame = pending ? wl_surface_frame(w->surface) : NULL;
    if (w->frame)
        wl_callback_add_listener(w->frame, &listener, w);
}

const struct replay_window_system replay_window_wayland = {.name = "wayland",
                                                           .extension = VK_KHR_WAYLAND_SURFACE_EXTENSION_NAME,
                                                           .connect = connect_display,
                                                           .disconnect = disconnect_display,
                                                           .open = open_window,
                                                           .close = close_window,
                                                           .create_surface = create_surface,
                                                           .set_title = set_title,
                                                           .resize = resize,
                                                           .poll = poll_events,
                                                           .is_ready = is_ready,
                                                           .set_pending = set_pending};

#else /* built without Wayland */

static struct replay_display *connect_display(void)
{
    return NULL;
}

static void disconnect_display(struct replay_display **display) {}

const struct replay_window_system replay_window_wayland = {.name = "wayland",
                                                           .extension = "VK_KHR_wayland_surface",
                                                           .connect = connect_display,
                                                           .disconnect = disconnect_display};

#endif
