//===- FragmentGraph.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What a bar waits for are its inputs and the bar before it on its mesh. The
// latter counts only if it belongs to the same microbatch, as the two halves of
// a backward do; otherwise every fragment would follow every other.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/FragmentGraph.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;

namespace {
class GraphMaker {
public:
  explicit GraphMaker(const Drawing &drawing) : drawing(drawing) {}
  FragmentGraph make();

private:
  void addNodes();
  void addEdge(uint32_t from, uint32_t to, double bytes);
  void addEdgesTo(uint32_t bar, uint32_t target, double bytes);

  const Drawing &drawing;
  FragmentGraph graph;
  std::vector<uint32_t> nodeOf; ///< Of each bar that is no transfer.
  llvm::MapVector<std::pair<uint32_t, uint32_t>, FragmentGraph::Edge> edges;
};
} // namespace

void GraphMaker::addNodes() {
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> ids;
  for (const Drawing::Bar &bar : drawing.bars) {
    if (bar.isTransfer()) {
      nodeOf.push_back(Drawing::kNone);
      continue;
    }
    auto [it, isNew] =
        ids.try_emplace({bar.mesh, bar.name}, graph.nodes.size());
    if (isNew)
      graph.nodes.push_back({bar.mesh, bar.name, bar.origins, bar.kind});
    FragmentGraph::Node &node = graph.nodes[it->second];
    ++node.runs;
    node.time += bar.getTime();
    nodeOf.push_back(it->second);
  }
}

void GraphMaker::addEdge(uint32_t from, uint32_t to, double bytes) {
  FragmentGraph::Edge &edge = edges[{from, to}];
  edge.from = from;
  edge.to = to;
  ++edge.count;
  edge.bytes += bytes;
}

/// Through transfers to the fragments after them.
void GraphMaker::addEdgesTo(uint32_t bar, uint32_t target, double bytes) {
  llvm::SmallVector<std::pair<uint32_t, double>, 4> open = {{bar, bytes}};
  llvm::SmallDenseSet<uint32_t, 8> seen;
  const Drawing::Bar &reader = drawing.bars[target];
  while (!open.empty()) {
    auto [at, carried] = open.pop_back_val();
    for (uint32_t wait : drawing.getWaits(at)) {
      const Drawing::Bar &before = drawing.bars[wait];
      if (before.isTransfer()) {
        // Of transfers, only those that bring something here.
        bool brings = before.mesh == drawing.bars[at].source;
        if (at == target && brings && seen.insert(wait).second)
          open.push_back({wait, before.bytes});
        continue;
      }
      bool isInput = before.microbatch == reader.microbatch ||
                     before.microbatch < 0 || reader.microbatch < 0;
      bool isSender = at == target || before.mesh == drawing.bars[at].source;
      if (isInput && isSender && nodeOf[wait] != nodeOf[target])
        addEdge(nodeOf[wait], nodeOf[target], at == target ? 0 : carried);
    }
  }
}

FragmentGraph GraphMaker::make() {
  addNodes();
  for (uint32_t bar = 0; bar < drawing.bars.size(); ++bar)
    if (nodeOf[bar] != Drawing::kNone)
      addEdgesTo(bar, bar, 0);
  for (auto &[key, edge] : edges)
    graph.edges.push_back(edge);
  return std::move(graph);
}

FragmentGraph meshwright::makeGraph(const Drawing &drawing) {
  return GraphMaker(drawing).make();
}
