//===- DeferReductions.cpp - Reduce a sum of partial sums once ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The gradient of a replicated weight is summed over the devices that split the
// batch, in every microbatch, and then over the microbatches. The sums over
// devices can wait: partial sums are kept in a leading dimension that these
// devices split, and added once, where something else reads the outcome.
//
//   f1(%x, %d) { %g = dot %x, %d; return %g }          // all-reduce
//   f2(%x, %d, %a) { %g = dot %x, %d; return %a + %g } // all-reduce
//   f3(%w, %s) { return %w - %s }
//
//   f1(%x, %d) { %g = dot %x', %d'; return %g }          // 2x... {"data"}
//   f2(%x, %d, %a) { %g = dot %x', %d'; return %a + %g } // 2x... {"data"}
//   f3(%w, %s) { %r = reduce %s over [0]; return %w - %r } // all-reduce
//
// %x' is %x with its contracted dimension as two, the outer one batched.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Sharding/PartialSums.h"
#include "meshwright/Sharding/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "defer-reductions"

namespace mlir::mpmd {
#define GEN_PASS_DEF_DEFERREDUCTIONSPASS
#include "meshwright/Sharding/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::DimensionShardingAttr;
using sdy::TensorShardingAttr;

static RankedTensorType prepend(int64_t size, RankedTensorType type) {
  SmallVector<int64_t> shape = {size};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

static SmallVector<int64_t> shiftBehindFirst(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shifted = {0};
  for (int64_t dim : dims)
    shifted.push_back(dim + 1);
  return shifted;
}

/// A dimension without what the axes of `taken` already split.
static DimensionShardingAttr without(DimensionShardingAttr dim,
                                     DimensionShardingAttr taken) {
  SmallVector<AxisRefAttr> kept;
  for (AxisRefAttr axis : dim.getAxes())
    if (llvm::none_of(taken.getAxes(), [&](AxisRefAttr other) {
          return other.getName() == axis.getName();
        }))
      kept.push_back(axis);
  return DimensionShardingAttr::get(dim.getContext(), kept, /*isClosed=*/true);
}

/// Makes each element of `value` an element of a tensor of type `type`; all of
/// them are one number.
static Value spread(Value value, RankedTensorType type, OpBuilder &builder) {
  if (Attribute number = getSplatNumber(value))
    return stablehlo::ConstantOp::create(builder, value.getLoc(),
                                         DenseElementsAttr::get(type, number));
  if (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    if (cast<RankedTensorType>(value.getType()).getRank() > 0)
      return spread(broadcast.getOperand(), type, builder);
  return stablehlo::BroadcastInDimOp::create(
      builder, value.getLoc(), type, value, builder.getDenseI64ArrayAttr({}));
}

static Value createZero(Location loc, RankedTensorType type,
                        OpBuilder &builder) {
  return stablehlo::ConstantOp::create(
      builder, loc, cast<ElementsAttr>(builder.getZeroAttr(type)));
}

/// Makes two dimensions of dimension `dim`, of which the axes split the outer
/// one, of size `pieces`.
static Value splitDimension(Value value, int64_t dim, int64_t pieces,
                            DimensionShardingAttr axes, Attribute mesh,
                            OpBuilder &builder) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= pieces;
  shape.insert(shape.begin() + dim, pieces);
  auto inner = DimensionShardingAttr::get(type.getContext(), {}, true);
  SmallVector<DimensionShardingAttr> dims(type.getRank(), inner);
  if (TensorShardingAttr whole = sdy::getSharding(value))
    for (auto [to, from] : llvm::zip(dims, whole.getDimShardings()))
      to = without(from, axes);
  dims.insert(dims.begin() + dim, axes);
  auto split = stablehlo::ReshapeOp::create(builder, value.getLoc(),
                                            type.clone(shape), value);
  sdy::setSharding(split.getResult(),
                   TensorShardingAttr::get(type.getContext(), mesh, dims, {},
                                           {}, sdy::ReductionKind::Sum));
  return split;
}

/// Moves dimension `dim` to the front, with its sharding.
static Value moveToFront(Value value, int64_t dim, OpBuilder &builder) {
  if (dim == 0)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> order = {dim};
  for (int64_t other = 0; other < type.getRank(); ++other)
    if (other != dim)
      order.push_back(other);
  auto permute = [&](auto list) {
    return llvm::map_to_vector(order, [&](int64_t from) { return list[from]; });
  };
  auto moved = stablehlo::TransposeOp::create(
      builder, value.getLoc(), type.clone(permute(type.getShape())), value,
      builder.getDenseI64ArrayAttr(order));
  TensorShardingAttr sharding = sdy::getSharding(value);
  sdy::setSharding(moved.getResult(), sharding.replaceDimShardings(
                                          permute(sharding.getDimShardings())));
  return moved;
}

namespace {
/// Keeps partial sums where the analysis allows it. Types and attributes change
/// in place, so that the analysis stays valid.
class Deferral {
public:
  explicit Deferral(func::FuncOp func) : sums(func), func(func) {}

  void run();
  int64_t getNumDeferred() const { return numDeferred; }
  int64_t getNumReduced() const { return numReduced; }
  ArrayRef<PartialSums::Refusal> getRefusals() const {
    return sums.getRefusals();
  }

private:
  void rewrite(FragmentOp fragment);
  void rewrite(Operation *op);
  void split(Operation *op, const SplitDimension &dim, OpBuilder &builder);
  /// Adds the partial sums of a value for all that reads the sum.
  void reduceForOthers(Value value, TensorShardingAttr whole,
                       OpBuilder &builder);
  RankedTensorType getStackedType(Value value) const;
  TensorShardingAttr getStackedSharding(Value value,
                                        TensorShardingAttr whole) const;

  PartialSums sums;
  func::FuncOp func;
  Attribute mesh; ///< Of the shardings of the current fragment.
  int64_t numDeferred = 0;
  int64_t numReduced = 0;
};
} // namespace

RankedTensorType Deferral::getStackedType(Value value) const {
  return prepend(sums.getNumPieces(value),
                 cast<RankedTensorType>(getGlobalType(value.getType())));
}

TensorShardingAttr
Deferral::getStackedSharding(Value value, TensorShardingAttr whole) const {
  DimensionShardingAttr axes = sums.getAxes(value);
  SmallVector<DimensionShardingAttr> dims(
      cast<RankedTensorType>(getGlobalType(value.getType())).getRank() + 1,
      DimensionShardingAttr::get(value.getContext(), {}, /*isClosed=*/true));
  if (whole)
    for (auto [to, from] :
         llvm::zip(llvm::drop_begin(dims), whole.getDimShardings()))
      to = without(from, axes);
  dims.front() = axes;
  return TensorShardingAttr::get(value.getContext(),
                                 whole ? whole.getMeshOrRef() : mesh, dims, {},
                                 {}, sdy::ReductionKind::Sum);
}

void Deferral::run() {
  for (FragmentOp fragment : func.getOps<FragmentOp>())
    rewrite(fragment);
}

void Deferral::reduceForOthers(Value value, TensorShardingAttr whole,
                               OpBuilder &builder) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (!sums.takesPartial(use))
      uses.push_back(&use);
  if (uses.empty())
    return;
  ++numReduced;
  Location loc = value.getLoc();
  auto stacked = cast<RankedTensorType>(value.getType());
  RankedTensorType type = stacked.clone(stacked.getShape().drop_front());
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = createZero(loc, scalar, builder);
  auto sum = stablehlo::ReduceOp::create(builder, loc, TypeRange(type), value,
                                         zero, builder.getDenseI64ArrayAttr(0));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body =
        builder.createBlock(&sum.getBody(), {}, {scalar, scalar}, {loc, loc});
    auto added = stablehlo::AddOp::create(builder, loc, body->getArgument(0),
                                          body->getArgument(1));
    stablehlo::ReturnOp::create(builder, loc, added->getResults());
  }
  sdy::setSharding(sum->getResult(0), whole);
  for (OpOperand *use : uses)
    use->set(sum->getResult(0));
}

/// Lets a dot product or a sum leave its partial sums as they are.
void Deferral::split(Operation *op, const SplitDimension &dim,
                     OpBuilder &builder) {
  ++numDeferred;
  DimensionShardingAttr axes = sums.getAxes(op->getResult(0));
  auto splitOperand = [&](unsigned index, int64_t at) {
    return splitDimension(op->getOperand(index), at, dim.pieces, axes, mesh,
                          builder);
  };
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    op->setOperand(0,
                   moveToFront(splitOperand(0, dim.input), dim.input, builder));
    // All dimensions are one further behind now.
    SmallVector<int64_t> dims = llvm::map_to_vector(
        reduce.getDimensions(), [](int64_t from) { return from + 1; });
    reduce.setDimensions(dims);
    return;
  }
  auto dot = cast<stablehlo::DotGeneralOp>(op);
  op->setOperand(0, splitOperand(0, dim.input));
  op->setOperand(1, splitOperand(1, dim.other));
  auto move = [](ArrayRef<int64_t> dims, int64_t at) {
    return llvm::map_to_vector(
        dims, [at](int64_t from) { return from >= at ? from + 1 : from; });
  };
  auto batch = [&](ArrayRef<int64_t> dims, int64_t at) {
    SmallVector<int64_t> all = {at};
    llvm::append_range(all, move(dims, at));
    return all;
  };
  auto numbers = dot.getDotDimensionNumbers();
  dot.setDotDimensionNumbersAttr(stablehlo::DotDimensionNumbersAttr::get(
      op->getContext(), batch(numbers.getLhsBatchingDimensions(), dim.input),
      batch(numbers.getRhsBatchingDimensions(), dim.other),
      move(numbers.getLhsContractingDimensions(), dim.input),
      move(numbers.getRhsContractingDimensions(), dim.other)));
}

void Deferral::rewrite(Operation *op) {
  if (op->getNumResults() != 1 || !sums.isPartial(op->getResult(0)))
    return;
  Value result = op->getResult(0);
  TensorShardingAttr whole = sdy::getSharding(result);
  RankedTensorType type = getStackedType(result);
  TensorShardingAttr stacked = getStackedSharding(result, whole);
  OpBuilder builder(op);
  if (llvm::none_of(op->getOperands(),
                    [&](Value value) { return sums.isPartial(value); })) {
    split(op, *findSplitContraction(op), builder);
  } else if (isa<stablehlo::AddOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (!sums.isPartial(operand.get()))
        operand.set(createZero(op->getLoc(), type, builder));
  } else if (isa<stablehlo::MultiplyOp, stablehlo::DivideOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      if (!sums.isPartial(operand.get()))
        operand.set(spread(operand.get(), type, builder));
  } else if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    transpose.setPermutation(shiftBehindFirst(transpose.getPermutation()));
  } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    broadcast.setBroadcastDimensions(
        shiftBehindFirst(broadcast.getBroadcastDimensions()));
  } else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    reduce.setDimensions(
        ArrayRef(shiftBehindFirst(reduce.getDimensions())).drop_front());
  }
  result.setType(type);
  op->removeAttr(sdy::kShardingRuleAttr);
  sdy::setSharding(result, stacked);
  builder.setInsertionPointAfter(op);
  reduceForOthers(result, whole, builder);
}

void Deferral::rewrite(FragmentOp fragment) {
  Block *body = fragment.getBody();
  mesh = FlatSymbolRefAttr();
  for (auto list :
       {fragment.getInShardingsAttr(), fragment.getOutShardingsAttr()})
    if (list && !list.empty())
      mesh = list.getShardings().front().getMeshOrRef();

  OpBuilder builder = OpBuilder::atBlockBegin(body);
  SmallVector<Operation *> ops = llvm::map_to_vector(
      body->without_terminator(), [](Operation &op) { return &op; });
  for (BlockArgument arg : body->getArguments()) {
    if (!sums.isPartial(arg))
      continue;
    TensorShardingAttr whole = fragment.getInputSharding(arg.getArgNumber());
    TensorShardingAttr stacked = getStackedSharding(arg, whole);
    arg.setType(getStackedType(arg));
    fragment.setInputSharding(arg.getArgNumber(), stacked);
    reduceForOthers(arg, whole, builder);
  }
  for (Operation *op : ops)
    rewrite(op);

  builder.setInsertionPoint(body->getTerminator());
  for (OpResult result : fragment->getOpResults()) {
    if (!sums.isPartial(result))
      continue;
    OpOperand &returned =
        body->getTerminator()->getOpOperand(result.getResultNumber());
    RankedTensorType type = getStackedType(result);
    TensorShardingAttr stacked = getStackedSharding(
        result, fragment.getOutputSharding(result.getResultNumber()));
    if (!sums.isPartial(returned.get())) {
      returned.set(createZero(fragment.getLoc(), type, builder));
      sdy::setSharding(returned.get(), stacked);
    }
    result.setType(
        MeshTensorType::get(result.getContext(), fragment.getMeshName(), type));
    fragment.setOutputSharding(result.getResultNumber(), stacked);
  }
}

static void remarkOn(const Deferral &deferral, func::FuncOp func) {
  if (!func.getContext()->getRemarkEngine())
    return;
  if (deferral.getNumDeferred())
    remark::passed(func.getLoc(),
                   remark::RemarkOpts::name("deferred").category(DEBUG_TYPE))
        << remark::metric("Reductions", deferral.getNumDeferred())
        << remark::metric("ReductionsLeft", deferral.getNumReduced());
  for (PartialSums::Refusal refusal : deferral.getRefusals())
    remark::missed(
        refusal.reduction->getLoc(),
        remark::RemarkOpts::name("not deferred").category(DEBUG_TYPE))
        << llvm::formatv("the partial sums of {0} are reduced at once: {1} "
                         "reads the sum, and waiting would save nothing",
                         refusal.reduction->getName(),
                         refusal.reader->getName())
               .str();
}

namespace {
struct DeferReductionsPass
    : mpmd::impl::DeferReductionsPassBase<DeferReductionsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!isMpmdFunction(func))
      return markAllAnalysesPreserved();
    Deferral deferral(func);
    deferral.run();
    reductionsDeferred += deferral.getNumDeferred();
    reductionsLeft += deferral.getNumReduced();
    remarkOn(deferral, func);
  }
};
} // namespace
