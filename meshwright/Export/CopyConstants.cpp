//===- CopyConstants.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A constant that one fragment computes and another reads would be sent from
// mesh to mesh. To compute it again where it is read costs nothing:
//
//   %0 = fragment<"m1", []> () () {%c = constant; return %c}
//   %1 = transfer %0
//   %2 = fragment<"m2", ["f"]> (%1) (%a) {add %a, %a}
//   // becomes, in the last fragment
//   %2 = fragment<"m2", ["f"]> (%1) (%a) {%c = constant; add %c, %c}
//
// Operands and arguments that this leaves unused are for others to remove.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/SharedBodies.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

#define GEN_PASS_DEF_COPYCONSTANTSPASS
#include "meshwright/Export/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// The op that computes `value` inside the fragment that returns it, looking
/// through transfers. Null if no fragment does.
static Operation *findOpInProducer(Value value) {
  while (auto transfer = value.getDefiningOp<TransferOp>())
    value = transfer.getTensor();
  auto producer = value.getDefiningOp<FragmentOp>();
  if (!producer)
    return nullptr;
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *terminator = producer.getRegion().front().getTerminator();
  return getDefiningOpInBody(terminator->getOperand(index));
}

namespace {
struct CopyConstantsPass
    : mpmd::impl::CopyConstantsPassBase<CopyConstantsPass> {
  void runOnFunction(func::FuncOp func) override {
    IRRewriter rewriter(&getContext());
    auto fragments = llvm::to_vector(func.front().getOps<FragmentOp>());
    for (FragmentOp fragment : llvm::reverse(fragments))
      copyConstantsInto(fragment, rewriter);
  }

private:
  // COMPAT(constants-to-the-front): Each copy goes to the front, also if
  // nothing reads the argument or an equal constant is there.
  void copyConstantsInto(FragmentOp fragment, RewriterBase &rewriter) {
    Block &body = fragment.getRegion().front();
    // Control operands have no argument, hence the shorter of the two lists.
    for (auto [argument, operand] :
         llvm::zip_first(body.getArguments(), fragment->getOperands())) {
      Operation *op = findOpInProducer(operand);
      if (!op || !op->hasTrait<OpTrait::ConstantLike>())
        continue;
      inlineSharedBodies(fragment, rewriter);
      rewriter.setInsertionPointToStart(&body);
      rewriter.replaceAllUsesWith(argument, rewriter.clone(*op)->getResult(0));
      ++numConstants;
    }
  }
};
} // namespace
