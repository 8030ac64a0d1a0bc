//===- InlineNestedUserExposedOps.cpp -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Only the outermost named computation is placed. What the user named inside it
// must agree with that placement, and is then inlined:
//
//   %0 = mpmd.named_computation<"outer"> (%x) (%a) {
//     %1 = mpmd.named_tensor %a name="t"
//     %2 = mpmd.named_computation<"inner"> (%1) (%b) {
//       %3 = stablehlo.negate %b                   %3 = stablehlo.negate %a
//       mpmd.return %3                             mpmd.return %3
//     }
//     mpmd.return %2
//   }
//
// Innermost first, so each nested op is compared with the nearest computation
// around it. A conflict is an error, but the op is inlined all the same and
// the walk goes on to find further ones. Only a computation that is missing in
// the assignment ends it: everything inside would be in conflict.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/Place/MeshAssignment.h"
#include "meshwright/Text/DiagnosticId.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/ScopedPrinter.h"

#define GEN_PASS_DEF_INLINENESTEDUSEREXPOSEDOPSPASS
#include "meshwright/Import/Place/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

static LogicalResult checkNested(NamedComputationOp nested,
                                 NamedComputationOp parent,
                                 const MeshAndStage &parentEntry,
                                 const NameAssignment &assignment) {
  const MeshAndStage *entry = assignment.find(nested.getName());
  if (!entry || *entry == parentEntry)
    return success();
  std::string here = llvm::to_string(*entry),
              there = llvm::to_string(parentEntry);
  return nested.emitError()
         << "NamedComputation '" << nested.getName()
         << "' is nested in a NamedComputation '" << parent.getName()
         << "' which has a different mesh or stage assignment: " << here
         << " inside " << there
         << "; assign both alike, or leave the nested one out";
}

static LogicalResult checkNested(NamedTensorOp nested,
                                 NamedComputationOp parent,
                                 const MeshAndStage &parentEntry,
                                 const NameAssignment &assignment) {
  const MeshAndStage *entry = assignment.find(nested.getName());
  if (!entry)
    return success();
  MeshAndKind target = splitMemoryKind(entry->target);
  if (target.kind && *target.kind != "device")
    nested.emitWarning() << "memory kind \"" << *target.kind
                         << "\" of named tensor '" << nested.getName()
                         << "' has no effect inside named computation '"
                         << parent.getName() << "'; name the tensor outside";
  if (target.mesh == parentEntry.target)
    return success();
  return nested.emitError()
         << "NamedTensor '" << nested.getName()
         << "' is nested in a NamedComputation '" << parent.getName()
         << "' which has a different mesh assignment: " << target.mesh
         << " inside " << parentEntry.target
         << "; assign both alike, or leave the tensor out";
}

static void inlineIntoParent(NamedComputationOp nested,
                             RewriterBase &rewriter) {
  Block &body = nested.getRegion().front();
  Operation *terminator = body.getTerminator();
  rewriter.inlineBlockBefore(&body, nested, nested.getTensors());
  rewriter.replaceOp(nested, terminator->getOperands());
  rewriter.eraseOp(terminator);
}

/// What a broadcast or a reduce is where all values are on one mesh.
/// DEPARTURE(nested-reduction): The reference takes the first operand of a reduce
/// for all of them.
static Value computeOnOneMesh(Operation *op, RewriterBase &rewriter) {
  Value result = op->getOperand(0);
  rewriter.setInsertionPoint(op);
  for (Value other : op->getOperands().drop_front())
    result = createReductionOp(rewriter, op->getLoc(),
                               cast<ReduceOp>(op).getReduction(), result, other)
                 ->getResult(0);
  return result;
}

namespace {
struct InlineNestedUserExposedOpsPass
    : mpmd::impl::InlineNestedUserExposedOpsPassBase<
          InlineNestedUserExposedOpsPass> {
  using Base::Base;

  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(&getContext());
    func.walk([&](Operation *op) { return inlineOp(op, rewriter); });
  }

private:
  /// Inlines `op` if it is exposed to the user and nested in a computation.
  WalkResult inlineOp(Operation *op, RewriterBase &rewriter) {
    if (!isa<NamedComputationOp, NamedTensorOp, BroadcastOp, ReduceOp>(op))
      return WalkResult::advance();
    auto parent = op->getParentOfType<NamedComputationOp>();
    if (!parent)
      return WalkResult::advance();
    if (isa<BroadcastOp, ReduceOp>(op)) {
      rewriter.replaceOp(op, computeOnOneMesh(op, rewriter));
      return WalkResult::advance();
    }

    const MeshAndStage *parentEntry =
        assignment.getValue().find(parent.getName());
    if (!parentEntry) {
      meshwright::identify(
          parent.emitError() << "Parent NamedComputation '" << parent.getName()
                             << "' is not assigned to a mesh; add '"
                             << parent.getName() << "@MESH' to the assignment",
          "unassigned", {{"name", parent.getName().str()}});
      signalPassFailure();
      return WalkResult::interrupt();
    }
    if (auto computation = dyn_cast<NamedComputationOp>(op)) {
      if (failed(checkNested(computation, parent, *parentEntry, assignment)))
        signalPassFailure();
      inlineIntoParent(computation, rewriter);
    } else {
      auto tensor = cast<NamedTensorOp>(op);
      if (failed(checkNested(tensor, parent, *parentEntry, assignment)))
        signalPassFailure();
      rewriter.replaceOp(tensor, tensor.getTensor());
    }
    ++numInlined;
    return WalkResult::advance();
  }
};
} // namespace
