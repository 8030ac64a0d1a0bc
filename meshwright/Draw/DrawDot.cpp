//===- DrawDot.cpp - The graph of fragments for Graphviz ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/FragmentGraph.h"
#include "meshwright/Draw/WriteDrawing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GraphWriter.h"

using namespace meshwright;

static std::string quote(const std::string &text) {
  return '"' + llvm::DOT::EscapeString(text) + '"';
}

void meshwright::printDot(const Drawing &drawing, llvm::raw_ostream &os) {
  FragmentGraph graph = makeGraph(drawing);
  os << "digraph " << quote(drawing.title) << " {\n"
     << "  rankdir=LR\n"
     << "  node [shape=box, style=filled, fontname=\"sans-serif\"]\n"
     << "  edge [fontname=\"sans-serif\", fontsize=10]\n";
  for (auto [index, mesh] : llvm::enumerate(drawing.meshes)) {
    os << "  subgraph cluster_" << index
       << " {\n    label=" << quote(mesh.getLabel()) << "\n";
    for (auto [id, node] : llvm::enumerate(graph.nodes)) {
      if (node.mesh != index)
        continue;
      std::string label =
          llvm::formatv("{0}\n{1} × {2}", drawing.names.get(node.name),
                        node.runs, drawing.printTime(node.time / node.runs))
              .str();
      os << llvm::formatv("    n{0} [label={1}, fillcolor=\"{2}\", tooltip={3}]"
                          "\n",
                          id, quote(label), getStyle(node.kind).colour,
                          quote(drawing.names.get(node.origins)));
    }
    os << "  }\n";
  }
  for (const FragmentGraph::Edge &edge : graph.edges) {
    os << "  n" << edge.from << " -> n" << edge.to;
    if (edge.bytes > 0)
      os << " [label="
         << quote(std::to_string(edge.count) + " × " +
                  printBytes(edge.bytes / double(edge.count)))
         << ']';
    os << "\n";
  }
  os << "}\n";
}
