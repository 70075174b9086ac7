#include "policies/memory/forks.h"

#include <assert.h>

void forks_shrink(struct memory *memory, node_id node, uint64_t pages, bool gone, forks_give *give,
                  forks_pass *pass)
{
    const struct node *nodes = memory->workload->nodes;
    for (node_id from = node;; from = nodes[from].parent) {
        assert(from != NODE_ROOT && "every page is on the path");
        pages = give(memory, from, pages);
        if (pages == 0)
            break;
    }
    if (gone)
        pass(memory, node, nodes[node].parent);
}
