//===- DebugAttributes.cpp - Where axes come from, in the IR --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Propagation/DebugAttributes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::sdy;

namespace {
/// What is written of an op: each axis once for each way it can go.
class OpSteps {
public:
  void add(MLIRContext *context, int64_t number, const PropagationStep &step) {
    auto refer = [&](unsigned position) {
      bool isResult = position >= step.numOperands;
      return EdgeValueRefAttr::get(
          context, isResult ? EdgeNodeType::Result : EdgeNodeType::Operand,
          isResult ? position - step.numOperands : position);
    };
    SmallVector<AxisToPropagationDetailsAttr> edges;
    for (const PropagationEdge &edge : step.edges) {
      auto details = AxisToPropagationDetailsAttr::get(
          context, edge.axis, refer(edge.source),
          llvm::map_to_vector(edge.targets, refer));
      if (known.insert(details).second)
        edges.push_back(details);
    }
    if (!edges.empty())
      steps.push_back(PropagationOneStepAttr::get(context, number, edges));
  }

  /// Null if nothing is known of where axes come from.
  PropagationEdgesAttr get(MLIRContext *context) const {
    return steps.empty() ? nullptr : PropagationEdgesAttr::get(context, steps);
  }

private:
  SmallVector<PropagationOneStepAttr> steps;
  llvm::DenseSet<Attribute> known; // Membership only: its order never shows.
};
} // namespace

void sdy::writeEdges(const PropagationLog &log, const ShardingTable &table,
                     func::FuncOp main) {
  MLIRContext *context = main.getContext();
  llvm::MapVector<Operation *, OpSteps> stepsOf;
  for (auto [number, step] : llvm::enumerate(log.steps)) {
    if (step.place == PropagationStep::Place::Group)
      continue;
    Operation *op = step.place == PropagationStep::Place::FunctionResult
                        ? main.getOperation()
                        : table.getOp(step.index);
    bool isShared = step.place == PropagationStep::Place::Op &&
                    (table.getInstance(step.index) ||
                     table.getKind(step.index) == OpKind::FrameEdge);
    if (op && !isShared)
      stepsOf[op].add(context, number, step);
  }
  for (auto &[op, steps] : stepsOf) {
    PropagationEdgesAttr edges = steps.get(context);
    if (!edges)
      continue;
    if (op == main)
      main.setResultAttr(0, kPropagationEdgesAttr, edges);
    else
      op->setDiscardableAttr(kPropagationEdgesAttr, edges);
  }
}
