/* SPDX-License-Identifier: MIT */
/*
 * x-keys: presses keys on an X display, and says which window has the focus. Takes commands, a line each, and answers
 * each with a line when the server has done it:
 *
 *   windows        the children of the root that are mapped, the oldest first
 *   focus WINDOW   gives it the focus; also 0 (none) and 1 (the window under the pointer)
 *   point WINDOW   moves the pointer into it, where no window of its own is
 *   other          makes a window of its own, and gives it the focus
 *   child WINDOW   the same with a child of that one
 *   frame WINDOW   puts it into a window of its own, as window managers do, and gives this one the focus
 *   press KEYSYM   presses a key and lets it go (XTEST)
 *   down KEYSYM, up KEYSYM
 *   grab           takes the keyboard, as full-screen programs do
 *   hold, go on    lets the server listen to nobody else, until the second one
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

static xcb_connection_t *connection;
static xcb_window_t root;

static void settle(void)
{
    free(xcb_get_input_focus_reply(connection, xcb_get_input_focus(connection), NULL));
    for (xcb_generic_event_t *event; (event = xcb_poll_for_event(connection));)
        free(event);
}

static void fail(const char *what)
{
    fprintf(stderr, "x-keys: %s\n", what);
    exit(1);
}

static bool is_mapped(xcb_window_t window)
{
    xcb_get_window_attributes_reply_t *reply =
        xcb_get_window_attributes_reply(connection, xcb_get_window_attributes(connection, window), NULL);
    bool mapped = reply && reply->map_state == XCB_MAP_STATE_VIEWABLE;
    free(reply);
    return mapped;
}

static void list_windows(void)
{
    xcb_query_tree_reply_t *reply = xcb_query_tree_reply(connection, xcb_query_tree(connection, root), NULL);
    if (!reply)
        fail("no answer");
    for (int i = 0; i < xcb_query_tree_children_length(reply); i++)
        if (is_mapped(xcb_query_tree_children(reply)[i]))
            printf("%" PRIu32 " ", xcb_query_tree_children(reply)[i]);
    free(reply);
}

static void give_focus(xcb_window_t window)
{
    xcb_set_input_focus(connection, XCB_INPUT_FOCUS_NONE, window, XCB_CURRENT_TIME);
}

/* No window manager is asked. */
static xcb_window_t make_window(xcb_window_t parent)
{
    const uint32_t value = 1;
    xcb_window_t window = xcb_generate_id(connection);
    xcb_create_window(connection, XCB_COPY_FROM_PARENT, window, parent, 0, 0, 50, 50, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT,
                      XCB_COPY_FROM_PARENT, XCB_CW_OVERRIDE_REDIRECT, &value);
    xcb_map_window(connection, window);
    return window;
}

static xcb_keycode_t keycode_of(uint32_t keysym)
{
    const xcb_setup_t *setup = xcb_get_setup(connection);
    const uint8_t count = (uint8_t)(setup->max_keycode - setup->min_keycode + 1);
    xcb_get_keyboard_mapping_reply_t *reply = xcb_get_keyboard_mapping_reply(
        connection, xcb_get_keyboard_mapping(connection, setup->min_keycode, count), NULL);
    xcb_keycode_t code = 0;
    for (int i = 0; reply && i < count && !code; i++)
        if (xcb_get_keyboard_mapping_keysyms(reply)[i * reply->keysyms_per_keycode] == keysym)
            code = (xcb_keycode_t)(setup->min_keycode + i);
    free(reply);
    if (!code)
        fail("there is no such key");
    return code;
}

/* By the extension XTEST ("X Test Extension Protocol"), FakeInput. */
static void fake(uint8_t type, xcb_keycode_t code)
{
    static xcb_extension_t xtest = {"XTEST", 0};
    static const xcb_protocol_request_t request = {.count = 2, .ext = &xtest, .opcode = 2, .isvoid = 1};
    struct {
        uint8_t major, minor;
        uint16_t length;
        uint8_t type, detail, pad[2];
        uint32_t time;
        uint8_t rest[24];
    } body = {.type = type, .detail = code};
    /* xcb wants room for two more in front. */
    struct iovec parts[4] = {[2] = {&body, sizeof body}, [3] = {NULL, 0}};
    xcb_send_request(connection, 0, parts + 2, &request);
}

static void press(const char *keysym, bool down, bool up)
{
    xcb_keycode_t code = keycode_of((uint32_t)strtoul(keysym, NULL, 0));
    if (down)
        fake(XCB_KEY_PRESS, code);
    if (up)
        fake(XCB_KEY_RELEASE, code);
}

static void frame(xcb_window_t window)
{
    xcb_window_t own = make_window(root);
    xcb_reparent_window(connection, window, own, 0, 0);
    give_focus(own);
}

static void obey(const char *command, const char *argument)
{
    const xcb_window_t window = (xcb_window_t)strtoul(argument, NULL, 0);

    if (!strcmp(command, "windows"))
        list_windows();
    else if (!strcmp(command, "focus"))
        give_focus(window);
    else if (!strcmp(command, "point"))
        xcb_warp_pointer(connection, XCB_NONE, window, 0, 0, 0, 0, 60, 60);
    else if (!strcmp(command, "other"))
        give_focus(make_window(root));
    else if (!strcmp(command, "child"))
        give_focus(make_window(window));
    else if (!strcmp(command, "frame"))
        frame(window);
    else if (!strcmp(command, "press"))
        press(argument, true, true);
    else if (!strcmp(command, "down") || !strcmp(command, "up"))
        press(argument, *command == 'd', *command == 'u');
    else if (!strcmp(command, "grab"))
        free(xcb_grab_keyboard_reply(
            connection,
            xcb_grab_keyboard(connection, 0, root, XCB_CURRENT_TIME, XCB_GRAB_MODE_ASYNC, XCB_GRAB_MODE_ASYNC), NULL));
    else if (!strcmp(command, "hold"))
        xcb_grab_server(connection);
    else if (!strcmp(command, "go"))
        xcb_ungrab_server(connection);
    else
        fail("there is no such command");
}

int main(void)
{
    char line[256];

    connection = xcb_connect(NULL, NULL);
    if (xcb_connection_has_error(connection))
        fail("the X display does not answer");
    root = xcb_setup_roots_iterator(xcb_get_setup(connection)).data->root;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        char command[32] = "", argument[64] = "0";
        if (sscanf(line, "%31s %63s", command, argument) < 1)
            continue;
        obey(command, argument);
        settle();
        if (xcb_connection_has_error(connection))
            fail("the X display is gone");
        printf("done\n");
    }
    xcb_disconnect(connection);
    return 0;
}
