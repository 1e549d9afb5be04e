/* SPDX-License-Identifier: MIT */
/* Positions in a trace: as text, and what is there. */
#include "inspector/position/position.h"

#include "gen_decode.h"
#include "inspector/position/blocks.h"
#include "inspector/position/find.h"
#include "inspector/position/tree.h"
#include "tests/unit/sample_trace.h"
#include "trace/read/reader.h"

#define BUFFERS 4

/* ---- text ---- */

UNIT_TEST(a_position_is_read_and_written)
{
    static const char *const texts[] = {"1", "3.2", "3.2.1", "3.2.1.0", "3.2.1.42.2.7", "#0", "#12", "#12.3"};
    char text[POSITION_TEXT_BYTES];
    struct position position;

    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK_EQ_INT(position_parse(texts[i], &position), LAP_OK);
        CHECK_STR(position_text(&position, text), texts[i]);
    }
}

UNIT_TEST(what_is_no_position_is_refused)
{
    static const char *const texts[] = {"",
                                        "0",
                                        "1.0",
                                        "1.1.0",
                                        "1.1.1.1.0",
                                        "x",
                                        "1.",
                                        ".1",
                                        "1..1",
                                        "1.1.1x",
                                        "-1",
                                        "+1",
                                        "#",
                                        "#1.2.3",
                                        "#x",
                                        "1.#1",
                                        "1 ",
                                        " 1",
                                        "99999999999999999999",
                                        "1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1"};
    struct position position;

    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (position_parse(texts[i], &position) != LAP_ERROR_ARGUMENT)
            UNIT_FAIL("'%s' was taken", texts[i]);
    UNIT_CHECKED();
}

UNIT_TEST(only_a_command_is_a_command)
{
    static const struct {
        const char *text;
        bool is;
    } cases[] = {{"1", false},         {"1.1", false},        {"1.1.1", false}, {"1.1.1.0", true},
                 {"1.1.1.1.1", false}, {"1.1.1.1.1.1", true}, {"#1.2", false}};
    struct position position;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(position_parse(cases[i].text, &position), LAP_OK);
        CHECK_EQ_INT(position_is_command(&position), cases[i].is);
    }
}

/* ---- traces ---- */

struct written {
    struct sample s;
    VkQueue queue;
    VkCommandBuffer buffers[BUFFERS];
    uint64_t ticket; /* of the last packet */
    struct lap_reader *reader;
    struct position_found found;
};

#define PUT(w, command, ...)                                                                                           \
    (gen_encode_##command(sample_packet(&(w)->s, GEN_##command, 0), __VA_ARGS__), lap_packet_end((w)->s.stream),       \
     ++(w)->ticket)

static void put_command(struct lap_enc *enc, uint32_t number)
{
    CHECK(lap_enc_reserve(enc, LAP_WIRE_MAX_VARINT));
    lap_put_u64(enc, number);
}

/* A beginning, `dispatches`, an execution of command buffers if there are such, an end. */
static uint64_t put_block(struct written *w, unsigned buffer, unsigned dispatches, unsigned executed,
                          const VkCommandBuffer *buffers)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    struct lap_enc enc;
    uint64_t id;

    lap_enc_init(&enc, &w->s.tables);
    lap_enc_use_writer(&enc, w->s.writer);
    put_command(&enc, GEN_vkBeginCommandBuffer);
    gen_encode_vkBeginCommandBuffer(&enc, &begin);
    for (unsigned i = 0; i < dispatches; i++) {
        put_command(&enc, GEN_vkCmdDispatch);
        gen_encode_vkCmdDispatch(&enc, 1, 1, 1);
    }
    if (executed) {
        put_command(&enc, GEN_vkCmdExecuteCommands);
        gen_encode_vkCmdExecuteCommands(&enc, executed, buffers);
    }
    put_command(&enc, GEN_vkEndCommandBuffer);
    gen_encode_vkEndCommandBuffer(&enc);
    id = lap_writer_blob(w->s.writer, LAP_BLOB_BLOCK, enc.base, (size_t)(enc.p - enc.base), NULL);
    lap_enc_finish(&enc);
    return PUT(w, lapilliBlock, w->buffers[buffer], id, dispatches + 2 + (executed > 0));
}

/* Two batches: one of `first` command buffers, and one of the rest. */
static uint64_t put_submit(struct written *w, unsigned first, unsigned second, const VkCommandBuffer *buffers)
{
    VkSubmitInfo infos[] = {
        {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = first, .pCommandBuffers = buffers},
        {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = second, .pCommandBuffers = buffers + first}};
    return PUT(w, vkQueueSubmit, w->queue, second ? 2 : 1, infos, VK_NULL_HANDLE);
}

/* Frame 1: one submit of nothing. Frame 2: two submits; the second one has two batches, of command buffers 1 and 2, 0.
 * Command buffer 2 executes 1 and 3. Frame 3: command buffer 0 again, recorded anew. */
static void begin(struct written *w)
{
    memset(w, 0, sizeof *w);
    CHECK(sample_begin(&w->s));
    w->queue = gen_VkQueue(sample_handle(&w->s, GEN_HANDLE_VkQueue, 1));
    for (unsigned i = 0; i < BUFFERS; i++)
        w->buffers[i] = gen_VkCommandBuffer(sample_handle(&w->s, GEN_HANDLE_VkCommandBuffer, i + 1));
    put_submit(w, 0, 0, w->buffers); /* 1 */
    lap_writer_frame(w->s.writer);
    put_block(w, 0, 1, 0, NULL); /* 2 */
    put_block(w, 1, 2, 0, NULL); /* 3 */
    put_block(w, 3, 4, 0, NULL); /* 4 */
    VkCommandBuffer executed[] = {w->buffers[1], w->buffers[3]};
    put_block(w, 2, 3, 2, executed); /* 5 */
    put_submit(w, 1, 0, w->buffers); /* 6 */
    VkCommandBuffer submitted[] = {w->buffers[1], w->buffers[2], w->buffers[0]};
    put_submit(w, 1, 2, submitted); /* 7 */
    lap_writer_frame(w->s.writer);
    put_block(w, 0, 9, 0, NULL);     /* 8 */
    put_submit(w, 1, 0, w->buffers); /* 9 */
    lap_writer_frame(w->s.writer);
    lap_writer_finish(w->s.writer);
    sample_end(&w->s);
    CHECK_EQ_INT(lap_reader_open(w->s.path, NULL, &w->reader), LAP_OK);
}

static void finish(struct written *w)
{
    if (w->reader)
        lap_reader_close(&w->reader);
    sample_finish(&w->s);
}

static enum lap_status find(struct written *w, const char *text)
{
    struct position position;
    CHECK_EQ_INT(position_parse(text, &position), LAP_OK);
    return position_find(w->reader, &position, &w->found);
}

UNIT_TEST(frames_and_submits_are_found)
{
    struct written w;
    begin(&w);
    CHECK_EQ_INT(find(&w, "2"), LAP_OK);
    CHECK_EQ_U64(w.found.ticket, 2);
    CHECK(!w.found.is_submit);
    CHECK_EQ_INT(find(&w, "2.2"), LAP_OK);
    CHECK_EQ_U64(w.found.ticket, 7);
    CHECK_EQ_U64(w.found.frame, 1);
    CHECK(w.found.is_submit);
    CHECK_EQ_INT(find(&w, "3.1"), LAP_OK);
    CHECK_EQ_U64(w.found.ticket, 9);
    finish(&w);
}

UNIT_TEST(command_buffers_count_through_batches)
{
    struct written w;
    begin(&w);
    CHECK_EQ_INT(find(&w, "2.2.1.0"), LAP_OK);
    CHECK_EQ_U64(w.found.batch, 0);
    CHECK_EQ_U64(w.found.buffer, 0);
    CHECK_EQ_U64(w.found.places[0].command_buffer, 2);
    CHECK_EQ_INT(w.found.places[0].id, GEN_vkBeginCommandBuffer);
    CHECK_EQ_INT(find(&w, "2.2.3.1"), LAP_OK);
    CHECK_EQ_U64(w.found.batch, 1);
    CHECK_EQ_U64(w.found.buffer, 1);
    CHECK_EQ_U64(w.found.places[0].command_buffer, 1);
    CHECK_EQ_U64(w.found.places[0].recorded, 2);
    CHECK_EQ_INT(w.found.places[0].id, GEN_vkCmdDispatch);
    finish(&w);
}

UNIT_TEST(a_whole_command_buffer_ends_with_its_last_command)
{
    struct written w;
    begin(&w);
    CHECK_EQ_INT(find(&w, "2.2.2"), LAP_OK);
    CHECK_EQ_U64(w.found.places[0].commands, 6);
    CHECK_EQ_U64(w.found.places[0].command, 5);
    CHECK_EQ_INT(w.found.places[0].id, GEN_vkEndCommandBuffer);
    finish(&w);
}

UNIT_TEST(a_recording_is_the_one_at_the_submit)
{
    struct written w;
    begin(&w);
    CHECK_EQ_INT(find(&w, "3.1.1.9"), LAP_OK);
    CHECK_EQ_U64(w.found.places[0].recorded, 8);
    CHECK_EQ_INT(find(&w, "2.1.1.2"), LAP_OK);
    CHECK_EQ_INT(w.found.places[0].id, GEN_vkEndCommandBuffer);
    finish(&w);
}

UNIT_TEST(commands_of_secondary_command_buffers_are_found)
{
    struct written w;
    begin(&w);
    CHECK_EQ_INT(find(&w, "2.2.2.4.2.3"), LAP_OK);
    CHECK_EQ_U64(w.found.place_count, 2);
    CHECK_EQ_U64(w.found.places[0].command, 4);
    CHECK_EQ_U64(w.found.places[0].executed, 1);
    CHECK_EQ_INT(w.found.places[0].id, GEN_vkCmdExecuteCommands);
    CHECK_EQ_U64(w.found.places[1].command_buffer, 4);
    CHECK_EQ_U64(w.found.places[1].recorded, 4);
    CHECK_EQ_U64(w.found.places[1].command, 3);
    finish(&w);
}

UNIT_TEST(packets_have_positions)
{
    static const struct {
        const char *packet, *position;
    } cases[] = {{"#0", "1.1"},   {"#1", "2.1.1"}, {"#1.1", "2.1.1.1"},
                 {"#4", "2.2.2"}, {"#6", "2.2"},   {"#7.9", "3.1.1.9"}};
    char text[POSITION_TEXT_BYTES];
    struct written w;

    begin(&w);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(find(&w, cases[i].packet), LAP_OK);
        CHECK_STR(position_text(&w.found.position, text), cases[i].position);
    }
    finish(&w);
}

UNIT_TEST(what_is_not_there_is_said)
{
    static const struct {
        const char *position, *said;
    } cases[] = {{"4", "the trace has 3 frames"},
                 {"1.2", "frame 1 has 1 submit"},
                 {"2.3.1.1", "frame 2 has 2 submits"},
                 {"1.1.1", "submit 1.1 has 0 command buffers"},
                 {"2.2.4.0", "submit 2.2 has 3 command buffers"},
                 {"2.2.2.6", "command buffer 2.2.2 has the commands 0 to 5"},
                 {"2.2.2.3.1", "command 2.2.2.3 is vkCmdDispatch, which executes no command buffers"},
                 {"2.2.2.4.3.0", "command 2.2.2.4 executes 2 command buffers"},
                 {"2.2.2.4.1.4", "command buffer 2.2.2.4.1 has the commands 0 to 3"},
                 {"#9", "the trace has the packets #0 to #8"},
                 {"#3", "no submit has the command buffer of packet #3 itself"},
                 {"#6.1", "packet #6 is no command buffer"}};
    struct written w;

    begin(&w);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_EQ_INT(find(&w, cases[i].position), LAP_ERROR_ARGUMENT);
        CHECK_STR(lap_error_message(), cases[i].said);
    }
    finish(&w);
}

/* More than a reader holds for one packet: command buffers are read one after the other. */
UNIT_TEST(command_buffers_are_not_held)
{
    const size_t bytes = (size_t)64 << 20;
    uint8_t *data = calloc(1, bytes);
    uint64_t ids[10];
    const unsigned count = sizeof ids / sizeof *ids;
    struct position_blocks blocks;
    struct written w = {.ticket = 0};

    CHECK(data && sample_begin(&w.s));
    for (unsigned i = 0; i < count; i++) {
        data[0] = (uint8_t)i;
        ids[i] = lap_writer_blob(w.s.writer, LAP_BLOB_BLOCK, data, bytes, NULL);
    }
    free(data);
    lap_writer_finish(w.s.writer);
    sample_end(&w.s);
    CHECK_EQ_INT(lap_reader_open(w.s.path, NULL, &w.reader), LAP_OK);
    CHECK_EQ_INT(position_blocks_open(&blocks, w.reader), LAP_OK);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQ_INT(position_blocks_begin(&blocks, ids[i], 0), LAP_OK);
    position_blocks_close(&blocks);
    finish(&w);
}

/* ---- trees ---- */

struct shown { /* "position dispatches" of each node, with blanks between them */
    char text[2000];
    uint64_t commands;
};

static enum lap_status show(void *user, const struct tree_node *node)
{
    struct shown *shown = user;
    char position[POSITION_TEXT_BYTES];
    size_t at = strlen(shown->text);

    snprintf(shown->text + at, sizeof shown->text - at, "%s%.*s%s:%" PRIu64, at ? " " : "", (int)node->depth,
             "----------", position_text(&node->position, position), node->counts.dispatches);
    shown->commands += node->counts.commands;
    return LAP_OK;
}

static const char *tree(struct written *w, const char *at, unsigned depth, bool quick)
{
    static struct shown shown;
    struct position position;
    const struct tree_wish wish = {
        .at = at ? &position : NULL, .depth = depth, .quick = quick, .first_child = 1, .last_child = UINT64_MAX};
    uint64_t children;

    memset(&shown, 0, sizeof shown);
    if (at)
        CHECK_EQ_INT(position_parse(at, &position), LAP_OK);
    CHECK_EQ_INT(tree_walk(w->reader, &wish, show, &shown, &children), LAP_OK);
    return shown.text;
}

UNIT_TEST(a_tree_counts_what_is_executed)
{
    struct written w;
    begin(&w);
    CHECK_STR(tree(&w, NULL, 1, false), "-1:0 -2:13 -3:9");
    CHECK_STR(tree(&w, NULL, 2, false), "-1:0 --1.1:0 -2:13 --2.1:1 --2.2:12 -3:9 --3.1:9");
    CHECK_STR(tree(&w, "2.2", 1, false), "2.2:12 -2.2.1:2 -2.2.2:9 -2.2.3:1");
    finish(&w);
}

UNIT_TEST(a_tree_goes_into_secondary_command_buffers)
{
    struct written w;
    begin(&w);
    CHECK_STR(tree(&w, "2.2.2", 1, false), "2.2.2:9 -2.2.2.1:1 -2.2.2.2:1 -2.2.2.3:1 -2.2.2.4:6");
    CHECK_STR(tree(&w, "2.2.2.4", 2, false),
              "2.2.2.4:6 -2.2.2.4.1:2 --2.2.2.4.1.1:1 --2.2.2.4.1.2:1 -2.2.2.4.2:4 --2.2.2.4.2.1:1 --2.2.2.4.2.2:1 "
              "--2.2.2.4.2.3:1 --2.2.2.4.2.4:1");
    CHECK_STR(tree(&w, "2.2.2.4.2", 0, false), "2.2.2.4.2:4");
    CHECK_STR(tree(&w, "2.2.2.4.2.3", 9, false), "2.2.2.4.2.3:1");
    CHECK_STR(tree(&w, "2.2.2.0", 9, false), "2.2.2.0:0"); /* no work */
    finish(&w);
}

UNIT_TEST(a_quick_tree_looks_into_no_command_buffer)
{
    struct written w;
    begin(&w);
    CHECK_STR(tree(&w, "2", 9, true), "2:0 -2.1:0 --2.1.1:0 -2.2:0 --2.2.1:0 --2.2.2:0 --2.2.3:0");
    finish(&w);
}

UNIT_MAIN();
