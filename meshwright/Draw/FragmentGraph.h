//===- FragmentGraph.h - Which fragment feeds which -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_FRAGMENTGRAPH_H
#define MESHWRIGHT_DRAW_FRAGMENTGRAPH_H

#include "meshwright/Draw/Drawing.h"

namespace meshwright {

/// The distinct fragments, and what goes from one to another. Transfers are on
/// the edges; that a mesh is busy with something else is none.
struct FragmentGraph {
  struct Node {
    uint32_t mesh, name, origins;
    ItemKind kind;
    int64_t runs = 0;
    double time = 0; ///< Of all runs.
  };
  struct Edge {
    uint32_t from, to;
    int64_t count = 0;
    double bytes = 0; ///< Of transfers, all of them.
  };
  std::vector<Node> nodes; ///< In the order of their first runs.
  std::vector<Edge> edges;
};

FragmentGraph makeGraph(const Drawing &drawing);

} // namespace meshwright

#endif
