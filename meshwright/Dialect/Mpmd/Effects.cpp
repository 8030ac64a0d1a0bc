//===- Effects.cpp - What may be repeated, dropped and reordered ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Targets that JAX and XLA mark as side effects, so that they are not removed,
/// although they only say where a value is to be.
static bool isAnnotation(stablehlo::CustomCallOp call) {
  StringRef target = call.getCallTargetName();
  return target == "annotate_device_placement" || target == "Sharding" ||
         target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape" ||
         target == "LayoutConstraint" || target == sdy::kSharedBody ||
         target.starts_with("xla.sdy.");
}

/// Ops that declare nothing, and that upstream must therefore leave alone, but
/// that only compute or annotate. Composites that do more are expanded first
/// (mpmd-expand-composites-with-effects).
static bool isKnownToCompute(Operation *op) {
  if (isa_and_present<sdy::SdyDialect>(op->getDialect()))
    return true;
  return isa<stablehlo::AllGatherOp, stablehlo::AllReduceOp,
             stablehlo::AllToAllOp, stablehlo::AsyncDoneOp,
             stablehlo::AsyncStartOp, stablehlo::CollectiveBroadcastOp,
             stablehlo::CollectivePermuteOp, stablehlo::CollectiveReduceOp,
             stablehlo::CompositeOp, stablehlo::ReduceScatterOp>(op);
}

/// What an op does itself, its regions and callees aside.
static bool hasOwnEffects(Operation *op) {
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    return call.getHasSideEffect() && !isAnnotation(call);
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op))
    return !effects.hasNoEffect();
  return !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
         !op->hasTrait<OpTrait::IsTerminator>() && !isKnownToCompute(op);
}

static Operation *findInside(Operation *op,
                             function_ref<bool(Operation *)> isEffect) {
  if (op->getNumRegions() == 0)
    return isEffect(op) ? op : nullptr;
  Operation *found = nullptr;
  op->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    if (!isEffect(nested))
      return WalkResult::advance();
    found = nested;
    return WalkResult::interrupt();
  });
  return found;
}

Operation *mpmd::findEffect(Operation *op) {
  return findInside(op, hasOwnEffects);
}

bool mpmd::hasEffects(Operation *op) { return findEffect(op); }

/// A callback of JAX; those with `ordered=True` take and give a token.
static bool isUnorderedCallback(Operation *op) {
  auto call = dyn_cast<stablehlo::CustomCallOp>(op);
  if (!call)
    return false;
  StringRef target = call.getCallTargetName();
  return target.consume_front("xla_") && target.contains("python_") &&
         target.ends_with("_callback") &&
         llvm::none_of(op->getOperandTypes(),
                       llvm::IsaPred<stablehlo::TokenType>) &&
         llvm::none_of(op->getResultTypes(),
                       llvm::IsaPred<stablehlo::TokenType>);
}

bool mpmd::hasOrderedEffects(Operation *op) {
  return findInside(op, [](Operation *nested) {
    return hasOwnEffects(nested) && !isUnorderedCallback(nested);
  });
}

/// The function whose body an op runs; null if it runs none.
static FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (auto call = dyn_cast<CallOp>(op))
    return call.getCalleeAttr();
  if (auto call = dyn_cast<FragmentCallOp>(op))
    return call.getCalleeAttr();
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return composite.getDecompositionAttr();
  return {};
}

bool CalleeEffects::hasEffectsOfCallee(Operation *op) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(op, getCallee(op));
  if (!callee || callee.isDeclaration())
    return true; // Nothing is known of it.
  auto [it, isNew] = known.try_emplace(callee, true);
  if (!isNew)
    return it->second;
  bool result = llvm::any_of(callee.getBody().getOps(), [&](Operation &nested) {
    return hasEffects(&nested);
  });
  return known[callee] = result;
}

Operation *CalleeEffects::findEffect(Operation *op) {
  return findInside(op, [&](Operation *nested) {
    return getCallee(nested) ? hasEffectsOfCallee(nested)
                             : hasOwnEffects(nested);
  });
}
