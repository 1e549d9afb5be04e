/* SPDX-License-Identifier: MIT */
#include "base/exit_code.h"
#include "server/route.h"

#define AT(option_)   {.name = "at", .form = LAP_FORM_POSITION, .needed = true, .option = option_, .about = "position"}
#define AT_OR_ALL     {.name = "at", .form = LAP_FORM_POSITION, .option = "--at", .about = "position; all without it"}
#define OBJECT        {.name = "object", .form = LAP_FORM_OBJECT, .needed = true, .about = "VkImage:7"}
#define TYPE          {.name = "type", .form = LAP_FORM_NAME, .option = "--type", .about = "only objects of this type"}
#define NUMBER(name_) {.name = #name_, .form = LAP_FORM_NUMBER, .option = "--" #name_, .about = "from 0"}
#define FLAG(name_, about_)                                                                                            \
    {                                                                                                                  \
        .name = #name_, .form = LAP_FORM_FLAG, .option = "--" #name_, .about = about_                                  \
    }
#define ROWS(name_, about_)                                                                                            \
    {                                                                                                                  \
        .name = #name_, .form = LAP_FORM_NUMBERS, .option = "--" #name_, .about = about_                               \
    }
/* A shader may have no text: a driver's code, and what is no SPIR-V. */
#define WITHOUT_TEXT (1u << LAP_TOOL_UNSUPPORTED)
/* lapilli check says so of a trace that can't be played. */
#define CANT_REPLAY (1u << LAP_TOOL_FAILED)
/* How a picture of an attachment is made. */
#define EDITS                                                                                                          \
    {.name = "skip", .form = LAP_FORM_PLACES, .option = "--skip", .about = "leave out this work"},                     \
        {.name = "only", .form = LAP_FORM_PLACES, .option = "--only", .about = "leave out all draws but these"},       \
    {                                                                                                                  \
        .name = "wireframe", .form = LAP_FORM_FLAG, .option = "--wireframe", .about = "edges of triangles",            \
        .whole = true                                                                                                  \
    }
#define TEXELS                                                                                                         \
    NUMBER(mip), NUMBER(layer), NUMBER(slice),                                                                         \
    {                                                                                                                  \
        .name = "aspect", .form = LAP_FORM_NAME, .option = "--aspect", .about = "color, depth, stencil, plane0 …"      \
    }
#define SHOWN                                                                                                          \
    {.name = "range", .form = LAP_FORM_VALUES, .option = "--range", .about = "values of black and of white"},          \
    {                                                                                                                  \
        .name = "channels", .form = LAP_FORM_NAME, .option = "--channels", .about = "rgba, r, g, b or a"               \
    }

const struct lap_route lap_routes[] = {
    {.name = "info",
     .pattern = "info",
     .about = "contents and requirements of the trace",
     .words = {"info", "--json"}},
    {.name = "tree",
     .pattern = "tree",
     .about = "frames, submits, command buffers, render passes, labels and work, with counts",
     .words = {"tree", "--json"},
     .parameters = {AT_OR_ALL,
                    {.name = "depth", .form = LAP_FORM_NUMBER, .option = "--depth", .about = "levels"},
                    ROWS(children, "only these of the direct children"),
                    FLAG(all, "every command"),
                    FLAG(quick, "without what is in command buffers")}},
    {.name = "draws",
     .pattern = "draws",
     .about = "draws, dispatches and ray traces",
     .type = LAP_TYPE_LINES,
     .words = {"draws", "--json"},
     .parameters = {AT_OR_ALL,
                    ROWS(frames, "only these"),
                    {.name = "pass", .form = LAP_FORM_TEXT, .option = "--pass", .about = "only in this label"},
                    ROWS(rows, "only these of the list"),
                    FLAG(state, "each with all that it finds bound")}},
    {.name = "command",
     .pattern = "commands/{at}",
     .about = "a call or command with its parameters, or all in a place",
     .type = LAP_TYPE_LINES,
     .words = {"print", "--json"},
     .parameters = {AT("--at")}},
    {.name = "blob",
     .pattern = "blobs/{hash}",
     .about = "data that an answer has the hash of",
     .type = LAP_TYPE_BYTES,
     .words = {"print"},
     .parameters = {AT_OR_ALL,
                    {.name = "hash", .form = LAP_FORM_NAME, .needed = true, .option = "--data", .about = "16 digits"}}},
    {.name = "bound",
     .pattern = "commands/{at}/state",
     .about = "all that a command finds bound",
     .words = {"state", "--json"},
     .parameters = {AT("--at")}},
    {.name = "objects",
     .pattern = "objects",
     .about = "the objects that live at a position",
     .words = {"state", "--json", "--list"},
     .parameters = {AT("--at"), TYPE, FLAG(count, "only how many of each type")}},
    {.name = "object",
     .pattern = "objects/{object}",
     .about = "an object: its life, memory, contents, and the call that made it",
     .words = {"state", "--json"},
     .parameters = {AT("--at"), OBJECT}},
    {.name = "uses",
     .pattern = "objects/{object}/uses",
     .about = "what uses an object",
     .type = LAP_TYPE_LINES,
     .words = {"uses", "--json"},
     .parameters = {AT_OR_ALL, ROWS(frames, "only these"), OBJECT}},
    {.name = "unused",
     .pattern = "unused",
     .about = "objects that nothing uses",
     .type = LAP_TYPE_LINES,
     .words = {"uses", "--json", "--unused"},
     .parameters = {TYPE}},
    {.name = "difference",
     .pattern = "diff/{from}/{to}",
     .about = "what was made, ended and changed between two positions",
     .words = {"state", "--json"},
     .parameters = {{.name = "from", .form = LAP_FORM_POSITION, .needed = true, .option = "--diff", .about = "position"},
                    {.name = "to", .form = LAP_FORM_POSITION, .needed = true, .option = "", .about = "position"},
                    TYPE}},
    {.name = "memory",
     .pattern = "memory/{object}",
     .about = "the bytes of a buffer, and their origin",
     .words = {"memory", "--json"},
     .parameters = {AT("--at"),
                    {.name = "as", .form = LAP_FORM_NAME, .option = "--as", .about = "types like f32x3, u32, vec4, mat4"},
                    {.name = "stride", .form = LAP_FORM_NUMBER, .option = "--stride", .about = "bytes"},
                    FLAG(parts, "only who wrote which range"),
                    OBJECT,
                    {.name = "offset", .form = LAP_FORM_NUMBER, .about = "bytes"},
                    {.name = "bytes", .form = LAP_FORM_NUMBER, .about = "how many"}}},
    {.name = "image",
     .pattern = "images/{object}",
     .about = "where the texels of an image that were uploaded come from",
     .files = "image_picture",
     .words = {"image", "--json", "-o", LAP_ROUTE_FILES "/picture.png"},
     .parameters = {AT("--at"), TEXELS, SHOWN, OBJECT}},
    {.name = "image_picture",
     .pattern = "images/{object}.png",
     .about = "the texels of an image that were uploaded, as a picture",
     .type = LAP_TYPE_PNG,
     .made_by = "image",
     .file = "picture.png",
     .parameters = {AT("--at"), TEXELS, SHOWN, OBJECT}},
    {.name = "image_texels",
     .pattern = "images/{object}.raw",
     .about = "the same texels as bytes",
     .type = LAP_TYPE_BYTES,
     .files = "image_texels",
     .file = "picture.raw",
     .words = {"image", "--raw", "-o", LAP_ROUTE_FILES "/picture.raw"},
     .parameters = {AT("--at"), TEXELS, OBJECT}},
    {.name = "shaders",
     .pattern = "shaders",
     .about = "the code of shaders, or a search in it",
     .words = {"shaders", "--json"},
     .answers = WITHOUT_TEXT,
     .parameters = {{.name = "at", .form = LAP_FORM_POSITION, .option = "--at", .about = "only of what lives there"},
                    {.name = "pipeline", .form = LAP_FORM_OBJECT, .option = "--pipeline", .about = "only of this one"},
                    {.name = "search", .form = LAP_FORM_TEXT, .option = "--search", .about = "lines with this text"},
                    FLAG(ignore-case, "in the search"),
                    FLAG(glsl, "as GLSL")}},
    {.name = "shader",
     .pattern = "shaders/{hash}",
     .about = "the text of a shader, and what uses it",
     .words = {"shaders", "--json"},
     .answers = WITHOUT_TEXT,
     .parameters = {FLAG(glsl, "as GLSL"),
                    {.name = "hash", .form = LAP_FORM_NAME, .needed = true, .about = "its first digits, at least 4"}}},
    {.name = "shader_code",
     .pattern = "shaders/{hash}.spv",
     .about = "the code of a shader",
     .type = LAP_TYPE_BYTES,
     .files = "shader_code",
     .file = "code.spv",
     .words = {"shaders", "-o", LAP_ROUTE_FILES "/code.spv"},
     .parameters = {{.name = "hash", .form = LAP_FORM_NAME, .needed = true, .about = "its first digits, at least 4"}}},
    {.name = "framebuffer",
     .pattern = "framebuffer/{at}",
     .about = "the attachments behind a command, by a replay",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .files = "framebuffer_picture",
     .words = {"image", "--json", "--quiet", "--raw=also", "-o", LAP_ROUTE_FILES},
     .request = {"--json", "--raw=also"},
     .parameters = {AT("--after"), EDITS}},
    {.name = "framebuffer_picture",
     .pattern = "framebuffer/{at}/{file}",
     .about = "an attachment as a picture (color0.png, depth.png), or its texels as bytes (color0.raw)",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_PNG,
     .made_by = "framebuffer",
     .file = "{at}-{file}",
     .parameters = {AT("--after"),
                    EDITS,
                    {.name = "file", .form = LAP_FORM_FILE, .needed = true, .about = "color0.png, depth.png, color0.raw …"}}},
    {.name = "screenshots",
     .pattern = "screenshots",
     .about = "presented images of frames, by one replay",
     .kind = LAP_ROUTE_FILM,
     .files = "screenshot",
     .words = {"replay", "--quiet", "--present", "headless", "--screenshot-dir", LAP_ROUTE_FILES},
     .parameters = {{.name = "frames", .form = LAP_FORM_NUMBERS, .needed = true, .option = "--screenshot", .about = "1,5-9"}}},
    {.name = "screenshot",
     .pattern = "screenshots/{frames}.png",
     .about = "the presented image of a frame",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_PNG,
     .made_by = "screenshots",
     .file = "frame_{frames}.png",
     .parameters = {{.name = "frames", .form = LAP_FORM_NUMBER, .needed = true, .option = "--screenshot", .about = "one"}}},
    {.name = "find",
     .pattern = "find",
     .about = "objects, labels, commands and shaders that have a text",
     .type = LAP_TYPE_LINES,
     .words = {"find", "--json"},
     .parameters = {{.name = "limit", .form = LAP_FORM_NUMBER, .option = "--limit", .about = "how many at most"},
                    {.name = "text", .form = LAP_FORM_TEXT, .needed = true, .about = "a part of it"}}},
    {.name = "check",
     .pattern = "check",
     .about = "whether this machine can play the trace, and how",
     .kind = LAP_ROUTE_PLAYS,
     .words = {"replay", "--check", "--json"},
     .answers = CANT_REPLAY},
};

const size_t lap_route_count = sizeof lap_routes / sizeof *lap_routes;

const struct lap_route lap_route_devices = {.name = "devices",
                                            .pattern = "devices",
                                            .about = "the GPUs that can play traces here",
                                            .words = {"replay", "--list-gpus", "--json"}};
