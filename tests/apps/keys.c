/* SPDX-License-Identifier: MIT */
/*
 * keys: windows that stay for a while, so that somebody can press keys in them; each is drawn by a thread of its own.
 * With --step a frame is shown for each line of standard input, which the first one answers with "frame"; its end is
 * the program's. With --again all windows are closed and opened anew after half of the frames. With --fork a child
 * destroys what it has of the surfaces, and ends, after three frames. With
 * --close-foreign descriptors that somebody else has put out of the way are closed then. With --close-first the
 * connection to the window system is closed before the surfaces are destroyed, which drivers may mind.
 */
#include "common/shot.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_WINDOWS 4u
#define EARLY        3u   /* frames */
#define HIGH         512u /* nobody here has so many files */

static bool steps, again, forks, closes_foreign, closes_first;
static uint32_t window_count = 1;
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t frames; /* that may be shown */
    bool ended;
} asked = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

struct view {
    struct app app; /* what is created lazily is this thread's */
    struct app_window window;
    struct app_swapchain swapchain;
    struct app_shot shot;
    uint32_t frames;
    bool is_first;
};

static void open_view(const struct app *app, struct view *view, uint32_t frames)
{
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = app->queue_family};
    view->app = *app;
    view->frames = frames;
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &view->app.pool));
    app_shot_create(&view->app, &view->shot);
    view->shot.waits = true;
    app_window_open(app, &view->window, 100, 100);
    view->swapchain = (struct app_swapchain){0};
    CHECK(app_swapchain_create(app, &view->swapchain, view->window.surface, VK_PRESENT_MODE_FIFO_KHR, 100, 100));
    if (!view->swapchain.writable || !view->swapchain.readable)
        app_skip(app, "the swapchain's images can't be copied from and to");
}

static void close_view(const struct app *app, struct view *view)
{
    app_swapchain_destroy(app, &view->swapchain);
    if (closes_first) {
        app_native_close(view->window.native);
        vkDestroySurfaceKHR(app->instance, view->window.surface, NULL);
    } else {
        app_window_close(app, &view->window);
    }
    app_shot_destroy(&view->app, &view->shot);
    vkDestroyCommandPool(app->device, view->app.pool, NULL);
}

static void leave_a_child(const struct view *view)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        vkDestroySurfaceKHR(view->app.instance, view->window.surface, NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void play_frame(struct view *view, uint32_t number)
{
    struct app *app = &view->app;
    VkPresentInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR};
    VkResult result = vkAcquireNextImageKHR(app->device, view->swapchain.swapchain, UINT64_MAX, view->shot.acquired,
                                            VK_NULL_HANDLE, &view->shot.image);

    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
    pthread_mutex_lock(&queue_mutex);
    app_shot_draw(app, &view->shot, &view->swapchain, number);
    info.waitSemaphoreCount = 1;
    info.pWaitSemaphores = &view->swapchain.drawn[view->shot.image];
    info.swapchainCount = 1;
    info.pSwapchains = &view->swapchain.swapchain;
    info.pImageIndices = &view->shot.image;
    result = vkQueuePresentKHR(app->queue, &info);
    pthread_mutex_unlock(&queue_mutex);
    CHECK(result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR);
    app_shot_finish(app, &view->shot, &view->swapchain);
    app_window_listen(&view->window);
}

/* Waits until there is a line for this frame. */
static bool is_asked(const struct view *view, uint32_t frame)
{
    bool shown;

    if (view->is_first) {
        int byte = getchar();
        pthread_mutex_lock(&asked.mutex);
        asked.frames = frame + 1;
        asked.ended = byte == EOF;
        pthread_cond_broadcast(&asked.changed);
        pthread_mutex_unlock(&asked.mutex);
    }
    pthread_mutex_lock(&asked.mutex);
    while (!asked.ended && asked.frames <= frame)
        pthread_cond_wait(&asked.changed, &asked.mutex);
    shown = !asked.ended;
    pthread_mutex_unlock(&asked.mutex);
    return shown;
}

static void *run_view(void *argument)
{
    struct view *view = argument;

    for (uint32_t i = 0; i < view->frames; i++) {
        if (steps && !is_asked(view, i))
            break;
        play_frame(view, i);
        if (view->is_first && steps && (printf("frame\n") < 0 || fflush(stdout) != 0))
            break; /* nobody reads any more */
        if (view->is_first && forks && i == EARLY)
            leave_a_child(view);
        if (view->is_first && closes_foreign && i == EARLY)
            for (int fd = HIGH; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 4096; fd++)
                close(fd);
    }
    return NULL;
}

static void run_views(const struct app *app, uint32_t frames)
{
    static struct view views[MOST_WINDOWS];
    pthread_t threads[MOST_WINDOWS];

    for (uint32_t i = 0; i < window_count; i++) {
        open_view(app, &views[i], frames);
        views[i].is_first = i == 0;
    }
    for (uint32_t i = 1; i < window_count; i++)
        CHECK(!pthread_create(&threads[i], NULL, run_view, &views[i]));
    run_view(&views[0]);
    for (uint32_t i = 1; i < window_count; i++)
        CHECK(!pthread_join(threads[i], NULL));
    CHECK_VK(vkDeviceWaitIdle(app->device));
    for (uint32_t i = 0; i < window_count; i++)
        close_view(app, &views[i]);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--step", "show a frame for each line that is read", &steps, NULL},
        {"--windows", "how many, 4 at most", NULL, &window_count},
        {"--again", "close the windows and open others", &again, NULL},
        {"--fork", "a child destroys the surface that it has a copy of", &forks, NULL},
        {"--close-foreign", "close descriptors of others", &closes_foreign, NULL},
        {"--close-first", "close the window system's connection before the surface", &closes_first, NULL},
        {.name = NULL}};
    static const struct app_program program = {.name = "keys",
                                               .what = "Windows that stay for a while, each drawn by a thread.",
                                               .frames = 20,
                                               .can_present = true,
                                               .presents_by_default = true,
                                               .options = options};
    struct app app;

    app_init(&app, argc, argv, &program);
    if (!app.present)
        app_skip(&app, "there is nothing to do without windows");
    if (window_count < 1 || window_count > MOST_WINDOWS)
        window_count = MOST_WINDOWS;
    app_device_create(&app, NULL);
    run_views(&app, again ? app.frames / 2 : app.frames);
    if (again)
        run_views(&app, app.frames / 2);
    return app_finish(&app);
}
