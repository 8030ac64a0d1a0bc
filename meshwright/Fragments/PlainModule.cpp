//===- PlainModule.cpp - Programs of fragments for any reader -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/PlainModule.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace meshwright;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// Removes discardable attributes of operations, arguments and results.
static void dropAttributes(ModuleOp module,
                           function_ref<bool(NamedAttribute)> goes) {
  auto filter = [&](DictionaryAttr attrs) {
    SmallVector<NamedAttribute> kept;
    for (NamedAttribute attr : attrs)
      if (!goes(attr))
        kept.push_back(attr);
    return DictionaryAttr::get(module.getContext(), kept);
  };
  module->walk([&](Operation *op) {
    op->setDiscardableAttrs(filter(op->getDiscardableAttrDictionary()));
    auto function = dyn_cast<FunctionOpInterface>(op);
    if (!function)
      return;
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      if (DictionaryAttr attrs = function.getArgAttrDict(i))
        function.setArgAttrs(i, filter(attrs));
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      if (DictionaryAttr attrs = function.getResultAttrDict(i))
        function.setResultAttrs(i, filter(attrs));
  });
}

static bool isOfShardy(NamedAttribute attr) {
  return attr.getName().strref().starts_with("sdy.") ||
         isa<sdy::SdyDialect>(attr.getValue().getDialect());
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// Replaces an operation of Shardy by what it is on one device. Those that it does not
/// know stay.
static void dropSharding(Operation *op, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(op);
  if (auto constant = dyn_cast<sdy::ConstantOp>(op)) {
    rewriter.replaceOpWithNewOp<stablehlo::ConstantOp>(op, constant.getValue());
  } else if (isa<sdy::ManualComputationOp, sdy::NamedComputationOp>(op)) {
    Block &body = op->getRegion(0).front();
    Operation *terminator = body.getTerminator();
    rewriter.inlineBlockBefore(&body, op, op->getOperands());
    rewriter.replaceOp(op, terminator->getOperands());
    rewriter.eraseOp(terminator);
  } else if (op->getNumOperands() == 1 && op->getNumRegions() == 0 &&
             !op->hasTrait<OpTrait::IsTerminator>()) {
    rewriter.replaceOp(op, op->getOperands().take_front(op->getNumResults()));
  } else if (isa<sdy::MeshOp>(op)) {
    rewriter.eraseOp(op);
  }
}

void meshwright::dropShardingsOfOneDevice(ModuleOp module) {
  for (auto mesh : module.getOps<sdy::MeshOp>())
    if (mesh.getMesh().getTotalSize() != 1)
      return;
  IRRewriter rewriter(module.getContext());
  module->walk([&](Operation *op) {
    if (isa_and_nonnull<sdy::SdyDialect>(op->getDialect()))
      dropSharding(op, rewriter);
  });
  dropAttributes(module, isOfShardy);
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

LogicalResult meshwright::dropMarksOfJax(ModuleOp module) {
  dropAttributes(module, [](NamedAttribute attr) {
    return attr.getName().strref().contains('.') && !isOfShardy(attr);
  });
  IRRewriter rewriter(module.getContext());
  module->walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == "annotate_device_placement")
      rewriter.replaceOp(call, call->getOperands());
  });
  PassManager passes(module.getContext());
  passes.addPass(createStripDebugInfoPass());
  return passes.run(module);
}

//===----------------------------------------------------------------------===//
// Portable artifacts
//===----------------------------------------------------------------------===//

LogicalResult meshwright::verifyIsPortable(ModuleOp module) {
  WalkResult result = module->walk([](Operation *op) {
    if (isa<BuiltinDialect, func::FuncDialect, sdy::SdyDialect,
            stablehlo::StablehloDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitError() << "cannot be written with --portable: '" << op->getName()
                    << "' on these types has no form in StableHLO; partition "
                       "without --portable, which keeps it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
