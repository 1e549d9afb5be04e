/* SPDX-License-Identifier: MIT */
/*
 * compositor SOCKET: the least that programs with windows on Wayland need, and a keyboard that obeys: Weston has none
 * where it has no screen. Nothing is shown, and buffers are given back at once. Takes commands, a line
 * each, and answers each with a line when its events were sent:
 *
 *   enter N       gives the focus to the surface of that number, the oldest is 0
 *   leave         takes it away
 *   press CODE    presses a key, by its number in linux/input-event-codes.h, and lets it go
 *   unplug, plug  takes the keyboard away, gives it back
 *   keyboards     how many the clients have
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wayland-server.h>

#include "xdg_shell_server.h"

#define MOST 32

struct surface {
    struct wl_resource *resource, *pending, *shell, *toplevel;
    struct wl_resource *callbacks[MOST]; /* for when it was shown */
    int callback_count;
    bool is_configured;
};

static struct wl_display *display;
static struct surface *surfaces[MOST]; /* the oldest first */
static int surface_count;
static struct surface *focus;
static struct wl_list keyboards, seats;
static bool plugged = true;

static void destroy(struct wl_client *client, struct wl_resource *resource)
{
    wl_resource_destroy(resource);
}

static struct wl_resource *make(struct wl_client *client, const struct wl_interface *interface, int version,
                                uint32_t id, const void *requests, void *data, wl_resource_destroy_func_t end)
{
    struct wl_resource *resource = wl_resource_create(client, interface, version, id);
    if (!resource)
        exit(1);
    wl_resource_set_implementation(resource, requests, data, end);
    return resource;
}

/* ---- the keyboard ---- */

static void send_enter(struct wl_resource *keyboard)
{
    struct wl_array keys;
    wl_array_init(&keys);
    if (focus && wl_resource_get_client(keyboard) == wl_resource_get_client(focus->resource))
        wl_keyboard_send_enter(keyboard, wl_display_next_serial(display), focus->resource, &keys);
    wl_array_release(&keys);
}

static void set_focus(struct surface *surface)
{
    struct wl_resource *keyboard;

    wl_resource_for_each(keyboard, &keyboards) if (focus && wl_resource_get_client(keyboard) ==
                                                                wl_resource_get_client(focus->resource))
        wl_keyboard_send_leave(keyboard, wl_display_next_serial(display), focus->resource);
    focus = surface;
    wl_resource_for_each(keyboard, &keyboards) send_enter(keyboard);
}

static void send_key(uint32_t key, enum wl_keyboard_key_state state)
{
    struct wl_resource *keyboard;

    wl_resource_for_each(keyboard, &keyboards) if (focus && wl_resource_get_client(keyboard) ==
                                                                wl_resource_get_client(focus->resource))
        wl_keyboard_send_key(keyboard, wl_display_next_serial(display), 0, key, state);
}

static void drop(struct wl_resource *resource)
{
    wl_list_remove(wl_resource_get_link(resource));
}

static void get_keyboard(struct wl_client *client, struct wl_resource *seat, uint32_t id)
{
    static const struct wl_keyboard_interface requests = {.release = destroy};
    struct wl_resource *keyboard =
        make(client, &wl_keyboard_interface, wl_resource_get_version(seat), id, &requests, NULL, drop);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    wl_list_insert(&keyboards, wl_resource_get_link(keyboard));
    wl_keyboard_send_keymap(keyboard, WL_KEYBOARD_KEYMAP_FORMAT_NO_KEYMAP, nothing, 0);
    close(nothing);
    send_enter(keyboard);
}

static void refuse_new(struct wl_client *client, struct wl_resource *resource, uint32_t id)
{
    wl_client_post_no_memory(client);
}

static void send_capabilities(struct wl_resource *seat)
{
    wl_seat_send_capabilities(seat, plugged ? WL_SEAT_CAPABILITY_KEYBOARD : 0);
}

static void bind_seat(struct wl_client *client, void *data, uint32_t version, uint32_t id)
{
    static const struct wl_seat_interface requests = {
        .get_pointer = refuse_new, .get_keyboard = get_keyboard, .get_touch = refuse_new, .release = destroy};
    struct wl_resource *seat = make(client, &wl_seat_interface, (int)version, id, &requests, NULL, drop);

    wl_list_insert(&seats, wl_resource_get_link(seat));
    send_capabilities(seat);
}

/* ---- surfaces ---- */

static void attach(struct wl_client *client, struct wl_resource *resource, struct wl_resource *buffer, int32_t x,
                   int32_t y)
{
    struct surface *surface = wl_resource_get_user_data(resource);
    surface->pending = buffer;
}

static void forget_callback(struct wl_resource *callback)
{
    struct surface *surface = wl_resource_get_user_data(callback);
    for (int i = 0; surface && i < surface->callback_count; i++)
        if (surface->callbacks[i] == callback)
            surface->callbacks[i] = surface->callbacks[--surface->callback_count];
}

static void ask_for_frame(struct wl_client *client, struct wl_resource *resource, uint32_t id)
{
    struct surface *surface = wl_resource_get_user_data(resource);
    struct wl_resource *callback = make(client, &wl_callback_interface, 1, id, NULL, surface, forget_callback);
    if (surface->callback_count == MOST)
        exit(1);
    surface->callbacks[surface->callback_count++] = callback;
}

static void finish_callbacks(struct surface *surface)
{
    while (surface->callback_count) {
        struct wl_resource *callback = surface->callbacks[surface->callback_count - 1];
        wl_callback_send_done(callback, 0);
        wl_resource_destroy(callback);
    }
}

static void commit(struct wl_client *client, struct wl_resource *resource)
{
    struct surface *surface = wl_resource_get_user_data(resource);

    if (surface->pending)
        wl_buffer_send_release(surface->pending);
    surface->pending = NULL;
    finish_callbacks(surface);
    if (surface->toplevel && !surface->is_configured) {
        struct wl_array states;
        wl_array_init(&states);
        xdg_toplevel_send_configure(surface->toplevel, 0, 0, &states);
        xdg_surface_send_configure(surface->shell, wl_display_next_serial(display));
        surface->is_configured = true;
        wl_array_release(&states);
    }
}

static void take_rectangle(struct wl_client *client, struct wl_resource *resource, int32_t x, int32_t y, int32_t width,
                           int32_t height)
{
}
static void take_resource(struct wl_client *client, struct wl_resource *resource, struct wl_resource *other) {}
static void take_number(struct wl_client *client, struct wl_resource *resource, int32_t number) {}
static void take_unsigned(struct wl_client *client, struct wl_resource *resource, uint32_t number) {}
static void take_text(struct wl_client *client, struct wl_resource *resource, const char *text) {}
static void take_size(struct wl_client *client, struct wl_resource *resource, int32_t width, int32_t height) {}
static void take_nothing(struct wl_client *client, struct wl_resource *resource) {}

static void end_surface(struct wl_resource *resource)
{
    struct surface *surface = wl_resource_get_user_data(resource);
    int at = 0;

    if (focus == surface)
        focus = NULL;
    while (surfaces[at] != surface)
        at++;
    surface_count--;
    memmove(&surfaces[at], &surfaces[at + 1], (size_t)(surface_count - at) * sizeof *surfaces);
    for (int i = 0; i < surface->callback_count; i++)
        wl_resource_set_user_data(surface->callbacks[i], NULL);
    free(surface);
}

static void create_surface(struct wl_client *client, struct wl_resource *compositor, uint32_t id)
{
    static const struct wl_surface_interface requests = {.destroy = destroy,
                                                         .attach = attach,
                                                         .damage = take_rectangle,
                                                         .frame = ask_for_frame,
                                                         .set_opaque_region = take_resource,
                                                         .set_input_region = take_resource,
                                                         .commit = commit,
                                                         .set_buffer_transform = take_number,
                                                         .set_buffer_scale = take_number,
                                                         .damage_buffer = take_rectangle,
                                                         .offset = take_size};
    struct surface *surface = calloc(1, sizeof *surface);

    if (!surface || surface_count == MOST)
        exit(1);
    surface->resource =
        make(client, &wl_surface_interface, wl_resource_get_version(compositor), id, &requests, surface, end_surface);
    surfaces[surface_count++] = surface;
}

static void create_region(struct wl_client *client, struct wl_resource *compositor, uint32_t id)
{
    static const struct wl_region_interface requests = {
        .destroy = destroy, .add = take_rectangle, .subtract = take_rectangle};
    make(client, &wl_region_interface, wl_resource_get_version(compositor), id, &requests, NULL, NULL);
}

static void bind_compositor(struct wl_client *client, void *data, uint32_t version, uint32_t id)
{
    static const struct wl_compositor_interface requests = {.create_surface = create_surface,
                                                            .create_region = create_region};
    make(client, &wl_compositor_interface, (int)version, id, &requests, NULL, NULL);
}

/* ---- the shell ---- */

static void move(struct wl_client *client, struct wl_resource *resource, struct wl_resource *seat, uint32_t serial) {}
static void resize(struct wl_client *client, struct wl_resource *resource, struct wl_resource *seat, uint32_t serial,
                   uint32_t edges)
{
}
static void show_menu(struct wl_client *client, struct wl_resource *resource, struct wl_resource *seat, uint32_t serial,
                      int32_t x, int32_t y)
{
}

static void get_toplevel(struct wl_client *client, struct wl_resource *resource, uint32_t id)
{
    static const struct xdg_toplevel_interface requests = {.destroy = destroy,
                                                           .set_parent = take_resource,
                                                           .set_title = take_text,
                                                           .set_app_id = take_text,
                                                           .show_window_menu = show_menu,
                                                           .move = move,
                                                           .resize = resize,
                                                           .set_max_size = take_size,
                                                           .set_min_size = take_size,
                                                           .set_maximized = take_nothing,
                                                           .unset_maximized = take_nothing,
                                                           .set_fullscreen = take_resource,
                                                           .unset_fullscreen = take_nothing,
                                                           .set_minimized = take_nothing};
    struct surface *surface = wl_resource_get_user_data(resource);
    surface->toplevel =
        make(client, &xdg_toplevel_interface, wl_resource_get_version(resource), id, &requests, surface, NULL);
}

static void get_popup(struct wl_client *client, struct wl_resource *resource, uint32_t id, struct wl_resource *parent,
                      struct wl_resource *positioner)
{
    wl_client_post_no_memory(client);
}

static void get_xdg_surface(struct wl_client *client, struct wl_resource *shell, uint32_t id, struct wl_resource *of)
{
    static const struct xdg_surface_interface requests = {.destroy = destroy,
                                                          .get_toplevel = get_toplevel,
                                                          .get_popup = get_popup,
                                                          .set_window_geometry = take_rectangle,
                                                          .ack_configure = take_unsigned};
    struct surface *surface = wl_resource_get_user_data(of);
    surface->shell = make(client, &xdg_surface_interface, wl_resource_get_version(shell), id, &requests, surface, NULL);
}

static void bind_shell(struct wl_client *client, void *data, uint32_t version, uint32_t id)
{
    static const struct xdg_wm_base_interface requests = {
        .destroy = destroy, .create_positioner = refuse_new, .get_xdg_surface = get_xdg_surface, .pong = take_unsigned};
    make(client, &xdg_wm_base_interface, (int)version, id, &requests, NULL, NULL);
}

/* ---- commands ---- */

static void plug(bool in)
{
    struct wl_resource *seat;

    plugged = in;
    wl_resource_for_each(seat, &seats) send_capabilities(seat);
}

static bool obey(const char *command, uint32_t number)
{
    if (!strcmp(command, "enter") && number < (uint32_t)surface_count) {
        set_focus(surfaces[number]);
    } else if (!strcmp(command, "leave")) {
        set_focus(NULL);
    } else if (!strcmp(command, "press")) {
        send_key(number, WL_KEYBOARD_KEY_STATE_PRESSED);
        send_key(number, WL_KEYBOARD_KEY_STATE_RELEASED);
    } else if (!strcmp(command, "plug") || !strcmp(command, "unplug")) {
        plug(*command == 'p');
    } else if (!strcmp(command, "keyboards")) {
        printf("%d ", wl_list_length(&keyboards));
    } else {
        return false;
    }
    return true;
}

static int on_line(int fd, uint32_t mask, void *data)
{
    char line[128], command[32] = "";
    unsigned number = 0;

    if (!fgets(line, sizeof line, stdin)) {
        wl_display_terminate(display);
        return 0;
    }
    if (sscanf(line, "%31s %u", command, &number) < 1 || !obey(command, number)) {
        fprintf(stderr, "compositor: it can't '%s'\n", line);
        exit(1);
    }
    wl_display_flush_clients(display);
    printf("done\n");
    return 0;
}

int main(int argc, char **argv)
{
    display = wl_display_create();
    wl_list_init(&keyboards);
    wl_list_init(&seats);
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc != 2 || !display || wl_display_add_socket(display, argv[1]) != 0 || wl_display_init_shm(display) != 0 ||
        !wl_global_create(display, &wl_compositor_interface, 4, NULL, bind_compositor) ||
        !wl_global_create(display, &xdg_wm_base_interface, 1, NULL, bind_shell) ||
        !wl_global_create(display, &wl_seat_interface, 5, NULL, bind_seat) ||
        !wl_event_loop_add_fd(wl_display_get_event_loop(display), STDIN_FILENO, WL_EVENT_READABLE, on_line, NULL)) {
        fprintf(stderr, "compositor: can't begin\n");
        return 1;
    }
    wl_display_run(display);
    wl_display_destroy_clients(display);
    wl_display_destroy(display);
    return 0;
}
