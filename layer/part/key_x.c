/* SPDX-License-Identifier: MIT */
/*
 * Keys on X. A thread for each server gets all key presses, independent of the focus and of keyboard grabs ("X Input
 * Extension 2.1", raw events). It stores none of them, and queries the focus when the key is pressed. It ends when the
 * program has no window there any more.
 */
#include <X11/X.h>
#include <X11/Xproto.h>
#include <X11/extensions/XI2.h>
#include <X11/extensions/XI2proto.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer/core/layer.h"
#include "layer/part/key_window.h"

#define STACK_BYTES  ((size_t)256 << 10)
#define MOST_WINDOWS 64u
#define MOST_PARENTS 64u /* of a window, up to the root */

struct layer_key_x {
    struct layer_key_x *next;
    struct key_server *of;
    uint32_t window;
};

/* Owned by the thread until its end, except for the members under the mutex. */
struct key_server {
    struct key_server *next; /* under the mutex, as the two below */
    struct layer_key_x *windows;
    bool ended;        /* the thread has ended, or ignores windows from now on */
    bool is_connected; /* the socket can be hung up */
    struct layer_x_address address;
    struct layer_x_server server;
    uint8_t extension;                /* XInput's requests and events */
    uint32_t wm_state;                /* the atom; None: unknown */
    uint32_t keycodes[256 / 32];      /* of the key; a bit for each */
    bool is_pressed, mapping_changed; /* received, not handled yet */
};

static struct {
    pthread_mutex_t mutex;
    struct key_server *servers; /* with windows */
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- events ---- */

static bool has_keycode(const struct key_server *key, uint32_t code)
{
    return code < 256 && key->keycodes[code / 32] & UINT32_C(1) << code % 32;
}

static void hear(void *user, const void *event)
{
    struct key_server *key = user;
    const xGenericEvent *generic = event;
    const xXIRawEvent *raw = event;
    const xEvent *core = event;

    if (generic->type == GenericEvent) {
        if (generic->extension == key->extension && generic->evtype == XI_RawKeyPress && !(raw->flags & XIKeyRepeat) &&
            has_keycode(key, raw->detail))
            key->is_pressed = true;
    } else if ((core->u.u.type & 0x7f) == MappingNotify && core->u.mappingNotify.request == MappingKeyboard) {
        key->mapping_changed = true;
    }
}

/* ---- the focus ---- */

struct ancestry {
    uint32_t windows[MOST_PARENTS]; /* itself first, the child of the root last */
    uint32_t count;
    uint32_t client; /* the window with WM_STATE of the window manager (ICCCM); without one, the last */
};

static bool is_managed(struct key_server *key, uint32_t window)
{
    xGetPropertyReq request = {.reqType = X_GetProperty, .window = window, .property = key->wm_state};
    const xGetPropertyReply *reply = key->wm_state ? layer_x_ask(&key->server, &request, sizeof request) : NULL;
    return reply && reply->propertyType != None;
}

static void find_ancestry(struct key_server *key, uint32_t window, struct ancestry *out)
{
    uint32_t root = None;

    *out = (struct ancestry){.count = 0};
    while (window != None && window != root && out->count < MOST_PARENTS) {
        xResourceReq request = {.reqType = X_QueryTree, .id = window};
        const xQueryTreeReply *reply = layer_x_ask(&key->server, &request, sizeof request);
        uint32_t parent = reply ? reply->parent : None;

        if (!reply || window == reply->root)
            break;
        root = reply->root;
        out->windows[out->count++] = window;
        if (out->client == None && is_managed(key, window))
            out->client = window;
        window = parent;
    }
    if (out->client == None && out->count)
        out->client = out->windows[out->count - 1];
}

/* None: no window has the focus, or it is not known. */
static uint32_t find_focus(struct key_server *key)
{
    xReq ask_focus = {.reqType = X_GetInputFocus};
    xResourceReq ask_pointer = {.reqType = X_QueryPointer, .id = key->server.root};
    const xGetInputFocusReply *reply = layer_x_ask(&key->server, &ask_focus, sizeof ask_focus);
    const xQueryPointerReply *pointer;

    if (!reply || reply->focus != PointerRoot)
        return reply ? reply->focus : None;
    pointer = layer_x_ask(&key->server, &ask_pointer, sizeof ask_pointer);
    return pointer ? pointer->child : None;
}

static bool contains(const struct ancestry *ancestry, uint32_t window)
{
    for (uint32_t i = 0; i < ancestry->count; i++)
        if (ancestry->windows[i] == window)
            return true;
    return false;
}

/* Whether the window is the focus, its ancestor or descendant, or part of the same top-level window: toolkits give the
 * focus to an invisible window. */
static bool has_focus(struct key_server *key)
{
    uint32_t windows[MOST_WINDOWS], count = 0, focus = find_focus(key);
    struct ancestry of_focus, of_window;
    bool has = false;

    pthread_mutex_lock(&known.mutex);
    for (const struct layer_key_x *window = key->windows; window && count < MOST_WINDOWS; window = window->next)
        windows[count++] = window->window;
    pthread_mutex_unlock(&known.mutex);
    find_ancestry(key, focus, &of_focus);
    for (uint32_t i = 0; i < count && of_focus.count && !has; i++) {
        find_ancestry(key, windows[i], &of_window);
        has = of_window.count &&
              (of_window.client == of_focus.client || contains(&of_window, focus) || contains(&of_focus, windows[i]));
    }
    return has;
}

/* ---- the thread ---- */

/* Which keys have the symbol, with no modifier or, where none has it so, with any. */
static void find_keycodes(struct key_server *key)
{
    struct layer_x_server *server = &key->server;
    xGetKeyboardMappingReq request = {.reqType = X_GetKeyboardMapping,
                                      .firstKeyCode = server->first_keycode,
                                      .count = (CARD8)(server->last_keycode - server->first_keycode + 1)};
    const xGetKeyboardMappingReply *reply = layer_x_ask(server, &request, sizeof request);
    const uint32_t symbol = layer.options.parts.key->keysym;
    const uint32_t *symbols = (const uint32_t *)(reply + 1);
    bool found = false;

    key->mapping_changed = false;
    if (reply)
        memset(key->keycodes, 0, sizeof key->keycodes);
    for (uint32_t column = 0; reply && column < reply->keySymsPerKeyCode && !found; column++)
        for (uint32_t i = 0; i < request.count && (i + 1) * reply->keySymsPerKeyCode <= reply->length; i++)
            if (symbols[i * reply->keySymsPerKeyCode + column] == symbol) {
                uint32_t code = server->first_keycode + i;
                key->keycodes[code / 32] |= UINT32_C(1) << code % 32;
                found = true;
            }
    if (!found && !server->lost)
        layer_key_cannot("the X server's keyboards have no such key");
}

static uint32_t find_atom(struct key_server *key)
{
    struct {
        xInternAtomReq head;
        char name[8];
    } request = {.head = {.reqType = X_InternAtom, .onlyIfExists = xTrue, .nbytes = sizeof request.name}};
    const xInternAtomReply *reply;

    memcpy(request.name, "WM_STATE", sizeof request.name);
    reply = layer_x_ask(&key->server, &request, sizeof request);
    return reply ? reply->atom : None;
}

static bool has_extension(struct key_server *key)
{
    struct {
        xQueryExtensionReq head;
        char name[16];
    } query = {.head = {.reqType = X_QueryExtension, .nbytes = 15}, .name = "XInputExtension"};
    xXIQueryVersionReq version = {.ReqType = X_XIQueryVersion, .major_version = 2, .minor_version = 1};
    const xQueryExtensionReply *reply = layer_x_ask(&key->server, &query, sizeof query);
    const xXIQueryVersionReply *known_version;

    if (!reply || !reply->present)
        return false;
    key->extension = version.reqType = reply->major_opcode;
    known_version = layer_x_ask(&key->server, &version, sizeof version);
    return known_version && (known_version->major_version > 2 ||
                             (known_version->major_version == 2 && known_version->minor_version >= 1));
}

static void select_keys(struct key_server *key)
{
    struct {
        xXISelectEventsReq head;
        xXIEventMask mask;
        uint8_t bits[4];
    } request = {.head = {.reqType = key->extension, .ReqType = X_XISelectEvents, .num_masks = 1},
                 .mask = {.deviceid = XIAllMasterDevices, .mask_len = 1}};

    request.head.win = key->server.root;
    XISetMask(request.bits, XI_RawKeyPress);
    (void)layer_x_tell(&key->server, &request, sizeof request);
}

/* If the focus can't be queried for a press, the next connection handles the press again. */
static void ask_for_focus(struct key_server *key)
{
    key->is_pressed = false;
    key->wm_state = find_atom(key); /* a window manager may have come */
    if (has_focus(key))
        layer_key_pressed();
    else if (key->server.lost)
        key->is_pressed = true;
    else
        lap_log(&layer.log, LAP_LOG_DEBUG, "%s was pressed where the program has no focus",
                layer.options.parts.key->name);
}

/* True: the server was lost. False: there can be no events, and the reason was logged. */
static bool listen_to(struct key_server *key)
{
    if (!has_extension(key)) {
        if (!key->server.lost)
            layer_key_cannot("the X server has no X Input Extension 2.1");
        return key->server.lost;
    }
    select_keys(key);
    find_keycodes(key);
    if (key->server.lost)
        return true;
    lap_log(&layer.log, LAP_LOG_INFO, "%s begins a part, as the X server reports", layer.options.parts.key->name);
    while (!key->server.lost)
        if (key->mapping_changed)
            find_keycodes(key);
        else if (key->is_pressed)
            ask_for_focus(key);
        else
            (void)layer_x_listen(&key->server);
    return true;
}

/* Sets whether other threads may hang up. False: there are no windows any more. */
static bool set_connected(struct key_server *key, bool is_connected)
{
    bool wanted;

    pthread_mutex_lock(&known.mutex);
    key->is_connected = is_connected;
    wanted = key->windows != NULL;
    pthread_mutex_unlock(&known.mutex);
    return wanted;
}

/* False: there is no next time. */
static bool hear_once(struct key_server *key)
{
    bool again, taken;

    if (layer_x_connect(&key->server, &key->address) != LAP_OK) {
        char why[200];
        snprintf(why, sizeof why, "the X server can't be asked: %s", lap_error_message());
        layer_key_cannot(why);
        return false;
    }
    again = set_connected(key, true) && listen_to(key);
    again = set_connected(key, false) && again;
    /* The program may have closed the descriptor; then there is another one. */
    taken = lap_own_file_fd(&key->server.socket) < 0;
    layer_x_close(&key->server);
    if (again && !taken)
        layer_key_cannot("the connection to the X server is lost");
    return again && taken;
}

static void release(struct key_server *key)
{
    layer_x_address_finish(&key->address);
    free(key);
}

static void *run(void *user)
{
    struct key_server *key = user;
    bool unused;

    pthread_setname_np(pthread_self(), "lapilli-key");
    while (hear_once(key))
        ;
    pthread_mutex_lock(&known.mutex);
    key->ended = true;
    unused = !key->windows;
    pthread_mutex_unlock(&known.mutex);
    if (unused)
        release(key);
    return NULL;
}

static bool start(struct key_server *key)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    bool started;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the thread inherits it: no handler of the program runs there */
    started = pthread_create(&thread, &attributes, run, key) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* ---- windows ---- */

static bool is_at(const struct key_server *key, const struct layer_x_address *address)
{
    return key->address.peer_bytes == address->peer_bytes &&
           memcmp(&key->address.peer, &address->peer, address->peer_bytes) == 0;
}

/* Takes ownership of the address. NULL: out of memory. */
static struct key_server *find_or_add(struct layer_x_address *address, bool *out_is_new)
{
    struct key_server *key = known.servers;

    while (key && !is_at(key, address))
        key = key->next;
    *out_is_new = !key;
    if (key) {
        layer_x_address_finish(address);
        return key;
    }
    key = calloc(1, sizeof *key);
    if (!key) {
        layer_x_address_finish(address);
        return NULL;
    }
    key->address = *address;
    key->server.hear = hear;
    key->server.user = key;
    lap_own_file_init(&key->server.socket, -1, NULL);
    key->next = known.servers;
    known.servers = key;
    return key;
}

struct layer_key_x *layer_key_x_add(struct layer_x_address *address, uint32_t window)
{
    struct layer_key_x *added = calloc(1, sizeof *added);
    struct key_server *key = NULL;
    bool is_new = false;

    if (!added) {
        layer_x_address_finish(address);
        return NULL;
    }
    pthread_mutex_lock(&known.mutex);
    key = find_or_add(address, &is_new);
    if (key) {
        *added = (struct layer_key_x){key->windows, key, window};
        key->windows = added;
        if (is_new && !start(key)) {
            key->ended = true;
            is_new = false;
            layer_key_cannot("there is no thread to listen");
        }
    }
    pthread_mutex_unlock(&known.mutex);
    if (!key)
        free(added);
    return key ? added : NULL;
}

void layer_key_x_remove(struct layer_key_x *window)
{
    struct key_server *key = window->of, **server = &known.servers;
    struct layer_key_x **at = &key->windows;
    bool unused;

    pthread_mutex_lock(&known.mutex);
    while (*at != window)
        at = &(*at)->next;
    *at = window->next;
    if (!key->windows) {
        while (*server != key)
            server = &(*server)->next;
        *server = key->next;
        if (key->is_connected)
            layer_x_hang_up(&key->server); /* and the thread ends */
    }
    unused = !key->windows && key->ended;
    pthread_mutex_unlock(&known.mutex);
    free(window);
    if (unused)
        release(key);
}

void layer_key_x_forked(void)
{
    pthread_mutex_init(&known.mutex, NULL);
    for (struct key_server *key = known.servers; key; key = key->next)
        if (lap_own_file_is_open(&key->server.socket))
            lap_own_file_disown(&key->server.socket);
    known.servers = NULL; /* their memory stays allocated */
}
