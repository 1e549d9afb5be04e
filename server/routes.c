/* SPDX-License-Identifier: MIT */
#include "base/exit_code.h"
#include "server/route.h"

#define WHERE         "a position, like 3.1.1.42 (frame, submit, command buffer, command), 3 (a frame), or #17 (a call)"
#define AT(option_)   {.name = "at", .form = LAP_FORM_POSITION, .needed = true, .option = option_, .about = WHERE}
#define AT_ASKED(option_, asked_)                                                                                      \
    {                                                                                                                  \
        .name = "at", .form = LAP_FORM_POSITION, .needed = true, .option = option_, .about = WHERE, .asked = asked_    \
    }
#define AT_OR_ALL     {.name = "at", .form = LAP_FORM_POSITION, .option = "--at", .about = WHERE "; all without it"}
#define OBJECT        {.name = "object", .form = LAP_FORM_OBJECT, .needed = true, .about = "an object, like VkImage:7"}
#define TYPE                                                                                                           \
    {.name = "type", .form = LAP_FORM_NAME, .option = "--type", .about = "only objects of this type, like VkImage"}
#define NUMBER(name_) {.name = #name_, .form = LAP_FORM_NUMBER, .option = "--" #name_, .about = "its number, from 0"}
#define FLAG(name_, about_)                                                                                            \
    {                                                                                                                  \
        .name = #name_, .form = LAP_FORM_FLAG, .option = "--" #name_, .about = about_                                  \
    }
#define ROWS(name_, about_)                                                                                            \
    {                                                                                                                  \
        .name = #name_, .form = LAP_FORM_NUMBERS, .option = "--" #name_, .about = about_                               \
    }
#define AS                                                                                                             \
    {                                                                                                                  \
        .name = "as", .form = LAP_FORM_NAME, .option = "--as",                                                         \
        .about = "types of an element's parts, like f32x3, u32, vec4, mat4, or f32x3,u8x4; hexadecimal without it"     \
    }
#define STRIDE                                                                                                         \
    {                                                                                                                  \
        .name = "stride", .form = LAP_FORM_NUMBER, .option = "--stride",                                               \
        .about = "bytes from an element to the next, like 24"                                                          \
    }
/* A shader may have no text: a driver's code, and what is no SPIR-V. */
#define WITHOUT_TEXT (1u << LAP_TOOL_UNSUPPORTED)
/* lapilli check says so of a trace that can't be played. */
#define CANT_REPLAY (1u << LAP_TOOL_FAILED)
#define REPLACE                                                                                                        \
    {                                                                                                                  \
        .name = "replace", .form = LAP_FORM_CODE, .option = "--replace-shader",                                        \
        .about = "other code for a shader, like 8b9c8e6d768ad55d=3f2a90c1d2e4f5a6.frag", .whole = true                 \
    }
/* Another image than the attachments. */
#define IMAGE                                                                                                          \
    {.name = "image", .form = LAP_FORM_LEVEL, .option = "--image",                                                     \
     .about = "this image instead, like VkImage:7, or with ,LEVEL or ,LEVEL,LAYER"},                                   \
    {                                                                                                                  \
        .name = "aspect", .form = LAP_FORM_NAME, .option = "--aspect", .asked = "--image-aspect",                      \
        .about = "with image: color, depth, stencil, plane0, plane1 or plane2"                                         \
    }
/* How a picture of an attachment is made. */
#define EDITS                                                                                                          \
    {.name = "skip", .form = LAP_FORM_PLACES, .option = "--skip",                                                      \
     .about = "leave out these draws and other commands, like 3.1.1.42,3.1.1.43"},                                     \
        {.name = "only", .form = LAP_FORM_PLACES, .option = "--only",                                                  \
         .about = "leave out all draws but these, like 3.1.1.42"},                                                     \
        REPLACE,                                                                                                       \
        {.name = "wireframe", .form = LAP_FORM_FLAG, .option = "--wireframe", .about = "only the edges of triangles",  \
         .whole = true},                                                                                               \
    {                                                                                                                  \
        .name = "null-fragment", .form = LAP_FORM_FLAG, .option = "--null-fragment",                                   \
        .about = "fragment shaders do nothing but write magenta", .whole = true                                        \
    }
#define EACH                                                                                                           \
    AT("--each"),                                                                                                      \
        {.name = "thumbs", .form = LAP_FORM_NUMBER, .option = "--thumbs",                                              \
         .about = "of one attachment, the part that changes, at most so many texels wide and high, like 160"},         \
    {                                                                                                                  \
        .name = "targets", .form = LAP_FORM_NAME, .option = "--targets", .about = "only these, like color0,depth"      \
    }
#define OVERDRAW AT("--overdraw"), FLAG(rasterized, "also fragments that fail tests in front of the shader")
#define TEXELS                                                                                                         \
    NUMBER(mip), NUMBER(layer), NUMBER(slice),                                                                         \
    {                                                                                                                  \
        .name = "aspect", .form = LAP_FORM_NAME, .option = "--aspect",                                                 \
         .about = "color, depth, stencil, plane0, plane1 or plane2"                                                    \
    }
#define SHOWN                                                                                                          \
    {.name = "range", .form = LAP_FORM_VALUES, .option = "--range",                                                    \
     .about = "values of black and of white, like 0,0.1; without it the range of the values, of those that need one"}, \
    {                                                                                                                  \
        .name = "channels", .form = LAP_FORM_NAME, .option = "--channels",                                             \
         .about = "rgba, or one of r, g, b, a in grey, like a for alpha; without it the color without alpha"           \
    }

const struct lap_route lap_routes[] = {
    {.name = "info",
     .pattern = "info",
     .about = "contents and requirements of the trace",
     .use = "Ask it first: which program and GPU, how many frames, draws and objects, and whether the trace is "
            "complete.",
     .words = {"info", "--json"}},
    {.name = "tree",
     .pattern = "tree",
     .about = "frames, submits, command buffers, render passes, labels and work, with counts",
     .use = "To find your way: without 'at' the frames, at=3 what is in frame 3 down to its draws, at=3.1.1 in a "
            "command buffer. Where there is much, depth=2 or children=1-50.",
     .words = {"tree", "--json"},
     .parameters = {AT_OR_ALL,
                    {.name = "depth", .form = LAP_FORM_NUMBER, .option = "--depth",
                     .about = "so many levels below the position, like 2"},
                    ROWS(children, "only these of the direct children, like 1-50; 'of' says how many there are"),
                    FLAG(all, "every command, not only draws and other work"),
                    FLAG(quick, "without what is in command buffers")}},
    {.name = "draws",
     .pattern = "draws",
     .about = "draws, dispatches and ray traces",
     .use = "To find a draw by its frame, pipeline, number of vertices or label: frames=3-5, pass=*shadow*, "
            "rows=1-100. For the draws that write an image ask 'uses'.",
     .type = LAP_TYPE_LINES,
     .words = {"draws", "--json"},
     .parameters = {AT_OR_ALL,
                    ROWS(frames, "only these, like 3 or 3-5,9"),
                    {.name = "pass", .form = LAP_FORM_TEXT, .option = "--pass",
                     .about = "only in a debug label that matches this pattern, like *shadow*"},
                    ROWS(rows, "only these of the list, like 1-100; from 1"),
                    FLAG(state, "each with all that it finds bound")}},
    {.name = "command",
     .pattern = "commands/{at}",
     .about = "a call or command with its parameters, or all in a place",
     .use = "To read what the program asked for: at=3.1.1.42 is a command, at=#17 a call outside of command buffers, "
            "at=3.1 all in a submit.",
     .type = LAP_TYPE_LINES,
     .words = {"print", "--json"},
     .parameters = {AT("--at"), FLAG(no-blocks, "only calls outside of command buffers")}},
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
     .use = "To see what a draw works with: pipeline, descriptors with their buffers and images, vertex buffers, push "
            "constants, attachments, dynamic state. at=3.1.1.42.",
     .words = {"state", "--json"},
     .parameters = {AT("--at")}},
    {.name = "objects",
     .pattern = "objects",
     .about = "the objects that live at a position",
     .use = "To list what there is: at=3, type=VkImage; with count=true only how many. 'bytes' is the memory of "
            "buffers and images; formats are in 'object'.",
     .words = {"state", "--json", "--list"},
     .parameters = {AT("--at"), TYPE, FLAG(count, "only how many of each type")}},
    {.name = "object",
     .pattern = "objects/{object}",
     .about = "an object: its life, memory, contents, and the call that made it",
     .use = "Its size, format and usage are in 'creation', the call that made it; also its memory, layouts, and the "
            "objects that are made of it. at=3, object=VkImage:7.",
     .words = {"state", "--json"},
     .parameters = {AT("--at"), OBJECT}},
    {.name = "uses",
     .pattern = "objects/{object}/uses",
     .about = "what uses an object",
     .use = "Which draw wrote this image, what reads this buffer: object=VkImage:7, and frames=3 for one frame. Rows "
            "whose 'access' has write are those that change it.",
     .type = LAP_TYPE_LINES,
     .words = {"uses", "--json"},
     .parameters = {AT_OR_ALL, ROWS(frames, "only these, like 3 or 3-5,9"), OBJECT}},
    {.name = "unused",
     .pattern = "unused",
     .about = "objects that nothing uses",
     .use = "To find what could go: type=VkBuffer.",
     .type = LAP_TYPE_LINES,
     .words = {"uses", "--json", "--unused"},
     .parameters = {TYPE}},
    {.name = "report",
     .pattern = "report",
     .about = "what is wrong or wasteful, and what each frame and the memory have",
     .use = "To know where to look: 'rules' are counted, with the first findings of each and their positions; 'unknown' "
            "says what a rule can't know. Binds of what is bound are no fault of programs whose calls another API "
            "makes. frames=1-10 for some.",
     .words = {"report", "--json"},
     .parameters = {ROWS(frames, "only these, like 3 or 3-5")}},
    {.name = "validation",
     .pattern = "validation",
     .about = "the report with the messages of the Khronos validation layer, by a replay",
     .use = "Whether the program breaks rules of Vulkan, and where: the findings of the rule 'message' have a 'position', "
            "like 3.1.1.42 or #17, 'severity', 'vuid', 'text' and 'objects'. 'vuids' counts all messages; there are "
            "findings of the first ten of each, or of as many as 'messages' says. Without 'vuids' there is no message.",
     .kind = LAP_ROUTE_PLAYS,
     .words = {"report", "--validate", "--json"},
     .has_progress = true,
     .parameters = {ROWS(frames, "only messages and other findings in these, like 50-59; all without it"),
                    {.name = "messages", .form = LAP_FORM_NUMBER, .option = "--messages",
                     .about = "so many of each VUID, like 1000; 10 without it"}}},
    {.name = "difference",
     .pattern = "diff/{from}/{to}",
     .about = "what was made, ended and changed between two positions",
     .use = "To see what a frame, or some commands, did to objects: from=3, to=4.",
     .words = {"state", "--json"},
     .parameters = {{.name = "from", .form = LAP_FORM_POSITION, .needed = true, .option = "--diff", .about = WHERE},
                    {.name = "to", .form = LAP_FORM_POSITION, .needed = true, .option = "", .about = WHERE},
                    TYPE}},
    {.name = "memory",
     .pattern = "memory/{object}",
     .about = "the bytes of a buffer, and their origin",
     .use = "To read vertices, indices or uniforms: at=3.1.1.42, object=VkBuffer:2, as=f32x3, stride=24, offset=0, "
            "bytes=240.",
     .words = {"memory", "--json"},
     .parameters = {AT("--at"),
                    AS,
                    STRIDE,
                    FLAG(parts, "only who wrote which range"),
                    OBJECT,
                    {.name = "offset", .form = LAP_FORM_NUMBER, .about = "of the first byte, from 0"},
                    {.name = "bytes", .form = LAP_FORM_NUMBER, .about = "how many; all without it"}}},
    {.name = "memory_after",
     .pattern = "memory/{object}/after/{at}",
     .about = "the same by a replay, with the bytes that the device computed",
     .use = "To read what a dispatch or a draw stored, where 'memory' says that the device computed it: at=3.1.1.42, "
            "object=VkBuffer:2, as=f32x3, offset=0, bytes=240.",
     .kind = LAP_ROUTE_PLAYS,
     .words = {"memory", "--json"},
     .has_progress = true,
     .parameters = {AT("--after"),
                    AS,
                    STRIDE,
                    OBJECT,
                    {.name = "offset", .form = LAP_FORM_NUMBER, .about = "of the first byte, from 0"},
                    {.name = "bytes", .form = LAP_FORM_NUMBER, .about = "how many; the first 4096 without it"}}},
    {.name = "image",
     .pattern = "images/{object}",
     .about = "where the texels of an image that were uploaded come from",
     .use = "Who uploaded a texture, and from which buffer. For the picture ask 'image_picture'.",
     .files = "image_picture",
     .words = {"image", "--json", "-o", LAP_ROUTE_FILES "/picture.png"},
     .parameters = {AT("--at"), TEXELS, SHOWN, OBJECT}},
    {.name = "image_picture",
     .pattern = "images/{object}.png",
     .about = "the texels of an image that were uploaded, as a picture",
     .use = "To look at a texture: at=3, object=VkImage:7. What draws made is in 'framebuffer_picture'. 'range' in "
            "the text has the values that are black and white.",
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
     .use = "To list shaders with their pipelines, or search=texture(. 'shader' has the whole text.",
     .words = {"shaders", "--json"},
     .answers = WITHOUT_TEXT,
     .parameters = {{.name = "at", .form = LAP_FORM_POSITION, .option = "--at", .about = "only of what lives there"},
                    {.name = "pipeline", .form = LAP_FORM_OBJECT, .option = "--pipeline",
                     .about = "only of this one, like VkPipeline:4"},
                    {.name = "search", .form = LAP_FORM_TEXT, .option = "--search", .about = "lines with this text"},
                    FLAG(ignore-case, "in the search"),
                    FLAG(glsl, "as GLSL")}},
    {.name = "shader",
     .pattern = "shaders/{hash}",
     .about = "the text of a shader, and what uses it",
     .use = "To read it: hash=3f2a, as 'shaders' has it.",
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
     .about = "the attachments behind a command, or any image, by a replay",
     .use = "To know which attachments a draw has, with size, format and range of values. Their pictures: "
            "'framebuffer_picture'. image=VkImage:7 has another image, whatever wrote it.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .files = "framebuffer_picture",
     .words = {"image", "--json", "--quiet", "--raw=also", "-o", LAP_ROUTE_FILES},
     .request = {"--json", "--raw=also"},
     .parameters = {AT("--after"), IMAGE, EDITS}},
    {.name = "framebuffer_picture",
     .pattern = "framebuffer/{at}/{file}",
     .about = "an attachment as a picture (color0.png, depth.png), or its texels as bytes (color0.raw)",
     .use = "To look at what was drawn up to a draw, and with it: at=3.1.1.42. Without 'file' the first color "
            "attachment; file=depth shows the depth. skip=3.1.1.42 shows it without the draw. In the text, 'files' "
            "are all attachments, and 'range' has the values that are black and white. image=VkImage:7,1 shows level 1 "
            "of another image, whatever wrote it.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_PNG,
     .made_by = "framebuffer",
     .file = "{at}-{file}",
     .parameters = {AT("--after"),
                    IMAGE,
                    EDITS,
                    {.name = "file", .form = LAP_FORM_FILE, .needed = true,
                     .about = "the attachment, like color0.png or depth.png"}}},
    {.name = "each",
     .pattern = "each/{at}",
     .about = "what each draw of a render pass or label changes, by one replay",
     .use = "To find the draw that paints something among many: at is the position of a render pass, like 3.1.1.1 "
            "('tree' has it), a label or a command buffer. A row a draw: 'changed' has how many texels, and the "
            "rectangle around them. A row without it changes nothing, or it is not known what was there before. The "
            "pictures: 'each_picture'.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .files = "each_picture",
     .words = {"image", "--json", "--quiet", "-o", LAP_ROUTE_FILES},
     .request = {"--json"},
     .parameters = {EACH}},
    {.name = "each_picture",
     .pattern = "each/{at}/{file}",
     .about = "an attachment behind one of these draws as a picture (3.1.1.9-color0.png)",
     .use = "To look at what a draw of a pass changed: at is the pass as in 'each', file=3.1.1.9-color0, and thumbs=320 "
            "for the part around what changed, at most so wide and high. All draws of the pass come from one replay, so "
            "looking at several is quick. 'files' are all that there are.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_PNG,
     .made_by = "each",
     .file = "{file}",
     .parameters = {EACH,
                    {.name = "file", .form = LAP_FORM_FILE, .needed = true,
                     .about = "position and attachment, like 3.1.1.9-color0.png; without it the first one"}}},
    {.name = "overdraw",
     .pattern = "overdraw/{at}",
     .about = "how many fragments each texel has, of the draws of a render pass, a draw or another place, by a replay",
     .use = "Where shaders run many times for a texel: at is a render pass as in 'each'. 'fragments' / 'covered' is how "
            "often, 'most' the worst texel. rasterized=true counts also fragments that fail tests in front of the "
            "shader: far more than without it is good. The picture: 'overdraw_picture'.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .files = "overdraw_picture",
     .words = {"image", "--json", "--quiet", "--raw=also", "-o", LAP_ROUTE_FILES},
     .request = {"--json", "--raw=also"},
     .parameters = {OVERDRAW}},
    {.name = "overdraw_picture",
     .pattern = "overdraw/{at}/{file}",
     .about = "these counts as a picture with a legend (shaded.png, rasterized.png), or as bytes (shaded.raw)",
     .use = "To see where: at as in 'overdraw', file=shaded, or file=rasterized with rasterized=true.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_PNG,
     .made_by = "overdraw",
     .file = "{at}-{file}",
     .parameters = {OVERDRAW,
                    {.name = "file", .form = LAP_FORM_FILE, .needed = true,
                     .about = "shaded.png, or rasterized.png with rasterized"}}},
    {.name = "pixel",
     .pattern = "pixel/{at}",
     .about = "which commands painted a texel, from what to what, by a replay",
     .use = "Which draw painted this pixel: at=3, xy=400,300 is the presented image of frame 3, x from the left and y "
            "from the top. at=3.1.1.42 ends with that command. The last row with 'changed' made the final color; its "
            "'position' is the draw. 'before' and 'after' are values in the order red, green, blue, alpha. Commands that "
            "leave the texel as it is come with all=true. fragments=true says why a draw did not paint it: which test its "
            "fragments failed, or why it has none ('none').",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .words = {"pixel", "--json", "--quiet"},
     .request = {"--json"},
     .parameters = {AT_ASKED("--at", "--pixel-at"),
                    {.name = "target", .form = LAP_FORM_LEVEL, .option = "--target",
                     .about = "an image, like VkImage:7, or VkImage:7,LEVEL,LAYER; without it the one that the frame "
                              "presents"},
                    {.name = "aspect", .form = LAP_FORM_NAME, .option = "--aspect", .about = "color, depth or stencil"},
                    FLAG(all, "also commands that do not change it"),
                    FLAG(fragments, "also the fragments of draws, with the tests that they fail"),
                    {.name = "xy", .form = LAP_FORM_TEXEL, .needed = true, .asked = "--pixel",
                     .about = "the texel: x and y, like 400,300; 0,0 is at the top left"}}},
    {.name = "debug",
     .pattern = "debug/{at}",
     .about = "the values that a shader of a draw or dispatch computes, by a replay",
     .use = "Why a pixel has its color: at=3.1.1.42 is the draw that painted it (see 'pixel'), texel=400,300. Or "
            "vertex=7 for the vertex shader, or invocation=64,0,0 for a compute shader. 'results' are the instructions of "
            "the code, as 'shader' with the hash has it; 'steps' are [index of a result, values] in the order of "
            "execution; 'outputs' are what the shader wrote in the end. A fragment that has not 'returned' was discarded. The "
            "answer for a long shader or one with loops is long: name=normal has only the values that a variable with this "
            "name gets or gives, name=%46 those of an id.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .words = {"debug", "--json", "--quiet"},
     .request = {"--json"},
     .parameters = {AT_ASKED("--at", "--debug"),
                    {.name = "texel", .form = LAP_FORM_TEXEL, .option = "--texel",
                     .about = "of the fragment shader: x and y of the attachments, like 400,300"},
                    {.name = "vertex", .form = LAP_FORM_NUMBER, .option = "--vertex",
                     .about = "of the vertex shader: a VertexIndex"},
                    {.name = "instance", .form = LAP_FORM_NUMBER, .option = "--instance",
                     .about = "with vertex: an InstanceIndex; without it the first one"},
                    {.name = "invocation", .form = LAP_FORM_VALUES, .option = "--invocation",
                     .about = "of the compute shader: a GlobalInvocationId, like 64,0,0"},
                    {.name = "name", .form = LAP_FORM_TEXT, .option = "--name",
                     .about = "only values with this name: of an id like %46, or what a variable gets and gives"},
                    REPLACE}},
    {.name = "mesh",
     .pattern = "mesh/{at}",
     .about = "the vertices of a draw, as its vertex shader gets them and as it writes them, by a replay",
     .use = "Why a mesh is not where it should be, or has holes: at=3.1.1.42 is the draw. 'mesh' says which attributes and "
            "outputs there are, then a line for each vertex in the order of the draw: 'in' has the values of the attributes, "
            "'out' those of the outputs; null: outside of the buffer, or not shaded. rows=0-99 takes the first hundred. "
            "in=true needs no GPU, unless the device wrote the buffers.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_LINES,
     .words = {"mesh", "--json", "--quiet"},
     .request = {"--json"},
     .parameters = {AT_ASKED("--at", "--mesh"),
                    {.name = "in", .form = LAP_FORM_FLAG, .option = "--in", .asked = "--mesh-side=in",
                     .about = "only the attributes"},
                    {.name = "draw", .form = LAP_FORM_NUMBER, .option = "--draw", .asked = "--mesh-draw",
                     .about = "which draw of a command that has several, from 0"},
                    {.name = "instance", .form = LAP_FORM_NUMBER, .option = "--instance", .asked = "--mesh-instance",
                     .about = "an InstanceIndex; without it the first one"},
                    {.name = "rows", .form = LAP_FORM_NUMBERS, .option = "--rows", .asked = "--mesh-rows",
                     .about = "only these, from 0, like 0-99"},
                    REPLACE}},
    {.name = "profile",
     .pattern = "profile",
     .about = "how long frames, passes, labels and commands take on the GPU, by several replays",
     .use = "Where the time goes: frames=50-59. 'frame' is the whole, 'parts' what is in it, with 'share' from 0 to 1; "
            "'parent' is an index of 'parts'. Times are in milliseconds; those that differ by less than 'spread' do not "
            "differ. draws=true times single draws, too: take few frames then. 'device_type' cpu: a software driver, whose "
            "times say little of a GPU.",
     .kind = LAP_ROUTE_PLAYS,
     .words = {"profile", "--json", "--quiet"},
     .has_progress = true,
     .parameters = {ROWS(frames, "these, like 50-59; all without it"),
                    {.name = "loops", .form = LAP_FORM_NUMBER, .option = "--loops",
                     .about = "so many replays; 3 without it. More of them have less noise"},
                    FLAG(draws, "also single draws, and labels in render passes")}},
    {.name = "screenshots",
     .pattern = "screenshots",
     .about = "presented images of frames, by one replay",
     .use = "To know which frames have a picture: frames=1-10. The pictures: 'screenshot'.",
     .kind = LAP_ROUTE_FILM,
     .files = "screenshot",
     .words = {"replay", "--quiet", "--present", "headless", "--screenshot-dir", LAP_ROUTE_FILES},
     .parameters = {{.name = "frames", .form = LAP_FORM_NUMBERS, .needed = true, .option = "--screenshot",
                     .about = "numbers, like 1,5-9"},
                    REPLACE}},
    {.name = "screenshot",
     .pattern = "screenshots/{frames}.png",
     .about = "the presented image of a frame",
     .use = "To look at a whole frame as it was presented: frames=3.",
     .kind = LAP_ROUTE_PLAYS,
     .type = LAP_TYPE_PNG,
     .made_by = "screenshots",
     .file = "frame_{frames}.png",
     .parameters = {{.name = "frames", .form = LAP_FORM_NUMBER, .needed = true, .option = "--screenshot",
                     .about = "the number of one frame, like 3"},
                    REPLACE}},
    {.name = "find",
     .pattern = "find",
     .about = "objects, labels, commands, shaders and lines of their code that have a text",
     .use = "To find an object, a label, a command or a shader by name, or a word in its code: text=shadow. A text like "
            "VkImage:7 or 3.1.1.42 works, too.",
     .type = LAP_TYPE_LINES,
     .words = {"find", "--json"},
     .parameters = {{.name = "limit", .form = LAP_FORM_NUMBER, .option = "--limit",
                     .about = "how many at most; 200 without it"},
                    {.name = "text", .form = LAP_FORM_TEXT, .needed = true,
                     .about = "a part of the name, in upper or lower case; or an object or position"}}},
    {.name = "check",
     .pattern = "check",
     .about = "whether this machine can play the trace, and how",
     .use = "Before pictures fail, or when they do: 'refusal' says why a replay is impossible, 'findings' what this "
            "GPU lacks.",
     .kind = LAP_ROUTE_PLAYS,
     .words = {"replay", "--check", "--json"},
     .answers = CANT_REPLAY},
};

const size_t lap_route_count = sizeof lap_routes / sizeof *lap_routes;

const struct lap_route lap_route_devices = {.name = "devices",
                                            .pattern = "devices",
                                            .about = "the GPUs that can play traces here",
                                            .words = {"replay", "--list-gpus", "--json"}};
