//===- MpmdDialect.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "meshwright/Dialect/StableHLO/Misc/CustomCallVerifier.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::mpmd;

#include "meshwright/Dialect/Mpmd/MpmdDialect.cpp.inc"

/// Whether `op` may come, with the body of its function, into `parent`: what
/// verification asks of the op's place, and of its meshes.
static bool isAllowedIn(Operation *op, Operation *parent) {
  auto callee = op->getParentOfType<func::FuncOp>();
  if (!callee || !isa<CallOp, FragmentOp, FragmentCallOp, AssignOp, UnassignOp,
                      TransferOp>(op))
    return true;
  auto caller = dyn_cast<func::FuncOp>(parent);
  // What is deeper in the callee keeps its parent.
  if (!caller && (op->getParentOp() != callee ||
                  (isa<ForOp>(parent) && !isa<FragmentCallOp, TransferOp>(op))))
    caller = parent->getParentOfType<func::FuncOp>();
  if (!caller)
    return false;
  if (isa<CallOp>(op))
    return !isMpmdFunction(caller) || isEntryPointFunction(caller);
  return getTopology(caller) == getTopology(callee);
}

namespace {
/// The dialect's calls represent a mesh and a counter that a body alone would
/// lose; passes of their own inline them. Everything else may move to where it
/// verifies.
struct MpmdInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable,
                       bool wouldBeCloned) const override {
    return false;
  }
  bool isLegalToInline(Operation *op, Region *dest, bool wouldBeCloned,
                       IRMapping &mapping) const override {
    return isAllowedIn(op, dest->getParentOp());
  }
  bool isLegalToInline(Region *dest, Region *src, bool wouldBeCloned,
                       IRMapping &mapping) const override {
    return true;
  }

  /// The end of an inlined body: its values replace the results.
  void handleTerminator(Operation *op, ValueRange results) const override {
    if (auto returnOp = dyn_cast<mpmd::ReturnOp>(op))
      for (auto [result, value] : llvm::zip(results, returnOp.getOperands()))
        result.replaceAllUsesWith(value);
  }
};
} // namespace

/// A call of a shared body is replaced by the body's ops, so it must name a function
/// that fits and that is nothing but the ops of fragments. Attributes of that function
/// may be missing where it is not verified yet.
static LogicalResult verifySharedBodyCall(stablehlo::CustomCallOp op) {
  ArrayAttr names = op.getCalledComputations();
  auto name = names.size() == 1 ? dyn_cast<FlatSymbolRefAttr>(names[0])
                                : FlatSymbolRefAttr();
  auto body = name ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                         op, name.getAttr())
                   : func::FuncOp();
  if (!body || !sdy::isSharedBody(body) || !body.getBody().hasOneBlock() ||
      body->getAttr(body.getFunctionTypeAttrName()) !=
          TypeAttr::get(FunctionType::get(op.getContext(), op.getOperandTypes(),
                                          op.getResultTypes())))
    return op.emitOpError()
           << "to " << sdy::kSharedBody
           << " represents the ops of a function: expected one called "
              "computation, a function with attribute "
           << sdy::kSharedBody
           << " that takes the types of the operands and returns those of the "
              "results";
  if (auto parent = op->getParentOfType<func::FuncOp>();
      parent && sdy::isSharedBody(parent))
    return op.emitOpError() << "to " << sdy::kSharedBody
                            << " is in such a function itself; its ops "
                               "must replace it there";
  if (body.getSymVisibility() != StringRef("private") ||
      isDistributedFunction(body))
    return op.emitOpError()
           << "to " << sdy::kSharedBody << " names @" << body.getSymName()
           << ": expected a private function without "
              "topology and mesh_shape, which is nothing but "
              "the ops of fragments";
  // Passes look for calls directly in fragments only.
  if (!isa_and_present<FragmentOp>(op->getParentOp()))
    return op.emitOpError() << "to " << sdy::kSharedBody
                            << " represents ops of a fragment: expected it "
                               "right within an mpmd.fragment; elsewhere its "
                               "ops must replace it";
  return success();
}

namespace {
struct SharedBodyVerifier : stablehlo::CustomCallVerifier {
  using CustomCallVerifier::CustomCallVerifier;

  LogicalResult verify(stablehlo::CustomCallOp call) const final {
    return sdy::isSharedBodyCall(call) ? verifySharedBodyCall(call) : success();
  }
};
} // namespace

void mpmd::registerExtensions(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, stablehlo::StablehloDialect *dialect) {
        dialect->addInterfaces<SharedBodyVerifier>();
      });
}

void MpmdDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/Mpmd/MpmdOps.cpp.inc"
      >();
  addInterfaces<MpmdInliner>();
}

#define GET_OP_CLASSES
#include "meshwright/Dialect/Mpmd/MpmdOps.cpp.inc"
