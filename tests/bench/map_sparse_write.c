/* SPDX-License-Identifier: MIT */
/*
 * map_sparse_write: a large map of which a small part of the pages is ever written. How much memory a recorder needs
 * should follow what was written, not what is mapped.
 */
#include "common/bench.h"

static uint32_t size_mib = 2048, per_mille = 1;

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--size-mib", "size of the map", NULL, &size_mib},
        {"--per-mille", "part of the pages that a frame writes", NULL, &per_mille},
        {0}};
    static const struct app_program program = {
        .name = "map_sparse_write", .what = "A few pages of a large map.", .frames = 7, .options = options};
    struct app app;
    struct app_buffer buffer;
    struct bench_reader reader;
    struct bench bench = {.app = &app};
    uint64_t seed = 88172645463325252u;

    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    app_buffer_create(&app, &buffer, size_mib * MIB, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    if (!buffer.coherent)
        app_skip(&app, "no coherent memory");
    bench_reader_create(&app, &reader, buffer.buffer, buffer.size);
    /* As many equal parts as pages to write; in each part one page. */
    const uint64_t pages = buffer.size / BENCH_PAGE, a_frame = pages * per_mille / 1000;
    const uint64_t part = pages / (a_frame * bench_frames(&bench));
    CHECK(a_frame && part);
    while (bench.frame < bench_frames(&bench)) {
        bench_frame_begin(&bench);
        uint64_t start = bench_now();
        for (uint64_t i = 0; i < a_frame; i++) {
            uint64_t page = (bench.frame * a_frame + i) * part + bench_random_below(&seed, part);
            bench_fill_random(buffer.mapped + page * BENCH_PAGE, BENCH_PAGE, &seed);
        }
        bench_sample(&bench, "write", bench_now() - start);
        bench_add(&bench, "written_bytes", a_frame * BENCH_PAGE);
        bench_submit_wait(&bench, reader.commands, reader.fence);
        bench_frame_end(&bench);
    }
    bench_print(&bench);
    bench_reader_destroy(&app, &reader);
    app_buffer_destroy(&app, &buffer);
    return app_finish(&app);
}
