/* SPDX-License-Identifier: MIT */
/*
 * Keys on Wayland. Compositors send keys only to the client with the focus, so the layer has keyboards of its own on
 * the program's connection, with an event queue of their own. The program or its driver reads their events from the
 * connection, and this module dispatches them when an image was presented. Nothing here waits.
 *
 * A display may be disconnected before its surfaces are destroyed, and then it must not be used. That closes its
 * socket, by which it is recognized.
 */
#include "layer/core/layer.h"
#include "layer/part/key_window.h"

#ifdef LAP_HAS_WAYLAND

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wayland-client.h>

#define MOST_SEATS   8u
#define SEAT_VERSION 5u /* keyboards are released from 3 on, seats from this one on */

struct seat {
    struct layer_key_wayland *of;
    struct wl_proxy *seat, *keyboard;
    uint32_t name; /* in the registry */
};

struct layer_key_wayland {
    struct layer_key_wayland *next;
    uint32_t windows;
    struct wl_display *display;
    int socket;
    dev_t device; /* device and inode identify the socket */
    ino_t inode;
    struct wl_event_queue *queue;
    struct wl_proxy *wrapper, *registry;
    struct seat seats[MOST_SEATS]; /* seat NULL: free */
    bool has_asked;                /* there are requests to send */
};

/* The mutex guards all members, and all use of displays. */
static struct {
    pthread_mutex_t mutex;
    struct layer_key_wayland *displays;
    bool is_loaded, is_complete;
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- the library, which the program has loaded ---- */

#define FUNCTIONS(X)                                                                                                   \
    X(wl_display_get_fd)                                                                                               \
    X(wl_display_flush)                                                                                                \
    X(wl_display_create_queue)                                                                                         \
    X(wl_display_dispatch_queue_pending)                                                                               \
    X(wl_event_queue_destroy)                                                                                          \
    X(wl_proxy_create_wrapper)                                                                                         \
    X(wl_proxy_wrapper_destroy)                                                                                        \
    X(wl_proxy_set_queue)                                                                                              \
    X(wl_proxy_add_listener)                                                                                           \
    X(wl_proxy_get_version)                                                                                            \
    X(wl_proxy_marshal)                                                                                                \
    X(wl_proxy_marshal_constructor)                                                                                    \
    X(wl_proxy_marshal_constructor_versioned)                                                                          \
    X(wl_proxy_destroy)

static struct {
#define MEMBER(name) __typeof__(&(name)) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    const struct wl_interface *registry, *seat, *keyboard;
} wl;

static void load(void)
{
    void *library = dlopen("libwayland-client.so.0", RTLD_LAZY | RTLD_NOLOAD);

    known.is_loaded = true;
    if (!library)
        return;
    known.is_complete = true;
#define LOAD(name) known.is_complete &= (wl.name = (__typeof__(wl.name))dlsym(library, #name)) != NULL;
    FUNCTIONS(LOAD)
#undef LOAD
    wl.registry = dlsym(library, "wl_registry_interface");
    wl.seat = dlsym(library, "wl_seat_interface");
    wl.keyboard = dlsym(library, "wl_keyboard_interface");
    known.is_complete &= wl.registry && wl.seat && wl.keyboard;
    /* The library stays open: its functions are called below. */
}

/* ---- keyboards ---- */

static void on_keymap(void *data, struct wl_keyboard *keyboard, uint32_t format, int32_t fd, uint32_t size)
{
    close(fd);
}

static void on_enter(void *data, struct wl_keyboard *keyboard, uint32_t serial, struct wl_surface *surface,
                     struct wl_array *keys)
{
}

static void on_leave(void *data, struct wl_keyboard *keyboard, uint32_t serial, struct wl_surface *surface) {}

/* The surface with the focus is always one of the program's. */
static void on_key(void *data, struct wl_keyboard *keyboard, uint32_t serial, uint32_t time, uint32_t key,
                   uint32_t state)
{
    if (key == layer.options.parts.key->code && state == WL_KEYBOARD_KEY_STATE_PRESSED)
        layer_key_pressed();
}

static void on_modifiers(void *data, struct wl_keyboard *keyboard, uint32_t serial, uint32_t depressed,
                         uint32_t latched, uint32_t locked, uint32_t group)
{
}

static void on_repeat_info(void *data, struct wl_keyboard *keyboard, int32_t rate, int32_t delay) {}

static const struct wl_keyboard_listener keyboard_listener = {.keymap = on_keymap,
                                                              .enter = on_enter,
                                                              .leave = on_leave,
                                                              .key = on_key,
                                                              .modifiers = on_modifiers,
                                                              .repeat_info = on_repeat_info};

static void listen_to(struct wl_proxy *proxy, const void *listener, void *data)
{
    wl.wl_proxy_add_listener(proxy, (void (**)(void))(uintptr_t)listener, data);
}

/* ---- seats ---- */

static void let_go(struct wl_proxy **proxy, uint32_t release, uint32_t since)
{
    if (*proxy && wl.wl_proxy_get_version(*proxy) >= since)
        wl.wl_proxy_marshal(*proxy, release);
    if (*proxy)
        wl.wl_proxy_destroy(*proxy);
    *proxy = NULL;
}

static void release_keyboard(struct seat *seat)
{
    let_go(&seat->keyboard, WL_KEYBOARD_RELEASE, WL_KEYBOARD_RELEASE_SINCE_VERSION);
}

static void release_seat(struct seat *seat)
{
    release_keyboard(seat);
    let_go(&seat->seat, WL_SEAT_RELEASE, WL_SEAT_RELEASE_SINCE_VERSION);
}

static void on_capabilities(void *data, struct wl_seat *unused, uint32_t capabilities)
{
    struct seat *seat = data;

    if (!(capabilities & WL_SEAT_CAPABILITY_KEYBOARD)) {
        release_keyboard(seat);
    } else if (!seat->keyboard) {
        seat->keyboard = wl.wl_proxy_marshal_constructor(seat->seat, WL_SEAT_GET_KEYBOARD, wl.keyboard, NULL);
        if (seat->keyboard) {
            listen_to(seat->keyboard, &keyboard_listener, seat);
            lap_log(&layer.log, LAP_LOG_INFO, "%s begins a part, as the Wayland compositor reports",
                    layer.options.parts.key->name);
        }
    }
    seat->of->has_asked = true;
}

static void on_seat_name(void *data, struct wl_seat *seat, const char *name) {}

static void on_global(void *data, struct wl_registry *registry, uint32_t name, const char *interface, uint32_t version)
{
    static const struct wl_seat_listener listener = {.capabilities = on_capabilities, .name = on_seat_name};
    struct layer_key_wayland *display = data;
    struct seat *seat = display->seats;

    if (strcmp(interface, "wl_seat") != 0)
        return;
    while (seat < display->seats + MOST_SEATS && seat->seat)
        seat++;
    if (seat == display->seats + MOST_SEATS)
        return;
    if (version > SEAT_VERSION)
        version = SEAT_VERSION;
    *seat = (struct seat){.of = display, .name = name};
    seat->seat = wl.wl_proxy_marshal_constructor_versioned(display->registry, WL_REGISTRY_BIND, wl.seat, version, name,
                                                           "wl_seat", version, NULL);
    if (seat->seat)
        listen_to(seat->seat, &listener, seat);
    display->has_asked = true;
}

static void on_global_remove(void *data, struct wl_registry *registry, uint32_t name)
{
    struct layer_key_wayland *display = data;

    for (uint32_t i = 0; i < MOST_SEATS; i++)
        if (display->seats[i].seat && display->seats[i].name == name)
            release_seat(&display->seats[i]);
    display->has_asked = true;
}

/* ---- displays ---- */

static bool is_there(const struct layer_key_wayland *display)
{
    struct stat now;
    return fstat(display->socket, &now) == 0 && now.st_dev == display->device && now.st_ino == display->inode;
}

/* If the flush fails now, the program's next flush sends the requests. */
static void send_asked(struct layer_key_wayland *display)
{
    if (display->has_asked)
        (void)wl.wl_display_flush(display->display);
    display->has_asked = false;
}

static bool begin(struct layer_key_wayland *display)
{
    static const struct wl_registry_listener listener = {.global = on_global, .global_remove = on_global_remove};
    struct stat socket;

    display->socket = wl.wl_display_get_fd(display->display);
    if (fstat(display->socket, &socket) != 0)
        return false;
    display->device = socket.st_dev;
    display->inode = socket.st_ino;
    display->queue = wl.wl_display_create_queue(display->display);
    display->wrapper = display->queue ? wl.wl_proxy_create_wrapper(display->display) : NULL;
    if (!display->wrapper)
        return false;
    wl.wl_proxy_set_queue(display->wrapper, display->queue);
    display->registry = wl.wl_proxy_marshal_constructor(display->wrapper, WL_DISPLAY_GET_REGISTRY, wl.registry, NULL);
    if (!display->registry)
        return false;
    listen_to(display->registry, &listener, display);
    display->has_asked = true;
    send_asked(display);
    return true;
}

static void end(struct layer_key_wayland *display)
{
    for (uint32_t i = 0; i < MOST_SEATS; i++)
        release_seat(&display->seats[i]);
    if (display->registry)
        wl.wl_proxy_destroy(display->registry);
    if (display->wrapper)
        wl.wl_proxy_wrapper_destroy(display->wrapper);
    if (display->queue)
        wl.wl_event_queue_destroy(display->queue);
}

static struct layer_key_wayland *add(struct wl_display *handle)
{
    struct layer_key_wayland *display = calloc(1, sizeof *display);

    if (!display)
        return NULL;
    display->display = handle;
    if (!begin(display)) {
        layer_key_cannot("there is no memory for a keyboard on Wayland");
        end(display);
        free(display);
        return NULL;
    }
    display->next = known.displays;
    known.displays = display;
    return display;
}

struct layer_key_wayland *layer_key_wayland_add(struct wl_display *handle)
{
    struct layer_key_wayland *display;

    pthread_mutex_lock(&known.mutex);
    if (!known.is_loaded)
        load();
    /* A disconnected display may have had the same address. */
    for (display = known.displays; display; display = display->next)
        if (display->display == handle && is_there(display))
            break;
    if (!known.is_complete)
        layer_key_cannot("libwayland-client.so.0 is not loaded, or too old");
    else if (!display)
        display = add(handle);
    if (display)
        display->windows++;
    pthread_mutex_unlock(&known.mutex);
    return display;
}

void layer_key_wayland_remove(struct layer_key_wayland *display)
{
    struct layer_key_wayland **at = &known.displays;

    pthread_mutex_lock(&known.mutex);
    if (--display->windows == 0) {
        while (*at != display)
            at = &(*at)->next;
        *at = display->next;
        if (is_there(display)) {
            end(display);
            (void)wl.wl_display_flush(display->display);
        }
        free(display);
    }
    pthread_mutex_unlock(&known.mutex);
}

void layer_key_wayland_look(struct layer_key_wayland *display)
{
    pthread_mutex_lock(&known.mutex);
    (void)wl.wl_display_dispatch_queue_pending(display->display, display->queue);
    send_asked(display);
    pthread_mutex_unlock(&known.mutex);
}

void layer_key_wayland_forked(void)
{
    pthread_mutex_init(&known.mutex, NULL);
    known.displays = NULL; /* they are the parent's */
}

#else

struct layer_key_wayland *layer_key_wayland_add(struct wl_display *display)
{
    layer_key_cannot("this build of the layer knows no Wayland");
    return NULL;
}

void layer_key_wayland_remove(struct layer_key_wayland *display) {}
void layer_key_wayland_look(struct layer_key_wayland *display) {}
void layer_key_wayland_forked(void) {}

#endif
