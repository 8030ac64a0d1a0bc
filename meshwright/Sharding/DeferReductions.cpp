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

#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Sharding/PartialSums.h"
#include "meshwright/Sharding/SplitContraction.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

static constexpr llvm::StringLiteral kDeferredRemarks = "defer-reductions";

#define GEN_PASS_DEF_DEFERREDUCTIONSPASS
#include "meshwright/Sharding/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::DimensionShardingAttr;
using sdy::TensorShardingAttr;

static SmallVector<int64_t> prepend(int64_t first, ArrayRef<int64_t> others) {
  SmallVector<int64_t> all = {first};
  llvm::append_range(all, others);
  return all;
}

static RankedTensorType prepend(int64_t size, RankedTensorType type) {
  return type.clone(prepend(size, type.getShape()));
}

static SmallVector<int64_t> shiftBehindFirst(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shifted = {0};
  for (int64_t dim : dims)
    shifted.push_back(dim + 1);
  return shifted;
}

/// Makes each element of `value` an element of a tensor of type `type`; all of
/// them are one number.
static Value broadcastTo(Value value, RankedTensorType type,
                         OpBuilder &builder) {
  if (Attribute number = getSplatNumber(value))
    return stablehlo::ConstantOp::create(builder, value.getLoc(),
                                         DenseElementsAttr::get(type, number));
  if (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    if (cast<RankedTensorType>(value.getType()).getRank() > 0)
      return broadcastTo(broadcast.getOperand(), type, builder);
  return stablehlo::BroadcastInDimOp::create(
      builder, value.getLoc(), type, value, builder.getDenseI64ArrayAttr({}));
}

/// Makes `value` the same for each part of a tensor of the given shape.
static Value repeatFor(Value value, RankedTensorType stacked,
                       OpBuilder &builder) {
  auto type = cast<RankedTensorType>(value.getType());
  auto dims = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank() + 1));
  return stablehlo::BroadcastInDimOp::create(
      builder, value.getLoc(), stacked.clone(type.getElementType()), value,
      builder.getDenseI64ArrayAttr(dims));
}

static Value createZero(Location loc, RankedTensorType type,
                        OpBuilder &builder) {
  return stablehlo::ConstantOp::create(builder, loc, getZeros(type));
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
  /// Lets an elementwise op or a concatenation compute all pieces, like its result.
  void widenOperands(Operation *op, RankedTensorType type,
                     TensorShardingAttr stacked, OpBuilder &builder);
  /// Adds the partial sums of a value for all that reads the sum.
  void reduceForOthers(Value value, TensorShardingAttr whole,
                       OpBuilder &builder);
  RankedTensorType getStackedType(Value value) const;
  TensorShardingAttr getStackedSharding(Value value,
                                        TensorShardingAttr whole) const;

  PartialSums sums;
  func::FuncOp func;
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
  auto type = cast<RankedTensorType>(getGlobalType(value.getType()));
  return insertDim(whole, type.getRank(), /*at=*/0, sums.getAxes(value),
                   sums.getMesh(value));
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

void Deferral::widenOperands(Operation *op, RankedTensorType type,
                             TensorShardingAttr stacked, OpBuilder &builder) {
  auto repeat = [&](OpOperand &operand) {
    operand.set(repeatFor(operand.get(), type, builder));
    sdy::setSharding(operand.get(), stacked);
  };
  MutableArrayRef<OpOperand> operands = op->getOpOperands();
  bool isSelect = isa<stablehlo::SelectOp>(op);
  for (OpOperand &operand : operands.drop_front(isSelect ? 1 : 0)) {
    if (sums.isPartial(operand.get()))
      continue;
    auto old = cast<RankedTensorType>(operand.get().getType());
    if (!isa<stablehlo::MultiplyOp, stablehlo::DivideOp>(op))
      // What is whole here is zero.
      operand.set(
          createZero(op->getLoc(), prepend(type.getDimSize(0), old), builder));
    else if (isUniformValue(operand.get()))
      operand.set(broadcastTo(operand.get(), type, builder));
    else
      repeat(operand);
  }
  if (isSelect &&
      cast<RankedTensorType>(operands[0].get().getType()).getRank() > 0)
    repeat(operands[0]);
}

/// Adds the first dimension, that of the pieces, to what an op says of the dimensions
/// of its operand.
static void shiftDims(Operation *op, int64_t numPieces, OpBuilder &builder) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([](stablehlo::ConcatenateOp join) {
        join.setDimension(join.getDimension() + 1);
      })
      .Case([](stablehlo::TransposeOp transpose) {
        transpose.setPermutation(shiftBehindFirst(transpose.getPermutation()));
      })
      .Case([](stablehlo::BroadcastInDimOp broadcast) {
        broadcast.setBroadcastDimensions(
            shiftBehindFirst(broadcast.getBroadcastDimensions()));
      })
      .Case([](stablehlo::ReduceOp reduce) {
        reduce.setDimensions(
            ArrayRef(shiftBehindFirst(reduce.getDimensions())).drop_front());
      })
      .Case([&](stablehlo::SliceOp slice) {
        slice.setStartIndices(prepend(0, slice.getStartIndices()));
        slice.setLimitIndices(prepend(numPieces, slice.getLimitIndices()));
        slice.setStrides(prepend(1, slice.getStrides()));
      })
      .Case([&](stablehlo::DynamicSliceOp slice) {
        slice.setSliceSizes(prepend(numPieces, slice.getSliceSizes()));
        auto index = RankedTensorType::get({}, builder.getI32Type());
        if (ValueRange indices = slice.getStartIndices(); !indices.empty())
          index = cast<RankedTensorType>(indices.front().getType());
        slice->insertOperands(1, createZero(slice.getLoc(), index, builder));
      })
      .Case([](stablehlo::PadOp pad) {
        pad.setEdgePaddingLow(prepend(0, pad.getEdgePaddingLow()));
        pad.setEdgePaddingHigh(prepend(0, pad.getEdgePaddingHigh()));
        pad.setInteriorPadding(prepend(0, pad.getInteriorPadding()));
      });
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
    ++numDeferred;
    splitContraction(
        op, *sums.findContraction(op), sums.getAxes(result),
        [&] {
          Value zero = createZero(op->getLoc(), type, builder);
          sdy::setSharding(zero, stacked);
          return zero;
        },
        builder);
  } else {
    if (isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::ConcatenateOp,
            stablehlo::MultiplyOp, stablehlo::DivideOp, stablehlo::SelectOp>(
            op))
      widenOperands(op, type, stacked, builder);
    shiftDims(op, type.getDimSize(0), builder);
  }
  result.setType(type);
  op->removeAttr(sdy::kShardingRuleAttr);
  sdy::setSharding(result, stacked);
  builder.setInsertionPointAfter(op);
  reduceForOthers(result, whole, builder);
}

void Deferral::rewrite(FragmentOp fragment) {
  Block *body = fragment.getBody();
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

/// Why the result of a fragment is not handed on in parts.
static std::string explainReturn(OpResult result) {
  for (Operation *user : result.getUsers()) {
    if (auto transfer = dyn_cast<TransferOp>(user))
      return llvm::formatv("it is sent to mesh \"{0}\"",
                           transfer.getType().getMeshName());
    if (isa<func::ReturnOp>(user))
      return "the program returns it";
    if (!isa<FragmentOp>(user))
      return llvm::formatv("{0} reads it", user->getName());
  }
  return "another memory holds it, or a fragment in a loop reads it";
}

static std::string explainConstraint(TensorShardingAttr sharding) {
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    if (std::optional<int64_t> priority = dim.getPriority())
      return llvm::formatv("a sharding constraint of priority {0} asks for the "
                           "sum",
                           *priority);
  return "a sharding constraint asks for the sum";
}

/// Why what reads a value needs the sum.
static std::string explain(OpOperand &read) {
  Operation *reader = read.getOwner();
  if (isa<ReturnOp>(reader))
    return explainReturn(
        reader->getParentOp()->getResult(read.getOperandNumber()));
  if (isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(reader))
    return explainConstraint(sdy::getSharding(reader->getResult(0)));
  if (isa<stablehlo::ConvertOp>(reader))
    return llvm::formatv("{0} to {1} would round each of them",
                         reader->getName(),
                         getElementTypeOrSelf(reader->getResult(0).getType()));
  if (isa<stablehlo::AddOp, stablehlo::SubtractOp>(reader))
    return llvm::formatv("{0} also adds a value that these devices do not sum",
                         reader->getName());
  if (isa<stablehlo::ConcatenateOp>(reader))
    return llvm::formatv("{0} also joins a value that these devices do not sum",
                         reader->getName());
  if (isa<stablehlo::MultiplyOp>(reader))
    return llvm::formatv(
        "{0} multiplies by a value that the same devices split or sum",
        reader->getName());
  return llvm::formatv("{0} is not linear in the sum", reader->getName());
}

static void remarkOn(const Deferral &deferral, func::FuncOp func) {
  if (!func.getContext()->getRemarkEngine())
    return;
  if (deferral.getNumDeferred())
    remark::passed(
        func.getLoc(),
        remark::RemarkOpts::name("deferred").category(kDeferredRemarks))
        << remark::metric("Reductions", deferral.getNumDeferred())
        << remark::metric("ReductionsLeft", deferral.getNumReduced());
  for (PartialSums::Refusal refusal : deferral.getRefusals())
    remark::missed(
        refusal.reduction->getLoc(),
        remark::RemarkOpts::name("not deferred").category(kDeferredRemarks))
        << llvm::formatv("the partial sums of {0} are reduced at once: {1}",
                         refusal.reduction->getName(),
                         refusal.read ? explain(*refusal.read) +
                                            ", and waiting would save nothing"
                                      : refusal.why)
               .str();
}

namespace {
struct DeferReductionsPass
    : mpmd::impl::DeferReductionsPassBase<DeferReductionsPass> {
  void runOnFunction(func::FuncOp func) override {
    Deferral deferral(func);
    deferral.run();
    reductionsDeferred += deferral.getNumDeferred();
    reductionsLeft += deferral.getNumReduced();
    remarkOn(deferral, func);
  }
};
} // namespace
