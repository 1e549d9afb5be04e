/* SPDX-License-Identifier: MIT */
#include "base/tree.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct lap_tree_node node_t;

static void update(node_t *node)
{
    node->max_end = node->end;
    if (node->left && node->left->max_end > node->max_end)
        node->max_end = node->left->max_end;
    if (node->right && node->right->max_end > node->max_end)
        node->max_end = node->right->max_end;
}

static bool before(const node_t *a, const node_t *b)
{
    return a->begin != b->begin ? a->begin < b->begin : a->order < b->order;
}

static void split(node_t *root, const node_t *key, node_t **left, node_t **right)
{
    if (!root) {
        *left = *right = NULL;
    } else if (before(root, key)) {
        split(root->right, key, &root->right, right);
        *left = root;
        update(root);
    } else {
        split(root->left, key, left, &root->left);
        *right = root;
        update(root);
    }
}

static node_t *merge(node_t *left, node_t *right)
{
    if (!left || !right)
        return left ? left : right;
    if (left->priority > right->priority) {
        left->right = merge(left->right, right);
        update(left);
        return left;
    }
    right->left = merge(left, right->left);
    update(right);
    return right;
}

/* A mixed-up `order` and `begin` is random enough for a heap and needs no state. */
static uint32_t mix(uint64_t value)
{
    value ^= value >> 31;
    value *= 0x7fb5d329728ea185ull;
    value ^= value >> 27;
    value *= 0x81dadef4bc2dd44dull;
    return (uint32_t)(value >> 32);
}

static node_t *insert(node_t *root, node_t *node)
{
    if (!root)
        return node;
    if (node->priority > root->priority) {
        split(root, node, &node->left, &node->right);
        update(node);
        return node;
    }
    if (before(node, root))
        root->left = insert(root->left, node);
    else
        root->right = insert(root->right, node);
    update(root);
    return root;
}

void lap_tree_insert(node_t **root, node_t *node)
{
    node->left = node->right = NULL;
    node->max_end = node->end;
    node->priority = mix(node->order + 0x9e3779b97f4a7c15ull * node->begin);
    *root = insert(*root, node);
}

static node_t *take_out(node_t *root, const node_t *node)
{
    if (root == node)
        return merge(root->left, root->right);
    if (before(node, root))
        root->left = take_out(root->left, node);
    else
        root->right = take_out(root->right, node);
    update(root);
    return root;
}

void lap_tree_remove(node_t **root, node_t *node)
{
    *root = take_out(*root, node);
    node->left = node->right = NULL;
}

node_t *lap_tree_first(node_t *root, uint64_t begin, uint64_t end)
{
    while (root && root->max_end > begin) {
        if (root->left && root->left->max_end > begin) {
            /* A node on the left ends late enough. If none of these begins early enough, none further right does. */
            root = root->left;
        } else if (root->end > begin) {
            return root->begin < end ? root : NULL;
        } else {
            root = root->right;
        }
    }
    return NULL;
}

void lap_tree_visit(node_t *root, uint64_t begin, uint64_t end, void (*visit)(void *context, node_t *node),
                    void *context)
{
    while (root && root->max_end > begin) {
        lap_tree_visit(root->left, begin, end, visit, context);
        if (root->begin >= end)
            return;
        if (root->end > begin)
            visit(context, root);
        root = root->right;
    }
}
