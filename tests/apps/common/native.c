/* SPDX-License-Identifier: MIT */
/* Windows of four kinds. */
#include "target.h"

#include <X11/Xlib.h>
#include <time.h>
#include <wayland-client.h>
#include <xcb/xcb.h>

#include <vulkan/vulkan_wayland.h>
#include <vulkan/vulkan_xcb.h>
#include <vulkan/vulkan_xlib.h>

#include "xdg_shell.h"

struct app_native {
    enum app_window_kind kind;
    xcb_connection_t *connection;
    xcb_window_t window;
    Display *display;
    Window xlib_window;
    struct wl_display *wayland;
    struct wl_registry *registry;
    struct wl_compositor *compositor;
    struct wl_surface *wayland_surface;
    struct xdg_wm_base *shell;
    struct xdg_surface *shell_surface;
    struct xdg_toplevel *toplevel;
    bool configured;
};

static PFN_vkVoidFunction instance_function(const struct app *app, const char *name)
{
    PFN_vkVoidFunction function = vkGetInstanceProcAddr(app->instance, name);
    if (!function)
        app_fail(__FILE__, __LINE__, "vkGetInstanceProcAddr knows no %s", name);
    return function;
}

/* A server that has only just been started may not listen yet. */
static void pause_for_server(void)
{
    const struct timespec pause = {0, 100000000};
    nanosleep(&pause, NULL);
}

#define ATTEMPTS 20u

/* ---- X, by its newer library ---- */

/* Waits until the server has answered everything before, then drops what it told us meanwhile. */
static void settle(struct app_native *native)
{
    xcb_get_input_focus_reply_t *reply =
        xcb_get_input_focus_reply(native->connection, xcb_get_input_focus(native->connection), NULL);
    free(reply);
    for (xcb_generic_event_t *event; (event = xcb_poll_for_event(native->connection));)
        free(event);
}

static xcb_connection_t *connect_xcb(const struct app *app)
{
    if (!getenv("DISPLAY"))
        app_skip(app, "no DISPLAY");
    for (uint32_t i = 0; i < ATTEMPTS; i++) {
        xcb_connection_t *connection = xcb_connect(NULL, NULL);
        if (!xcb_connection_has_error(connection)) /* never NULL */
            return connection;
        xcb_disconnect(connection);
        pause_for_server();
    }
    app_skip(app, "the X display does not answer");
}

static void open_xcb(const struct app *app, struct app_native *native, uint32_t width, uint32_t height,
                     VkSurfaceKHR *out_surface)
{
    native->connection = connect_xcb(app);
    xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(native->connection)).data;
    native->window = xcb_generate_id(native->connection);
    /* No window manager may give it another size: pictures are compared from run to run. */
    const uint32_t values[] = {screen->black_pixel, 1};
    xcb_create_window(native->connection, XCB_COPY_FROM_PARENT, native->window, screen->root, 0, 0, (uint16_t)width,
                      (uint16_t)height, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual,
                      XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT, values);
    app_native_show(native, true);

    PFN_vkCreateXcbSurfaceKHR create_surface =
        (PFN_vkCreateXcbSurfaceKHR)instance_function(app, "vkCreateXcbSurfaceKHR");
    VkXcbSurfaceCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR};
    create.connection = native->connection;
    create.window = native->window;
    CHECK_VK(create_surface(app->instance, &create, NULL, out_surface));
}

/* ---- X, by its older library ---- */

static void open_xlib(const struct app *app, struct app_native *native, uint32_t width, uint32_t height,
                      VkSurfaceKHR *out_surface)
{
    if (!getenv("DISPLAY"))
        app_skip(app, "no DISPLAY");
    for (uint32_t i = 0; i < ATTEMPTS && !native->display; i++) {
        native->display = XOpenDisplay(NULL);
        if (!native->display)
            pause_for_server();
    }
    if (!native->display)
        app_skip(app, "the X display does not answer");
    XSetWindowAttributes attributes = {.override_redirect = True};
    native->xlib_window = XCreateWindow(native->display, DefaultRootWindow(native->display), 0, 0, width, height, 0,
                                        CopyFromParent, InputOutput, CopyFromParent, CWOverrideRedirect, &attributes);
    app_native_show(native, true);

    PFN_vkCreateXlibSurfaceKHR create_surface =
        (PFN_vkCreateXlibSurfaceKHR)instance_function(app, "vkCreateXlibSurfaceKHR");
    VkXlibSurfaceCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_XLIB_SURFACE_CREATE_INFO_KHR};
    create.dpy = native->display;
    create.window = native->xlib_window;
    CHECK_VK(create_surface(app->instance, &create, NULL, out_surface));
}

/* ---- Wayland ---- */

static void on_global(void *data, struct wl_registry *registry, uint32_t name, const char *interface, uint32_t version)
{
    struct app_native *native = data;
    if (!strcmp(interface, wl_compositor_interface.name))
        native->compositor = wl_registry_bind(registry, name, &wl_compositor_interface, version < 4 ? version : 4);
    else if (!strcmp(interface, xdg_wm_base_interface.name))
        native->shell = wl_registry_bind(registry, name, &xdg_wm_base_interface, 1);
}

static void on_global_remove(void *data, struct wl_registry *registry, uint32_t name) {}

static void on_ping(void *data, struct xdg_wm_base *shell, uint32_t serial)
{
    xdg_wm_base_pong(shell, serial);
}

static void on_configure(void *data, struct xdg_surface *surface, uint32_t serial)
{
    struct app_native *native = data;
    xdg_surface_ack_configure(surface, serial);
    native->configured = true;
}

static void on_size(void *data, struct xdg_toplevel *toplevel, int32_t width, int32_t height, struct wl_array *states)
{
}

static void on_close(void *data, struct xdg_toplevel *toplevel) {}

static void open_wayland(const struct app *app, struct app_native *native, VkSurfaceKHR *out_surface)
{
    static const struct wl_registry_listener globals = {.global = on_global, .global_remove = on_global_remove};
    static const struct xdg_wm_base_listener shell = {.ping = on_ping};
    static const struct xdg_surface_listener surface = {.configure = on_configure};
    static const struct xdg_toplevel_listener toplevel = {.configure = on_size, .close = on_close};
    native->wayland = getenv("WAYLAND_DISPLAY") ? wl_display_connect(NULL) : NULL;
    if (!native->wayland)
        app_skip(app, "no Wayland display answers");
    native->registry = wl_display_get_registry(native->wayland);
    wl_registry_add_listener(native->registry, &globals, native);
    CHECK(wl_display_roundtrip(native->wayland) >= 0);
    CHECK(native->compositor && native->shell);
    xdg_wm_base_add_listener(native->shell, &shell, native);
    native->wayland_surface = wl_compositor_create_surface(native->compositor);
    native->shell_surface = xdg_wm_base_get_xdg_surface(native->shell, native->wayland_surface);
    xdg_surface_add_listener(native->shell_surface, &surface, native);
    native->toplevel = xdg_surface_get_toplevel(native->shell_surface);
    xdg_toplevel_add_listener(native->toplevel, &toplevel, native);
    xdg_toplevel_set_title(native->toplevel, app->program->name);
    wl_surface_commit(native->wayland_surface);
    while (!native->configured)
        CHECK(wl_display_dispatch(native->wayland) >= 0);

    PFN_vkCreateWaylandSurfaceKHR create_surface =
        (PFN_vkCreateWaylandSurfaceKHR)instance_function(app, "vkCreateWaylandSurfaceKHR");
    VkWaylandSurfaceCreateInfoKHR create = {.sType = VK_STRUCTURE_TYPE_WAYLAND_SURFACE_CREATE_INFO_KHR};
    create.display = native->wayland;
    create.surface = native->wayland_surface;
    CHECK_VK(create_surface(app->instance, &create, NULL, out_surface));
}

static void close_wayland(struct app_native *native)
{
    xdg_toplevel_destroy(native->toplevel);
    xdg_surface_destroy(native->shell_surface);
    wl_surface_destroy(native->wayland_surface);
    xdg_wm_base_destroy(native->shell);
    wl_compositor_destroy(native->compositor);
    wl_registry_destroy(native->registry);
    wl_display_disconnect(native->wayland);
}

/* ---- all ---- */

struct app_native *app_native_open(const struct app *app, uint32_t width, uint32_t height, VkSurfaceKHR *out_surface)
{
    const VkHeadlessSurfaceCreateInfoEXT create = {.sType = VK_STRUCTURE_TYPE_HEADLESS_SURFACE_CREATE_INFO_EXT};
    struct app_native *native = calloc(1, sizeof(*native));
    CHECK(native);
    native->kind = app->window_kind;
    switch (native->kind) {
    case APP_XCB:
        open_xcb(app, native, width, height, out_surface);
        break;
    case APP_XLIB:
        open_xlib(app, native, width, height, out_surface);
        break;
    case APP_WAYLAND:
        open_wayland(app, native, out_surface);
        break;
    case APP_HEADLESS:
        CHECK_VK(((PFN_vkCreateHeadlessSurfaceEXT)instance_function(app, "vkCreateHeadlessSurfaceEXT"))(
            app->instance, &create, NULL, out_surface));
        break;
    }
    return native;
}

void app_native_resize(struct app_native *native, uint32_t width, uint32_t height)
{
    const uint32_t values[] = {width, height};
    if (native->kind == APP_XCB) {
        xcb_configure_window(native->connection, native->window, XCB_CONFIG_WINDOW_WIDTH | XCB_CONFIG_WINDOW_HEIGHT,
                             values);
        settle(native);
    } else if (native->kind == APP_XLIB) {
        XResizeWindow(native->display, native->xlib_window, width, height);
        XSync(native->display, True);
    }
}

void app_native_show(struct app_native *native, bool show)
{
    if (native->kind == APP_XCB) {
        if (show)
            xcb_map_window(native->connection, native->window);
        else
            xcb_unmap_window(native->connection, native->window);
        settle(native);
    } else if (native->kind == APP_XLIB) {
        if (show)
            XMapWindow(native->display, native->xlib_window);
        else
            XUnmapWindow(native->display, native->xlib_window);
        XSync(native->display, True);
    }
}

void app_native_listen(struct app_native *native)
{
    if (native->kind == APP_XCB)
        settle(native);
    else if (native->kind == APP_XLIB)
        XSync(native->display, True);
    else if (native->kind == APP_WAYLAND)
        CHECK(wl_display_roundtrip(native->wayland) >= 0);
}

void app_native_close(struct app_native *native)
{
    if (native->kind == APP_XCB) {
        xcb_destroy_window(native->connection, native->window);
        xcb_disconnect(native->connection);
    } else if (native->kind == APP_XLIB) {
        XDestroyWindow(native->display, native->xlib_window);
        XCloseDisplay(native->display);
    } else if (native->kind == APP_WAYLAND) {
        close_wayland(native);
    }
    free(native);
}
