/* SPDX-License-Identifier: MIT */
#include "tools/assert/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file/folder.h"
#include "base/utf8.h"
#include "tools/common/arena_text.h"
#include "tools/common/tool.h"

#define MOST_BYTES ((off_t)256 << 20) /* of an output */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static int no_memory(const struct facts *facts)
{
    fprintf(stderr, "%s: out of memory\n", facts->options.program);
    return LAP_TOOL_FAILED;
}

/* ---- which programs, and their words ---- */

static void add(struct fact *fact, const char *word)
{
    fact->words[fact->count++] = word;
}

/* Equal commands are one fact. False: out of memory. */
static bool want(struct facts *facts, const struct fact *fact, size_t *out_number)
{
    for (size_t i = 0; i < facts->count; i++) {
        const struct fact *other = &facts->items[i];
        unsigned same = 0;
        while (same < fact->count && same < other->count && strcmp(fact->words[same], other->words[same]) == 0)
            same++;
        if (same == fact->count && same == other->count && fact->kind == other->kind) {
            *out_number = i;
            return true;
        }
    }
    if (!lap_array_grow(&facts->items, sizeof *facts->items, &facts->capacity, facts->count + 1))
        return false;
    *out_number = facts->count;
    facts->items[facts->count++] = *fact;
    return true;
}

static struct fact replay(const struct facts *facts, enum fact_kind kind)
{
    const struct facts_options *options = &facts->options;
    struct fact fact = {.kind = kind};
    const char *const optional[] = {"--gpu",          options->gpu, "--wait-limit", options->wait_limit, "--sandbox",
                                    options->sandbox, NULL};

    add(&fact, "lapilli-replay");
    add(&fact, "--present");
    add(&fact, "headless");
    for (size_t i = 0; optional[i]; i += 2) {
        if (!optional[i + 1])
            continue;
        add(&fact, optional[i]);
        add(&fact, optional[i + 1]);
    }
    return fact;
}

static void cover(uint64_t frames[2], const uint64_t more[2])
{
    frames[0] = more[0] < frames[0] ? more[0] : frames[0];
    frames[1] = more[1] > frames[1] ? more[1] : frames[1];
}

/* "3-", "3-5", or of all "1-". */
static const char *range(struct facts *facts, const uint64_t frames[2])
{
    uint64_t first = frames[0] ? frames[0] : 1;

    return frames[1] == UINT64_MAX ? lap_arena_print(&facts->arena, "%" PRIu64 "-", first)
                                   : lap_arena_print(&facts->arena, "%" PRIu64 "-%" PRIu64, first, frames[1]);
}

static bool want_targets(struct facts *facts, struct condition *condition)
{
    struct fact fact = replay(facts, FACT_TARGETS);

    add(&fact, "--after");
    add(&fact, condition->position);
    return want(facts, &fact, &condition->fact);
}

static bool want_play(struct facts *facts, struct condition *condition)
{
    const struct fact fact = replay(facts, FACT_PLAY);

    if (condition->kind == CONDITION_REPLAY) {
        bool verify = strcmp(condition->member, "different") == 0;
        facts->verify |= verify;
        facts->validate |= !verify;
        return want(facts, &fact, &condition->fact);
    }
    facts->screenshots = facts->screenshots
                             ? lap_arena_print(&facts->arena, "%s,%" PRIu64, facts->screenshots, condition->frames[0])
                             : lap_arena_print(&facts->arena, "%" PRIu64, condition->frames[0]);
    if (condition->frames[0] > facts->last_screenshot)
        facts->last_screenshot = condition->frames[0];
    return facts->screenshots && want(facts, &fact, &condition->fact);
}

static bool want_times(struct facts *facts, struct condition *condition)
{
    struct fact fact = replay(facts, FACT_TIMES);
    const char *frames = range(facts, condition->frames);

    add(&fact, "--frames");
    add(&fact, frames);
    return frames && want(facts, &fact, &condition->fact);
}

static bool want_reading(struct facts *facts, struct condition *condition)
{
    struct fact fact = {.kind = FACT_READ, .frames = {condition->frames[0], condition->frames[1]}};

    add(&fact, condition->kind == CONDITION_INFO     ? "lapilli-info"
               : condition->kind == CONDITION_FRAMES ? "lapilli-tree"
                                                     : "lapilli-state");
    add(&fact, "--json");
    if (condition->kind == CONDITION_STATE) {
        add(&fact, "--at");
        add(&fact, condition->position);
        add(&fact, "--");
        add(&fact, facts->options.trace);
        if (condition->object)
            add(&fact, condition->object);
    }
    if (!want(facts, &fact, &condition->fact))
        return false;
    cover(facts->items[condition->fact].frames, fact.frames);
    return true;
}

static bool want_for(struct facts *facts, struct condition *condition)
{
    switch (condition->kind) {
    case CONDITION_PIXEL:
    case CONDITION_IMAGE:
        return condition->position ? want_targets(facts, condition) : want_play(facts, condition);
    case CONDITION_REPLAY:
        return want_play(facts, condition);
    case CONDITION_TIME:
        return want_times(facts, condition);
    default:
        return want_reading(facts, condition);
    }
}

/* The words that all conditions together make. False: out of memory. */
static bool complete(struct facts *facts, size_t number)
{
    struct fact *fact = &facts->items[number];
    const char *word = "";

    switch (fact->kind) {
    case FACT_READ:
        if (strcmp(fact->words[0], "lapilli-state") == 0)
            return true;
        if (strcmp(fact->words[0], "lapilli-tree") == 0) {
            add(fact, "--depth");
            add(fact, "1");
            add(fact, "--children");
            add(fact, word = range(facts, fact->frames));
        }
        break;
    case FACT_PLAY:
        if (facts->screenshots) {
            add(fact, "--screenshot");
            add(fact, facts->screenshots);
            add(fact, "--screenshot-dir");
            add(fact, facts->folder);
        }
        if (facts->validate)
            add(fact, "--validate");
        if (facts->verify)
            add(fact, "--verify");
        if (!facts->validate && !facts->verify) {
            add(fact, "--last-frame");
            add(fact, word = lap_arena_print(&facts->arena, "%" PRIu64, facts->last_screenshot));
        }
        break;
    case FACT_TARGETS:
        add(fact, "--pictures");
        add(fact, facts->folder);
        break;
    case FACT_TIMES:
        add(fact, word = lap_arena_print(&facts->arena, "--measure=%s/%zu.json", facts->folder, number));
        break;
    }
    add(fact, "--");
    add(fact, facts->options.trace);
    return word != NULL;
}

/* ---- processes ---- */

/* In the child. */
static void become(const struct facts *facts, const struct fact *fact, const char *path, pid_t parent)
{
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)sigprocmask(SIG_SETMASK, &facts->signals, NULL);
    if (lap_tool_end_with(parent) && none >= 0 && dup2(none, STDIN_FILENO) >= 0 &&
        dup2(fact->output, STDOUT_FILENO) >= 0 && dup2(fact->errors, STDERR_FILENO) >= 0)
        execv(path, (char *const *)(uintptr_t)fact->words);
    _exit(LAP_TOOL_NOT_STARTED);
}

/* The exit status, or 128 + n for signal n. */
static int wait_for(struct facts *facts, const sigset_t *awaited, pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        int came = 0;
        if (sigwait(awaited, &came) == 0 && came != SIGCHLD) {
            facts->ended_by = came;
            (void)kill(child, SIGKILL);
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* False: it can't be started, after a message. */
static bool run(struct facts *facts, struct fact *fact)
{
    pid_t parent = getpid(), child;
    sigset_t awaited;
    char path[PATH_MAX];

    if (!lap_tool_find_beside(fact->words[0], path)) {
        fprintf(stderr, "%s: %s is not beside this program\n", facts->options.program, fact->words[0]);
        return false;
    }
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&awaited, ending[i]);
    if (fact->output >= 0)
        close(fact->output);
    if (fact->errors >= 0)
        close(fact->errors);
    fact->output = memfd_create("output", MFD_CLOEXEC);
    fact->errors = memfd_create("errors", MFD_CLOEXEC);
    child = fact->output >= 0 && fact->errors >= 0 ? fork() : -1;
    if (child == 0)
        become(facts, fact, path, parent);
    if (child > 0)
        fact->code = wait_for(facts, &awaited, child);
    else
        fprintf(stderr, "%s: no process can be made: %s\n", facts->options.program, strerror(errno));
    return child > 0;
}

/* A replay without the layer of --validate does what else is wanted. */
static bool play_without_layer(struct facts *facts, struct fact *fact)
{
    int errors = fact->errors;
    unsigned count = 0;
    bool good;

    for (unsigned i = 0; i < fact->count; i++)
        if (strcmp(fact->words[i], "--validate") != 0)
            fact->words[count++] = fact->words[i];
    fact->words[count] = NULL;
    fact->errors = -1;
    good = run(facts, fact);
    if (fact->code != LAP_TOOL_NO_TRACE) { /* the reason stays that of the layer */
        close(fact->errors);
        fact->errors = errors;
    }
    return good;
}

static bool make_folder(struct facts *facts)
{
    const char *where = getenv("TMPDIR");

    if (!where || *where != '/' || strlen(where) > sizeof facts->folder - 32)
        where = "/var/tmp";
    snprintf(facts->folder, sizeof facts->folder, "%s/lapilli-assert-XXXXXX", where);
    if (mkdtemp(facts->folder))
        return true;
    fprintf(stderr, "%s: no folder can be made in %s (TMPDIR): %s\n", facts->options.program, where, strerror(errno));
    facts->folder[0] = 0;
    return false;
}

static void hold_signals(struct facts *facts)
{
    sigset_t held;

    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaddset(&held, ending[i]);
    (void)signal(SIGCHLD, SIG_DFL); /* with SIG_IGN, waitpid would find no child */
    (void)sigprocmask(SIG_BLOCK, &held, &facts->signals);
}

/* Returns -1, or an exit status. */
static int find_out(struct facts *facts, struct fact *fact)
{
    char reason[FACT_REASON_BYTES];
    bool good = run(facts, fact);

    if (good && fact->code == LAP_TOOL_UNSUPPORTED && fact->kind == FACT_PLAY && facts->validate &&
        (facts->screenshots || facts->verify))
        good = play_without_layer(facts, fact);
    if (!good)
        return LAP_TOOL_NOT_STARTED;
    if (facts->ended_by)
        return LAP_TOOL_FAILED;
    if (fact->code != LAP_TOOL_NO_TRACE)
        return -1;
    (void)fact_is_whole(facts, (size_t)(fact - facts->items), reason);
    fprintf(stderr, "%s: %s\n", facts->options.program, reason);
    return LAP_TOOL_NO_TRACE;
}

int facts_gather(struct facts *facts, const struct facts_options *options, struct conditions *conditions)
{
    int code = -1;
    bool plays = false;

    *facts = (struct facts){.options = *options};
    hold_signals(facts);
    for (size_t i = 0; i < conditions->count; i++)
        if (!want_for(facts, &conditions->items[i]))
            return no_memory(facts);
    for (size_t i = 0; i < facts->count; i++) {
        facts->items[i].output = facts->items[i].errors = -1;
        plays |= facts->items[i].kind != FACT_READ;
    }
    if (plays && !make_folder(facts))
        return LAP_TOOL_FAILED;
    /* Readings come first: they are short, and say whether it is a trace. */
    for (unsigned played = 0; played < 2; played++)
        for (size_t i = 0; i < facts->count && code < 0; i++)
            if (played == (facts->items[i].kind != FACT_READ))
                code = complete(facts, i) ? find_out(facts, &facts->items[i]) : no_memory(facts);
    return code;
}

void facts_finish(struct facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        if (facts->items[i].output >= 0)
            close(facts->items[i].output);
        if (facts->items[i].errors >= 0)
            close(facts->items[i].errors);
        cJSON_Delete(facts->items[i].json);
        free(facts->items[i].text);
    }
    if (facts->folder[0])
        lap_folder_remove(facts->folder);
    free(facts->items);
    lap_arena_finish(&facts->arena);
    if (facts->ended_by) {
        (void)signal(facts->ended_by, SIG_DFL);
        (void)raise(facts->ended_by);
    }
    (void)sigprocmask(SIG_SETMASK, &facts->signals, NULL);
}

/* ---- what they found ---- */

/* All of an open file, with a zero behind it; the caller frees it. NULL: it is too large, or out of memory. */
static char *read_all(int fd)
{
    struct stat is;
    char *text = NULL;
    ssize_t got;

    if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_size <= MOST_BYTES)
        text = malloc((size_t)is.st_size + 1);
    if (!text)
        return NULL;
    got = pread(fd, text, (size_t)is.st_size, 0);
    text[got > 0 ? got : 0] = 0;
    return text;
}

/* The first or the last line that begins so, without its end, in a text that is changed. */
static char *find_line(char *text, const char *beginning, bool last)
{
    char *found = NULL, *end;

    for (char *line = text; *line && (last || !found); line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (strncmp(line, beginning, strlen(beginning)) == 0)
            found = line;
    }
    if (found)
        found[strcspn(found, "\n")] = 0;
    return found;
}

static const char *line_of(struct fact *fact, int fd, const char *beginning, bool last)
{
    char *line;

    free(fact->text);
    fact->text = read_all(fd);
    line = fact->text ? find_line(fact->text, beginning, last) : NULL;
    return line ? line + strlen(beginning) : NULL;
}

const char *fact_last_line(struct facts *facts, size_t number, const char *beginning)
{
    return line_of(&facts->items[number], facts->items[number].output, beginning, true);
}

const char *fact_first_error(struct facts *facts, size_t number, const char *beginning)
{
    return line_of(&facts->items[number], facts->items[number].errors, beginning, false);
}

static const char *without(const char *line, const char *beginning)
{
    return strncmp(line, beginning, strlen(beginning)) == 0 ? line + strlen(beginning) : line;
}

bool fact_is_whole(const struct facts *facts, size_t number, char *out_reason)
{
    const struct fact *fact = &facts->items[number];
    char *text = read_all(fact->errors), beginning[80], *line;

    snprintf(beginning, sizeof beginning, "%s: error: ", fact->words[0]);
    line = text ? find_line(text, beginning, true) : NULL;
    if (text && !line)
        line = find_line(text, fact->words[0], true);
    if (line)
        snprintf(out_reason, FACT_REASON_BYTES, "%s",
                 without(without(without(without(line, fact->words[0]), ": "), "error: "), "warning: "));
    else if (fact->code > 128)
        snprintf(out_reason, FACT_REASON_BYTES, "%s was ended: %s", fact->words[0], strsignal(fact->code - 128));
    else
        snprintf(out_reason, FACT_REASON_BYTES, "%s ends with status %d", fact->words[0], fact->code);
    (void)lap_utf8_clean(out_reason, '?');
    free(text);
    return fact->code == LAP_TOOL_OK || fact->code == LAP_TOOL_INCOMPLETE;
}

const cJSON *fact_json(struct facts *facts, size_t number)
{
    struct fact *fact = &facts->items[number];
    char path[PATH_MAX], *text;
    int fd = fact->output;

    if (fact->json)
        return fact->json;
    if (fact->kind == FACT_TIMES) {
        snprintf(path, sizeof path, "%s/%zu.json", facts->folder, number);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    text = fd >= 0 ? read_all(fd) : NULL;
    fact->json = text ? cJSON_Parse(text) : NULL;
    free(text);
    if (fd >= 0 && fd != fact->output)
        close(fd);
    return fact->json;
}

void fact_picture_name(const struct condition *condition, char *out, size_t bytes)
{
    if (condition->position)
        snprintf(out, bytes, "%s-%s.png", condition->position, condition->target);
    else
        snprintf(out, bytes, "frame_%" PRIu64 ".png", condition->frames[0]);
}

void fact_picture(const struct facts *facts, const struct condition *condition, char out_path[PATH_MAX])
{
    char name[NAME_MAX + 1];

    fact_picture_name(condition, name, sizeof name);
    snprintf(out_path, PATH_MAX, "%s/%.*s", facts->folder, (int)(PATH_MAX - sizeof facts->folder - 2), name);
}
