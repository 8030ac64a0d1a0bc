//===- InferMeshConvertReduceOps.cpp --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Turns what was marked as a reduction across meshes into mpmd.reduce. A tree
// of sums of one kind becomes one reduce of its leaves:
//
//   %2 = stablehlo.add %0, %1 {mpmd.reduce = add}
//   %3 = stablehlo.add %2, %0 {mpmd.reduce = add}
//   // becomes
//   %3 = mpmd.reduce<add> %0, %1, %0
//
// This needs the user's consent: either the option, or an mpmd.reduce<none> to
// which the sum leads.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"

#define GEN_PASS_DEF_INFERMESHCONVERTREDUCEOPSPASS
#include "meshwright/Import/InferMesh/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

/// Marks ops that an mpmd.reduce<none> allows to become reductions.
static constexpr StringLiteral kCanConvertAttr = "mpmd.can_convert_to_reduce";

/// How many operands of reduces that have other readers one reduce takes over. It
/// computes them once more, and what then reads it twice does so once more.
/// DEPARTURE(repeated-operands): The reference has no limit, so that sums which are
/// read twice double from one to the next.
static constexpr unsigned kMaxRepeatedOperands = 16;

static bool isAllowed(Operation *op) { return op->hasAttr(kCanConvertAttr); }

static void allow(Operation *op) {
  op->setAttr(kCanConvertAttr, UnitAttr::get(op->getContext()));
}

/// Marks `root` and all ops of the same kind that feed it directly.
static void allowTree(Operation *root, ReductionType kind) {
  SmallVector<Operation *> worklist{root};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (isAllowed(op))
      continue;
    allow(op);
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && getReductionKind(producer) == kind)
        worklist.push_back(producer);
  }
}

/// Marks what the operand of an mpmd.reduce<none> is computed by, seen through
/// ops with one operand and one result.
static void allowReductionBehind(ReduceOp reduce,
                                 DenseSet<Operation *> &visited) {
  Operation *op = reduce->getOperand(0).getDefiningOp();
  while (op && op->getNumOperands() == 1 && op->getNumResults() == 1) {
    if (!visited.insert(op).second)
      return;
    op = op->getOperand(0).getDefiningOp();
  }
  if (!op)
    return;
  if (std::optional<ReductionType> kind = getReductionKind(op))
    return allowTree(op, *kind);
  auto reduceOp = dyn_cast<stablehlo::ReduceOp>(op);
  if (reduceOp && getConcatOfPieces(reduceOp) && getBodyReductionKind(reduceOp))
    allow(reduceOp);
}

namespace {
class Conversion {
public:
  Conversion(MLIRContext *context, bool convertAll, bool keepInitValues)
      : rewriter(context), convertAll(convertAll),
        keepInitValues(keepInitValues) {}

  void visitRegions(Operation *op);
  unsigned getNumReduces() const { return numReduces; }

private:
  bool isConvertible(Operation *op) const;
  void convertBinaryOp(Operation *op, ReductionType kind);
  void convertConcatAndReduce(stablehlo::ReduceOp reduce, ReductionType kind);
  bool isInnerOp(Operation *op, ReductionType kind) const;
  SmallVector<Value> collectLeaves(Operation *root, ReductionType kind);
  Value broadcastInit(Value init, RankedTensorType type, Location loc);
  ReduceOp createReduce(Operation *op, ReductionType kind,
                        ArrayRef<Value> values);

  IRRewriter rewriter;
  bool convertAll, keepInitValues;
  unsigned numReduces = 0;
  /// Ops that become part of the reduce of their only user; dead by then.
  DenseSet<Operation *> deferred;
  SmallVector<Operation *> toErase;
};
} // namespace

/// Whether a reduce can replace `op`: its operands have one type, where sums may
/// mix encodings and quantized types.
static bool hasOneType(Operation *op) {
  if (isa<stablehlo::ReduceOp>(op))
    return true; // What it has are pieces of an operand.
  auto getKind = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return std::pair(getElementTypeOrSelf(type),
                     tensor ? tensor.getEncoding() : Attribute());
  };
  return llvm::all_of(op->getOperandTypes(), [&](Type type) {
    return getKind(type) == getKind(op->getResult(0).getType());
  });
}

bool Conversion::isConvertible(Operation *op) const {
  return isMeshlessOp(op) && getMarkedReduction(op) &&
         (convertAll || isAllowed(op)) && hasOneType(op);
}

void Conversion::visitRegions(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &child : llvm::make_early_inc_range(block)) {
        if (isa<FragmentOp>(child))
          continue;
        if (!isConvertible(&child)) {
          // A loop or branch of StableHLO runs on one mesh as a whole, its sums too.
          if (isa<ForOp>(child))
            visitRegions(&child);
          continue;
        }
        ReductionType kind = *getMarkedReduction(&child);
        auto reduce = dyn_cast<stablehlo::ReduceOp>(child);
        if (reduce && getBodyReductionKind(reduce) == kind)
          convertConcatAndReduce(reduce, kind);
        else if (getReductionKind(&child) == kind)
          convertBinaryOp(&child, kind);
      }
}

/// Whether `op` only serves a reduction of the same kind that follows, whose
/// reduce then gets its operands. Waiting for that one, instead of making a
/// reduce that is erased again, keeps long sums linear.
bool Conversion::isInnerOp(Operation *op, ReductionType kind) const {
  if (!op->hasOneUse())
    return false;
  Operation *user = *op->user_begin();
  return user->getBlock() == op->getBlock() && isConvertible(user) &&
         getMarkedReduction(user) == kind && getReductionKind(user) == kind;
}

/// The operands of the tree of deferred ops below `root`, from left to right.
SmallVector<Value> Conversion::collectLeaves(Operation *root,
                                             ReductionType kind) {
  SmallVector<Value> leaves;
  unsigned numRepeated = 0;
  auto reversed = llvm::reverse(root->getOperands());
  SmallVector<Value> stack(reversed.begin(), reversed.end());
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation *producer = value.getDefiningOp();
    if (producer && deferred.contains(producer)) {
      llvm::append_range(stack, llvm::reverse(producer->getOperands()));
      toErase.push_back(producer);
      continue;
    }
    auto inner = dyn_cast_or_null<ReduceOp>(producer);
    bool isReplaceable = inner && inner.getReduction() == kind;
    if (isReplaceable && inner->hasOneUse())
      toErase.push_back(inner);
    else if (isReplaceable)
      isReplaceable =
          (numRepeated += inner->getNumOperands()) <= kMaxRepeatedOperands;
    if (isReplaceable)
      llvm::append_range(leaves, inner->getOperands());
    else
      leaves.push_back(value);
  }
  return leaves;
}

ReduceOp Conversion::createReduce(Operation *op, ReductionType kind,
                                  ArrayRef<Value> values) {
  ++numReduces;
  auto reduce = ReduceOp::create(rewriter, op->getLoc(),
                                 op->getResult(0).getType(), values, kind);
  setMeshSet(reduce, kSrcSetAttr, getMeshSet(op, kSrcSetAttr));
  return reduce;
}

void Conversion::convertBinaryOp(Operation *op, ReductionType kind) {
  if (isInnerOp(op, kind)) {
    deferred.insert(op);
    return;
  }
  rewriter.setInsertionPoint(op);
  SmallVector<Value> leaves = collectLeaves(op, kind);
  rewriter.replaceOp(op, createReduce(op, kind, leaves));
  // Users come before producers in this list.
  for (Operation *dead : toErase) {
    deferred.erase(dead);
    rewriter.eraseOp(dead);
  }
  toErase.clear();
}

/// Makes `op`, which reads only `value`, available where `value` is.
static void copySources(Value value, Operation *op) {
  if (Operation *producer = value.getDefiningOp())
    setMeshSet(op, kSrcSetAttr, getMeshSet(producer, kSrcSetAttr));
}

/// What is said of a piece holds for its reshape, unless it speaks of dimensions.
static void copyAttributes(Operation *producer, stablehlo::ReshapeOp reshape) {
  for (NamedAttribute attr : producer->getDiscardableAttrs())
    if (!isa_and_nonnull<sdy::SdyDialect>(attr.getNameDialect()))
      reshape->setDiscardableAttr(attr.getName(), attr.getValue());
}

/// The init value as one more piece.
Value Conversion::broadcastInit(Value init, RankedTensorType type,
                                Location loc) {
  if (init.getType() == type)
    return init;
  auto broadcast = stablehlo::BroadcastInDimOp::create(
      rewriter, loc, type, init, rewriter.getDenseI64ArrayAttr({}));
  copySources(init, broadcast);
  return broadcast;
}

void Conversion::convertConcatAndReduce(stablehlo::ReduceOp reduce,
                                        ReductionType kind) {
  stablehlo::ConcatenateOp concat = getConcatOfPieces(reduce);
  auto type = dyn_cast<RankedTensorType>(reduce->getResult(0).getType());
  auto isReshapable = [&](Type piece) {
    auto from = dyn_cast<RankedTensorType>(piece);
    return from && type && from.hasStaticShape() && type.hasStaticShape() &&
           from.getElementType() == type.getElementType();
  };
  Value init = reduce.getInitValues().front();
  if (!concat || !isReshapable(concat->getOperand(0).getType()) ||
      (keepInitValues && getElementTypeOrSelf(init) != type.getElementType()))
    return;
  rewriter.setInsertionPoint(reduce);
  SmallVector<Value> pieces;
  for (Value piece : concat->getOperands()) {
    auto reshape =
        stablehlo::ReshapeOp::create(rewriter, concat.getLoc(), type, piece);
    if (Operation *producer = piece.getDefiningOp())
      copyAttributes(producer, reshape);
    pieces.push_back(reshape);
  }
  // DEPARTURE(reduction-init): The reference drops the init value, whatever it
  // is.
  if (keepInitValues && !isIdentity(init, kind))
    pieces.push_back(broadcastInit(init, type, reduce.getLoc()));
  rewriter.replaceOp(reduce, createReduce(reduce, kind, pieces));
  rewriter.eraseOp(concat);
}

namespace {
struct InferMeshConvertReduceOpsPass
    : mpmd::impl::InferMeshConvertReduceOpsPassBase<
          InferMeshConvertReduceOpsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    DenseSet<Operation *> visited; // Membership only.
    func.walk([&](ReduceOp reduce) {
      if (reduce.getReduction() == ReductionType::None)
        allowReductionBehind(reduce, visited);
    });
    Conversion conversion(&getContext(), inferCrossMeshReductions,
                          keepInitValues);
    conversion.visitRegions(func);
    numReduces += conversion.getNumReduces();
    func.walk([](Operation *op) { op->removeAttr(kCanConvertAttr); });
  }
};
} // namespace
