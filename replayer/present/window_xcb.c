/* SPDX-License-Identifier: MIT */
#include "replayer/core/device.h"
#include "replayer/present/window_system.h"

#include <stdlib.h>
#include <string.h>

#ifdef LAP_HAS_X

#define KEYSYM_ESCAPE 0xff1bu

struct replay_display {
    xcb_connection_t *connection;
    struct replay_native *windows;
};

struct replay_native {
    struct replay_display *display;
    struct replay_native *next;
    xcb_connection_t *connection; /* owned by the display */
    xcb_window_t window;
    xcb_atom_t protocols, delete_window;
    xcb_keycode_t escape; /* 0: the keyboard has no Escape */
    VkExtent2D extent;
    bool closed;
};

static void disconnect_display(struct replay_display **display)
{
    if (!*display)
        return;
    xcb_disconnect((*display)->connection);
    free(*display);
    *display = NULL;
}

static struct replay_display *connect_display(void)
{
    struct replay_display *display = getenv("DISPLAY") ? calloc(1, sizeof *display) : NULL;

    if (!display)
        return NULL;
    display->connection = xcb_connect(NULL, NULL);
    if (!display->connection || xcb_connection_has_error(display->connection))
        disconnect_display(&display);
    return display;
}

static xcb_atom_t find_atom(xcb_connection_t *connection, const char *name)
{
    xcb_intern_atom_reply_t *reply =
        xcb_intern_atom_reply(connection, xcb_intern_atom(connection, 0, (uint16_t)strlen(name), name), NULL);
    xcb_atom_t atom = reply ? reply->atom : XCB_ATOM_NONE;
    free(reply);
    return atom;
}

/* The keycode of Escape on this keyboard. */
static xcb_keycode_t find_escape(xcb_connection_t *connection)
{
    const xcb_setup_t *setup = xcb_get_setup(connection);
    uint8_t count = (uint8_t)(setup->max_keycode - setup->min_keycode + 1);
    xcb_get_keyboard_mapping_reply_t *reply = xcb_get_keyboard_mapping_reply(
        connection, xcb_get_keyboard_mapping(connection, setup->min_keycode, count), NULL);
    xcb_keycode_t escape = 0;

    if (!reply)
        return 0;
    for (int i = 0; i < xcb_get_keyboard_mapping_keysyms_length(reply) && !escape; i++)
        if (reply->keysyms_per_keycode && xcb_get_keyboard_mapping_keysyms(reply)[i] == KEYSYM_ESCAPE)
            escape = (xcb_keycode_t)(setup->min_keycode + i / reply->keysyms_per_keycode);
    free(reply);
    return escape;
}

static void set_title(struct replay_native *xcb, const char *title)
{
    xcb_change_property(xcb->connection, XCB_PROP_MODE_REPLACE, xcb->window, XCB_ATOM_WM_NAME, XCB_ATOM_STRING, 8,
                        (uint32_t)strlen(title), title);
    xcb_flush(xcb->connection);
}

static void close_window(struct replay_native **xcb)
{
    struct replay_native **at;

    if (!*xcb)
        return;
    for (at = &(*xcb)->display->windows; *at != *xcb; at = &(*at)->next) {
    }
    *at = (*xcb)->next;
    xcb_destroy_window((*xcb)->connection, (*xcb)->window);
    xcb_flush((*xcb)->connection);
    free(*xcb);
    *xcb = NULL;
}

static enum lap_status open_window(struct replay_display *display, const char *title, VkExtent2D extent, bool visible,
                                   struct replay_native **out_xcb)
{
    const uint32_t events = XCB_EVENT_MASK_STRUCTURE_NOTIFY | XCB_EVENT_MASK_KEY_PRESS;
    struct replay_native *xcb = calloc(1, sizeof *xcb);
    xcb_screen_t *screen;

    *out_xcb = NULL;
    if (!xcb)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    xcb->connection = display->connection;
    if (xcb_connection_has_error(xcb->connection)) {
        free(xcb);
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the X display does not answer any more");
    }
    xcb->display = display;
    xcb->next = display->windows;
    display->windows = xcb;
    screen = xcb_setup_roots_iterator(xcb_get_setup(xcb->connection)).data;
    xcb->extent = extent;
    xcb->window = xcb_generate_id(xcb->connection);
    xcb_create_window(xcb->connection, XCB_COPY_FROM_PARENT, xcb->window, screen->root, 0, 0, (uint16_t)extent.width,
                      (uint16_t)extent.height, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, XCB_CW_EVENT_MASK,
                      &events);
    xcb->protocols = find_atom(xcb->connection, "WM_PROTOCOLS");
    xcb->delete_window = find_atom(xcb->connection, "WM_DELETE_WINDOW");
    xcb->escape = find_escape(xcb->connection);
    xcb_change_property(xcb->connection, XCB_PROP_MODE_REPLACE, xcb->window, xcb->protocols, XCB_ATOM_ATOM, 32, 1,
                        &xcb->delete_window);
    set_title(xcb, title);
    if (visible)
        xcb_map_window(xcb->connection, xcb->window);
    xcb_flush(xcb->connection);
    *out_xcb = xcb;
    return LAP_OK;
}

static VkResult create_surface(const struct replay_native *xcb, const struct replay_instance *instance,
                               VkSurfaceKHR *out_surface)
{
    VkXcbSurfaceCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR, .connection = xcb->connection, .window = xcb->window};

    return instance->vk.CreateXcbSurfaceKHR ? instance->vk.CreateXcbSurfaceKHR(instance->live, &info, NULL, out_surface)
                                            : VK_ERROR_EXTENSION_NOT_PRESENT;
}

static void resize(struct replay_native *xcb, VkExtent2D extent)
{
    const uint32_t values[] = {extent.width, extent.height};
    xcb_configure_window(xcb->connection, xcb->window, XCB_CONFIG_WINDOW_WIDTH | XCB_CONFIG_WINDOW_HEIGHT, values);
    xcb_flush(xcb->connection);
}

/* NULL: the window is gone already. */
static struct replay_native *find_window(const struct replay_display *display, xcb_window_t window)
{
    struct replay_native *xcb = display->windows;

    while (xcb && xcb->window != window)
        xcb = xcb->next;
    return xcb;
}

/* Events of all windows arrive on one connection. */
static void take_event(const struct replay_display *display, const xcb_generic_event_t *event)
{
    struct replay_native *xcb;

    switch (event->response_type & 0x7f) {
    case XCB_CONFIGURE_NOTIFY: {
        const xcb_configure_notify_event_t *configure = (const void *)event;
        if ((xcb = find_window(display, configure->window)))
            xcb->extent = (VkExtent2D){configure->width, configure->height};
        break;
    }
    case XCB_KEY_PRESS: {
        const xcb_key_press_event_t *press = (const void *)event;
        if ((xcb = find_window(display, press->event)))
            xcb->closed |= xcb->escape && press->detail == xcb->escape;
        break;
    }
    case XCB_CLIENT_MESSAGE: {
        const xcb_client_message_event_t *message = (const void *)event;
        if ((xcb = find_window(display, message->window)))
            xcb->closed |= message->type == xcb->protocols && message->data.data32[0] == xcb->delete_window;
        break;
    }
    case XCB_DESTROY_NOTIFY:
        if ((xcb = find_window(display, ((const xcb_destroy_notify_event_t *)(const void *)event)->window)))
            xcb->closed = true;
        break;
    default:
        break;
    }
}

static enum replay_window_state poll_events(struct replay_native *xcb, VkExtent2D *out_extent)
{
    xcb_generic_event_t *event;

    while ((event = xcb_poll_for_event(xcb->connection))) {
        take_event(xcb->display, event);
        free(event);
    }
    *out_extent = xcb->extent;
    if (xcb->closed)
        return REPLAY_WINDOW_CLOSED;
    return xcb_connection_has_error(xcb->connection) ? REPLAY_WINDOW_LOST : REPLAY_WINDOW_OPEN;
}

const struct replay_window_system replay_window_xcb = {.name = "xcb",
                                                       .extension = VK_KHR_XCB_SURFACE_EXTENSION_NAME,
                                                       .connect = connect_display,
                                                       .disconnect = disconnect_display,
                                                       .open = open_window,
                                                       .close = close_window,
                                                       .create_surface = create_surface,
                                                       .set_title = set_title,
                                                       .resize = resize,
                                                       .poll = poll_events};

#else /* built without XCB */

static struct replay_display *connect_display(void)
{
    return NULL;
}

static void disconnect_display(struct replay_display **display) {}

const struct replay_window_system replay_window_xcb = {
    .name = "xcb", .extension = "VK_KHR_xcb_surface", .connect = connect_display, .disconnect = disconnect_display};

#endif
