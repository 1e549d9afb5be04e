/* SPDX-License-Identifier: MIT */
/*
 * tree: the contents of a trace, from frames to draws, with counts, in the order of positions (position.h). One thread.
 */
#ifndef LAP_INSPECTOR_POSITION_TREE_H
#define LAP_INSPECTOR_POSITION_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "inspector/position/contents.h"
#include "inspector/position/open_labels.h"
#include "inspector/position/position.h"

enum tree_kind {
    TREE_FRAME,
    TREE_SUBMIT,
    TREE_BUFFER,    /* a command buffer, primary or secondary */
    TREE_PASS,      /* a render pass or dynamic rendering, at the command that begins it */
    TREE_LABEL,     /* of VK_EXT_debug_utils or VK_EXT_debug_marker, at the command that begins it */
    TREE_EXECUTION, /* vkCmdExecuteCommands */
    TREE_COMMAND    /* other work; also any other command that is asked for */
};

struct tree_node { /* valid during the visit */
    enum tree_kind kind;
    unsigned depth; /* below the requested position, which has 0; in a whole trace its frames have 1 */
    struct position position;
    const char *text;              /* of a label; the name of a command; else NULL */
    uint64_t object;               /* number of the queue, the command buffer or the render pass; 0: none */
    uint64_t submits, buffers;     /* in it, where these are its children */
    uint64_t end;                  /* of a pass or a label: the number of its last command; 0: it has none */
    struct position_counts counts; /* of all that is in it */
    /* That are open at its beginning: of a submit those of its queue, of a primary command buffer those that earlier
     * ones left open. NULL: none, or it is another node. */
    const struct position_label_list *labels;
};

/* Each is called before the nodes in it; an error ends the walk. */
typedef enum lap_status (*tree_visit_fn)(void *user, const struct tree_node *node);

struct tree_wish {
    const struct position *at; /* NULL: the whole trace; not of a packet, and position_find has found it */
    unsigned depth;            /* nodes further below are not visited */
    /* Command buffers are not decoded: they have no nodes, and of the counts only `commands`, without those of
     * secondary command buffers. Labels that they leave open are not known. */
    bool quick;
    bool all; /* every command of a command buffer has a node, also those that only set state, and ends */
    /* The direct children of the position, or the frames of the whole trace, counted from 1: only these are visited,
     * with their contents. The counts of the position are of all. */
    uint64_t first_child, last_child;
};

/* *out_children: how many direct children there are, visited or not. Errors are the reader's, the decoders' and the
 * visit's; after an error there may be more children. */
enum lap_status tree_walk(const struct lap_reader *trace, const struct tree_wish *wish, tree_visit_fn visit, void *user,
                          uint64_t *out_children) LAP_MUST_CHECK;

#endif
