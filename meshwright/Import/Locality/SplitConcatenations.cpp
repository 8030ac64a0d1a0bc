//===- SplitConcatenations.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A norm of all gradients, raveled into one vector, needs that vector on one mesh.
// The sum over a concatenation is the sum of the sums over its operands, so that
// only scalars travel:
//
//   %v = concatenate %g1, %g2                %s1 = multiply %g1, %g1    on m1
//   %s = multiply %v, %v          becomes    %s2 = multiply %g2, %g2    on m2
//   %n = reduce add %s                       %n = add (reduce %s1), (reduce %s2)
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Locality/ConcatenationSplitter.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/StateClasses.h"

#define GEN_PASS_DEF_SPLITCONCATENATIONSPASS
#include "meshwright/Import/Locality/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Erases ops that nothing reads, each after its readers.
static void eraseUnread(SetVector<Operation *> &ops) {
  SmallVector<Operation *> worklist(ops.begin(), ops.end());
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!ops.contains(op) || !op->use_empty())
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && ops.contains(producer))
        worklist.push_back(producer);
    ops.remove(op);
    op->erase();
  }
}

namespace {
struct SplitConcatenationsPass
    : mpmd::impl::SplitConcatenationsPassBase<SplitConcatenationsPass> {
  void runOnOperation() override {
    ValueMeshes::visitFunctions(getOperation(), [&](auto &&...analyzed) {
      runOnFunction(analyzed...);
    });
  }

  void runOnFunction(func::FuncOp func, const MeshDataFlow &flow,
                     const ValueMeshes::Callees &callees) {
    eraseConsents(func);
    SetVector<Operation *> replaced;
    for (stablehlo::ConcatenateOp concat : collect(func, flow, callees)) {
      if (replaced.contains(concat))
        continue; // With another one.
      ConcatenationSplitter splitter(concat);
      numSplit += splitter.run();
      replaced.insert_range(splitter.replaced);
    }
    eraseUnread(replaced);
  }

  /// Concatenations of what is on different meshes, or belongs there.
  static SmallVector<stablehlo::ConcatenateOp>
  collect(func::FuncOp func, const MeshDataFlow &flow,
          const ValueMeshes::Callees &callees) {
    SmallVector<stablehlo::ConcatenateOp> found;
    // Pieces that are all small may travel.
    auto isLarge = [](Value piece) {
      return getTensorBytes(piece) > kSmallBytes;
    };
    auto concats = func.front().getOps<stablehlo::ConcatenateOp>();
    if (concats.empty())
      return found;
    ValueMeshes meshes(func, flow, callees);
    StateClasses classes(func, meshes);
    for (stablehlo::ConcatenateOp concat : concats)
      if ((meshes.isAcrossMeshes(concat) ||
           belongsApart(concat, meshes, classes) ||
           isReadApart(concat, meshes)) &&
          cast<RankedTensorType>(concat.getType()).hasStaticShape() &&
          llvm::any_of(concat->getOperands(), isLarge))
        found.push_back(concat);
    return found;
  }

  /// Whether what arithmetic and slices make of it is read on several meshes.
  static bool isReadApart(stablehlo::ConcatenateOp concat,
                          const ValueMeshes &meshes) {
    MeshBits readers;
    SetVector<Operation *> ops;
    ops.insert(concat);
    for (size_t next = 0; next != ops.size(); ++next)
      for (OpOperand &use : ops[next]->getResult(0).getUses()) {
        Operation *user = use.getOwner();
        if (isCheapToRepeat(user) || isa<stablehlo::SliceOp>(user))
          ops.insert(user);
        else if (MeshBits bits = meshes.getReaders(use); readers.empty())
          readers = bits;
        else if (!bits.empty())
          readers |= bits;
      }
    return readers.count() > 1;
  }

  /// Whether pieces could be anywhere, and belong on several meshes.
  static bool belongsApart(stablehlo::ConcatenateOp concat,
                           const ValueMeshes &meshes,
                           const StateClasses &classes) {
    std::optional<unsigned> first;
    for (Value piece : concat->getOperands()) {
      if (!meshes.get(piece).empty())
        continue;
      std::optional<unsigned> mesh = classes.getMesh(piece);
      if (mesh && first && *mesh != *first)
        return true;
      if (mesh)
        first = mesh;
    }
    return false;
  }
};
} // namespace
