//===- SplitFragment.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
//   %r:2 = fragment (%x) { e = early(%x); l = late(e); return l, e }
//   // becomes
//   %k:2 = fragment (%x)       { e = early(%x); return e, e }  keep_transferred
//   %d   = fragment (%x, %k#1) { l = late(%k#1); return l }    drop_transferred
//
// The values that cross the cut are the *residuals*. Their order decides the
// operand order of the late half for good, since no later pass sorts operands.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Split/SplitFragment.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

bool mlir::mpmd::isSplitFragment(FragmentOp fragment) {
  return fragment->hasAttr(kSplitKeepTransferredAttr) ||
         fragment->hasAttr(kSplitDropTransferredAttr);
}

BitVector mlir::mpmd::findUntransferredResults(FragmentOp fragment) {
  BitVector untransferred(fragment->getNumResults());
  for (OpResult result : fragment->getResults())
    if (llvm::none_of(result.getUsers(), llvm::IsaPred<TransferOp>))
      untransferred.set(result.getResultNumber());
  return untransferred;
}

bool mlir::mpmd::hasTwoHalves(FragmentOp fragment) {
  BitVector untransferred = findUntransferredResults(fragment);
  return untransferred.any() && !untransferred.all();
}

LogicalResult mlir::mpmd::verifyNotYetSharded(FragmentOp fragment) {
  if (!fragment.getInShardingsAttr() && !fragment.getOutShardingsAttr())
    return success();
  return fragment.emitError()
         << "fragment to split already has shardings; split fragments before "
            "sharding propagation";
}

static Block &getBody(FragmentOp fragment) {
  return fragment.getRegion().front();
}

static bool isResidual(Value value, const FragmentCut &cut) {
  return isa<BlockArgument>(value) ||
         cut.earlyOps.contains(value.getDefiningOp());
}

/// The values that the late half takes from the early one, in the order in
/// which a depth-first walk from the late results meets them, last operand
/// first.
static SetVector<Value> findResiduals(FragmentOp fragment,
                                      const FragmentCut &cut) {
  Block &body = getBody(fragment);
  SmallVector<Value> stack;
  for (unsigned i : cut.lateResults.set_bits())
    stack.push_back(body.getTerminator()->getOperand(i));

  SetVector<Value> residuals;
  // Exploring an op a second time would find nothing new.
  DenseSet<Operation *> explored;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (isResidual(value, cut)) {
      residuals.insert(value);
    } else if (explored.insert(value.getDefiningOp()).second) {
      SetVector<Value> operands = getOutsideReads(value.getDefiningOp());
      stack.append(operands.begin(), operands.end());
    }
  }

  // Ops that feed no late result go to the late half all the same, as they may
  // have side effects, and take along what they read of the early half.
  for (Operation &op : body.without_terminator()) {
    if (cut.earlyOps.contains(&op) || explored.contains(&op))
      continue;
    for (Value value : getOutsideReads(&op))
      if (cut.earlyOps.contains(value.getDefiningOp()))
        residuals.insert(value);
  }
  return residuals;
}

/// The type in which `value` of a body on `meshName` leaves its fragment; null
/// if it cannot.
static Type getResidualType(Value value, StringRef meshName) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return MeshTensorType::get(value.getContext(), meshName, type);
  if (isa<stablehlo::TokenType>(value.getType()))
    return value.getType();
  return {};
}

/// Creates a fragment like `fragment`, with an unfilled body that has one
/// argument per argument of the original, mapped in `mapping`.
static FragmentOp createHalf(FragmentOp fragment, TypeRange resultTypes,
                             ValueRange operands, StringRef mark,
                             IRMapping &mapping, RewriterBase &rewriter) {
  auto half = FragmentOp::create(rewriter, fragment.getLoc(), resultTypes,
                                 operands, fragment->getAttrs());
  half->setAttr(mark, rewriter.getUnitAttr());
  dropArgAttrs(half, BitVector(fragment->getNumOperands()));
  Block &body = half.getRegion().emplaceBlock();
  for (BlockArgument arg : getBody(fragment).getArguments())
    mapping.map(arg, body.addArgument(arg.getType(), arg.getLoc()));
  return half;
}

static FragmentOp createEarlyHalf(FragmentOp fragment, const FragmentCut &cut,
                                  ValueRange residuals, TypeRange residualTypes,
                                  RewriterBase &rewriter) {
  Block &body = getBody(fragment);
  SmallVector<Type> types;
  SmallVector<Value> returned;
  for (auto [i, type] : llvm::enumerate(fragment->getResultTypes()))
    if (!cut.lateResults.test(i)) {
      types.push_back(type);
      returned.push_back(body.getTerminator()->getOperand(i));
    }
  llvm::append_range(types, residualTypes);
  llvm::append_range(returned, residuals);

  IRMapping mapping;
  FragmentOp half = createHalf(fragment, types, fragment->getOperands(),
                               kSplitKeepTransferredAttr, mapping, rewriter);
  dropResAttrs(half, cut.lateResults);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(&getBody(half));
  for (Operation &op : body.without_terminator())
    if (cut.earlyOps.contains(&op))
      rewriter.clone(op, mapping);
  auto mapped = llvm::map_to_vector(
      returned, [&](Value value) { return mapping.lookup(value); });
  mpmd::ReturnOp::create(rewriter, body.getTerminator()->getLoc(), mapped);
  return half;
}

static FragmentOp createLateHalf(FragmentOp fragment, const FragmentCut &cut,
                                 ValueRange residuals,
                                 ValueRange residualOperands,
                                 RewriterBase &rewriter) {
  Block &body = getBody(fragment);
  SmallVector<Value> operands(fragment->getOperands());
  llvm::append_range(operands, residualOperands);
  SmallVector<Type> types;
  SmallVector<Value> returned;
  for (unsigned i : cut.lateResults.set_bits()) {
    types.push_back(fragment->getResult(i).getType());
    returned.push_back(body.getTerminator()->getOperand(i));
  }

  IRMapping mapping;
  FragmentOp half = createHalf(fragment, types, operands,
                               kSplitDropTransferredAttr, mapping, rewriter);
  BitVector earlyResults(cut.lateResults);
  dropResAttrs(half, earlyResults.flip());
  for (Value residual : residuals)
    mapping.map(residual, getBody(half).addArgument(residual.getType(),
                                                    residual.getLoc()));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToEnd(&getBody(half));
  for (Operation &op : body.without_terminator())
    if (!cut.earlyOps.contains(&op))
      rewriter.clone(op, mapping);
  auto mapped = llvm::map_to_vector(
      returned, [&](Value value) { return mapping.lookup(value); });
  mpmd::ReturnOp::create(rewriter, body.getTerminator()->getLoc(), mapped);
  return half;
}

bool mlir::mpmd::splitFragment(FragmentOp fragment, const FragmentCut &cut,
                               RewriterBase &rewriter) {
  // As jaxlib's partitioner, which counts the ops of the block around it alone.
  size_t earlyAndEnd = cut.earlyOps.size() + 1;
  if (llvm::hasNItems(getBody(fragment), earlyAndEnd) &&
      llvm::hasNItems(*fragment->getBlock(), earlyAndEnd))
    return false;
  SetVector<Value> residuals = findResiduals(fragment, cut);
  auto residualTypes = llvm::map_to_vector(residuals, [&](Value value) {
    return getResidualType(value, fragment.getMeshName());
  });
  if (llvm::is_contained(residualTypes, Type()))
    return false;

  rewriter.setInsertionPoint(fragment);
  FragmentOp early = createEarlyHalf(fragment, cut, residuals.getArrayRef(),
                                     residualTypes, rewriter);
  ResultRange crossing = early->getResults().take_back(residuals.size());
  FragmentOp late = createLateHalf(fragment, cut, residuals.getArrayRef(),
                                   crossing, rewriter);

  SmallVector<Value> results;
  unsigned nextEarly = 0, nextLate = 0;
  for (unsigned i = 0, e = fragment->getNumResults(); i != e; ++i)
    results.push_back(cut.lateResults.test(i) ? late->getResult(nextLate++)
                                              : early->getResult(nextEarly++));
  rewriter.replaceOp(fragment, results);
  return true;
}
