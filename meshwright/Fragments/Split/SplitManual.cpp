//===- SplitManual.cpp - Halves of manual computations --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The backward of experts is one op, of which gradients of weights are results as well:
//
//   %d, %g = manual_computation(%x, %w) (%p, %q) {
//     %a = all_to_all %p
//     return all_to_all(dot(%a, %q)), dot(%a, %p)
//   }
//   // becomes, where only %d is early,
//   %d, %c = manual_computation(%x, %w) (%p, %q) {
//     %a = all_to_all %p
//     return all_to_all(dot(%a, %q)), %a
//   }
//   %g = manual_computation(%x, %c) (%p, %a) { return dot(%a, %p) }
//
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Split/SplitManual.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/IR/OutsideReads.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mpmd;
using sdy::ManualComputationOp;

namespace {
/// One manual computation and where to cut it.
class ManualSplitter {
public:
  ManualSplitter(ManualComputationOp op, const llvm::BitVector &early)
      : op(op), body(op.getBody().front()), early(early) {}

  /// Finds the halves; false if there are none.
  bool plan();
  /// Replaces the op by its halves, and returns the early one.
  ManualComputationOp split(RewriterBase &rewriter);

private:
  /// A value of the body and the tensor that its pieces make.
  struct Returned {
    Value piece;
    Type type;
    sdy::TensorShardingAttr sharding;
    bool isScalar = false; ///< A tensor of one element outside of the op.
  };

  void findEarlyOps();
  bool findCrossing();
  Returned describeCrossing(Value piece);
  ManualComputationOp makeHalf(ArrayRef<Operation *> ops,
                               ArrayRef<Returned> returned,
                               ArrayRef<std::pair<Returned, Value>> given,
                               RewriterBase &rewriter);

  ManualComputationOp op;
  Block &body;
  llvm::BitVector early; ///< Of the results.
  llvm::DenseSet<Operation *> earlyOps;
  SmallVector<Operation *> lateOps;
  SmallVector<Returned> crossing;
};
} // namespace

void ManualSplitter::findEarlyOps() {
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (early.test(i))
      values.push_back(value);
  addDependencies(std::move(values), earlyOps);
}

ManualSplitter::Returned ManualSplitter::describeCrossing(Value piece) {
  auto type = cast<RankedTensorType>(piece.getType());
  MLIRContext *context = op.getContext();
  sdy::TensorShardingAttr any = *op.getOutShardings().begin();
  sdy::MeshAttr mesh = any.getMesh(op);
  SmallVector<sdy::AxisRefAttr> axes;
  int64_t pieces = 1;
  for (StringAttr axis : op.getManualAxes()) {
    axes.push_back(sdy::AxisRefAttr::get(context, axis.getValue()));
    pieces *= axes.back().getSize(mesh);
  }
  // Axes that are free in the body may split the pieces further.
  bool isClosed = pieces == mesh.getTotalSize();
  SmallVector<int64_t> shape(type.getShape());
  if (shape.empty())
    shape.push_back(1);
  SmallVector<sdy::DimensionShardingAttr> dims(
      shape.size(), sdy::DimensionShardingAttr::get(context, {}, isClosed));
  dims[0] = sdy::DimensionShardingAttr::get(context, axes, isClosed);
  shape[0] *= pieces;
  return {
      piece, type.clone(shape),
      sdy::TensorShardingAttr::get(context, any.getMeshOrRef(), dims, {}, {}),
      type.getRank() == 0};
}

bool ManualSplitter::findCrossing() {
  SetVector<Value> pieces;
  for (Operation *late : lateOps)
    for (Value read : getOutsideReads(late))
      if (Operation *def = read.getDefiningOp();
          def && earlyOps.contains(def) && !isNegligibleOp(def))
        pieces.insert(read);
  for (Value piece : pieces) {
    auto type = dyn_cast<RankedTensorType>(piece.getType());
    if (!type || !type.hasStaticShape())
      return false;
    crossing.push_back(describeCrossing(piece));
  }
  return true;
}

bool ManualSplitter::plan() {
  findEarlyOps();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (Operation *def = value.getDefiningOp(); !def || earlyOps.contains(def))
      early.set(i);
  if (early.all())
    return false;
  for (Operation &each : body.without_terminator())
    if (!earlyOps.contains(&each))
      lateOps.push_back(&each);
  auto isProduct = llvm::IsaPred<stablehlo::DotGeneralOp, stablehlo::DotOp,
                                 stablehlo::ConvolutionOp>;
  return llvm::any_of(lateOps, isProduct) && findCrossing();
}

/// Makes a manual computation of some ops of the body. `given` are pieces that it takes
/// from outside, each with the tensor that they are of.
ManualComputationOp
ManualSplitter::makeHalf(ArrayRef<Operation *> ops, ArrayRef<Returned> returned,
                         ArrayRef<std::pair<Returned, Value>> given,
                         RewriterBase &rewriter) {
  SmallVector<Value> operands;
  SmallVector<sdy::TensorShardingAttr> inShardings, outShardings;
  SmallVector<Type> types;
  for (const Returned &each : returned) {
    types.push_back(each.type);
    outShardings.push_back(each.sharding);
  }
  Region region;
  Block &half = region.emplaceBlock();
  IRMapping map;
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToEnd(&half);
  auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    auto type = cast<RankedTensorType>(value.getType()).clone(shape);
    return stablehlo::ReshapeOp::create(builder, op.getLoc(), type, value);
  };
  for (const auto &[piece, whole] : given) {
    operands.push_back(whole);
    inShardings.push_back(piece.sharding);
    Type type = piece.piece.getType();
    if (piece.isScalar)
      type = cast<RankedTensorType>(type).clone(ArrayRef<int64_t>{1});
    Value argument = half.addArgument(type, op.getLoc());
    map.map(piece.piece, piece.isScalar ? reshape(argument, {}) : argument);
  }
  auto take = [&](Value value) {
    if (map.contains(value))
      return;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() != &body)
        return;
      unsigned index = argument.getArgNumber();
      operands.push_back(op.getOperand(index));
      inShardings.push_back(op.getInShardings().getShardings()[index]);
      map.map(value, half.addArgument(value.getType(), argument.getLoc()));
    } else {
      builder.clone(*value.getDefiningOp(), map);
    }
  };
  for (Operation *each : ops) {
    for (Value read : getOutsideReads(each))
      take(read);
    builder.clone(*each, map);
  }
  SmallVector<Value> values;
  for (const Returned &each : returned) {
    take(each.piece);
    Value value = map.lookup(each.piece);
    values.push_back(each.isScalar ? reshape(value, {1}) : value);
  }
  sdy::ReturnOp::create(builder, body.getTerminator()->getLoc(), values);
  MLIRContext *context = op.getContext();
  auto made = ManualComputationOp::create(
      rewriter, op.getLoc(), types, operands,
      sdy::TensorShardingPerValueAttr::get(context, inShardings),
      sdy::TensorShardingPerValueAttr::get(context, outShardings),
      op.getManualAxesAttr());
  made.getBody().takeBody(region);
  return made;
}

ManualComputationOp ManualSplitter::split(RewriterBase &rewriter) {
  rewriter.setInsertionPoint(op);
  SmallVector<Returned> first, second;
  SmallVector<Value> ofFirst, ofSecond;
  for (auto [result, value, sharding] :
       llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands(),
                       op.getOutShardings())) {
    bool isEarly = early.test(cast<OpResult>(result).getResultNumber());
    (isEarly ? first : second).push_back({value, result.getType(), sharding});
    (isEarly ? ofFirst : ofSecond).push_back(result);
  }
  size_t numFirst = first.size();
  first.append(crossing);
  SmallVector<Operation *> firstOps;
  for (Operation &each : body.without_terminator())
    if (earlyOps.contains(&each))
      firstOps.push_back(&each);
  ManualComputationOp firstHalf = makeHalf(firstOps, first, {}, rewriter);
  SmallVector<std::pair<Returned, Value>> given;
  for (auto [piece, whole] :
       llvm::zip_equal(crossing, firstHalf.getResults().drop_front(numFirst)))
    given.emplace_back(piece, whole);
  ManualComputationOp secondHalf = makeHalf(lateOps, second, given, rewriter);
  rewriter.replaceAllUsesWith(ofFirst,
                              firstHalf.getResults().take_front(numFirst));
  rewriter.replaceAllUsesWith(ofSecond, secondHalf.getResults());
  rewriter.eraseOp(op);
  return firstHalf;
}

unsigned mpmd::splitManualComputations(Block &body, const llvm::BitVector &late,
                                       RewriterBase &rewriter) {
  llvm::DenseSet<Value> needed;
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (!late.test(i))
      needed.insert(value);
  unsigned numSplit = 0;
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    llvm::BitVector early(op->getNumResults());
    for (OpResult result : op->getResults())
      if (needed.contains(result))
        early.set(result.getResultNumber());
    if (early.none())
      continue;
    auto manual = dyn_cast<ManualComputationOp>(op);
    if (manual && !early.all() && !hasEffects(op)) {
      ManualSplitter splitter(manual, early);
      if (splitter.plan()) {
        op = splitter.split(rewriter);
        ++numSplit;
      }
    }
    needed.insert_range(getOutsideReads(op));
  }
  return numSplit;
}
