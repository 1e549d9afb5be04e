/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/tree.h"
#include "tests/unit/unit.h"

enum { COUNT = 400, SPACE = 3000 };

static uint64_t seed = 1234567;

static uint64_t random_below(uint64_t limit)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 33) % limit;
}

struct hits {
    struct lap_tree_node *nodes[COUNT];
    unsigned count;
};

static void hit(void *context, struct lap_tree_node *node)
{
    struct hits *hits = context;
    if (hits->count < COUNT)
        hits->nodes[hits->count++] = node;
}

static bool overlaps(const struct lap_tree_node *node, uint64_t begin, uint64_t end)
{
    return node->begin < end && node->end > begin;
}

UNIT_TEST(a_tree_agrees_with_a_list)
{
    static struct lap_tree_node nodes[COUNT];
    static bool in_tree[COUNT];
    struct lap_tree_node *root = NULL;
    for (unsigned step = 0; step < 8000 && !unit_failed; step++) {
        unsigned index = (unsigned)random_below(COUNT), expected = 0;
        uint64_t begin = random_below(SPACE), end = begin + 1 + random_below(60);
        struct hits hits = {.count = 0};
        struct lap_tree_node *first;
        if (in_tree[index]) {
            lap_tree_remove(&root, &nodes[index]);
        } else {
            nodes[index].begin = random_below(SPACE) / 8 * 8;
            nodes[index].end = nodes[index].begin + 1 + random_below(index % 10 == 0 ? 1000 : 50);
            nodes[index].order = index;
            lap_tree_insert(&root, &nodes[index]);
        }
        in_tree[index] = !in_tree[index];
        lap_tree_visit(root, begin, end, hit, &hits);
        for (unsigned i = 0; i < COUNT; i++)
            expected += in_tree[i] && overlaps(&nodes[i], begin, end);
        CHECK_EQ_U64(hits.count, expected);
        for (unsigned i = 0; i < hits.count; i++) {
            CHECK(overlaps(hits.nodes[i], begin, end));
            CHECK(
                i == 0 || hits.nodes[i - 1]->begin < hits.nodes[i]->begin ||
                (hits.nodes[i - 1]->begin == hits.nodes[i]->begin && hits.nodes[i - 1]->order < hits.nodes[i]->order));
        }
        first = lap_tree_first(root, begin, end);
        CHECK(!first == (expected == 0));
        CHECK(!first || (hits.count && first->begin == hits.nodes[0]->begin));
    }
}

static unsigned depth(const struct lap_tree_node *node)
{
    unsigned left, right;
    if (!node)
        return 0;
    left = depth(node->left);
    right = depth(node->right);
    return 1 + (left > right ? left : right);
}

/* Objects are bound at rising offsets: just what makes a plain tree a list. */
UNIT_TEST(a_tree_filled_in_order_stays_shallow)
{
    enum { MANY = 100000 };
    struct lap_tree_node *nodes = calloc(MANY, sizeof(*nodes)), *root = NULL;
    CHECK(nodes != NULL);
    for (unsigned i = 0; nodes && i < MANY; i++) {
        nodes[i].begin = i * 256u;
        nodes[i].end = nodes[i].begin + 256;
        nodes[i].order = i;
        lap_tree_insert(&root, &nodes[i]);
    }
    CHECK(depth(root) < 80);
    CHECK(nodes && lap_tree_first(root, 256 * 777 + 255, 256 * 777 + 256) == &nodes[777]);
    free(nodes);
}

UNIT_MAIN();
