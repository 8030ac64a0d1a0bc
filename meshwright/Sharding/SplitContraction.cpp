//===- SplitContraction.cpp - Sums over devices, and their parts ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Each op gets a dimension of as many elements as devices share the sum, which
// runs through operands and result:
//
//   dot_general   another batching dimension
//   reduce        one that is not reduced
//   scatter       another batching dimension of indices, updates and input
//   convolution   another spatial dimension, of size n in input and kernel. With
//                 the input dilated by n, and windows n - 1 apart, window i
//                 sees element i of both and nothing else. This is how XLA
//                 itself writes batched convolutions, so it partitions them.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Sharding/SplitContraction.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/Shardings.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "meshwright/Dialect/StableHLO/Transforms/OptimizationPatterns.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::AxisRefAttr;
using sdy::DimensionShardingAttr;
using sdy::TensorShardingAttr;

using Place = SplitDimension::Place;

Attribute mpmd::getSplatNumber(Value value) {
  // Propagation keeps constants in an op that nothing folds.
  auto constant = value.getDefiningOp<sdy::ConstantOp>();
  if (!constant)
    return stablehlo::getSplat(value);
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements && elements.isSplat() ? elements.getSplatValue<Attribute>()
                                        : nullptr;
}

bool mpmd::isConstantZero(Value value) {
  Attribute number = getSplatNumber(value);
  if (auto real = dyn_cast_or_null<FloatAttr>(number))
    return real.getValue().isZero();
  auto integer = dyn_cast_or_null<IntegerAttr>(number);
  return integer && integer.getValue().isZero();
}

/// Whether a body adds its two arguments.
static bool isAddition(Block &body) {
  auto add = dyn_cast<stablehlo::AddOp>(body.front());
  auto args = body.getArguments();
  return add && args.size() == 2 &&
         add->getNextNode() == body.getTerminator() &&
         body.getTerminator()->getOperand(0) == add->getResult(0) &&
         ((add->getOperand(0) == args[0] && add->getOperand(1) == args[1]) ||
          (add->getOperand(0) == args[1] && add->getOperand(1) == args[0]));
}

bool mpmd::isSum(Operation *op) {
  auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
  return reduce && reduce.getInputs().size() == 1 &&
         isConstantZero(reduce.getInitValues()[0]) &&
         isAddition(reduce.getBody().front());
}

DenseElementsAttr mpmd::getZeros(RankedTensorType type) {
  Builder builder(type.getContext());
  Type element = type.getElementType();
  auto complex = dyn_cast<ComplexType>(element);
  TypedAttr zero =
      builder.getZeroAttr(complex ? complex.getElementType() : element);
  // Types of nothing but powers of two get the smallest one.
  auto real = dyn_cast_or_null<FloatAttr>(zero);
  if (!zero || (real && !real.getValue().isZero()))
    return {};
  if (complex)
    return DenseElementsAttr::get(type, builder.getArrayAttr({zero, zero}));
  return DenseElementsAttr::get(type, zero);
}

/// A dimension without what the axes of `taken` already split; closed.
static DimensionShardingAttr withoutAxes(DimensionShardingAttr dim,
                                         DimensionShardingAttr taken) {
  SmallVector<AxisRefAttr> kept;
  for (AxisRefAttr axis : dim.getAxes())
    if (llvm::none_of(taken.getAxes(), [&](AxisRefAttr other) {
          return other.getName() == axis.getName();
        }))
      kept.push_back(axis);
  return DimensionShardingAttr::get(dim.getContext(), kept, /*isClosed=*/true);
}

TensorShardingAttr mpmd::insertDim(TensorShardingAttr whole, int64_t rank,
                                   int64_t at, DimensionShardingAttr axes,
                                   Attribute mesh) {
  SmallVector<DimensionShardingAttr> dims(
      rank, DimensionShardingAttr::get(axes.getContext(), {}, true));
  if (whole && whole.getMeshOrRef() == mesh)
    for (auto [to, from] : llvm::zip(dims, whole.getDimShardings()))
      to = withoutAxes(from, axes);
  dims.insert(dims.begin() + at, axes);
  return TensorShardingAttr::get(axes.getContext(), mesh, dims, {}, {},
                                 sdy::ReductionKind::Sum);
}

/// The axes that split a dimension of a value.
static ArrayRef<AxisRefAttr> getAxesOf(Value value, int64_t dim) {
  TensorShardingAttr sharding = sdy::getSharding(value);
  if (!sharding || dim < 0 || dim >= sharding.getRank())
    return {};
  return sharding.getDimShardings()[dim].getAxes();
}

static int64_t countPieces(ArrayRef<AxisRefAttr> axes, Value value) {
  sdy::MeshAttr mesh =
      sdy::getSharding(value).getMesh(value.getParentRegion()->getParentOp());
  if (!mesh)
    return 0;
  int64_t pieces = 1;
  for (AxisRefAttr axis : axes)
    pieces *= mesh.findAxisSize(axis.getName()).value_or(0);
  return pieces;
}

/// Whether one of the axes splits a dimension of a value.
static bool isSplitByAny(Value value, ArrayRef<AxisRefAttr> axes) {
  TensorShardingAttr sharding = sdy::getSharding(value);
  return sharding && llvm::any_of(sharding.getDimShardings(), [&](auto dim) {
           return llvm::any_of(dim.getAxes(), [&](AxisRefAttr own) {
             return llvm::any_of(axes, [&](AxisRefAttr axis) {
               return own.getName() == axis.getName();
             });
           });
         });
}

/// Describes a dimension of `input`, and of `other` if that has one, if its axes
/// split it. Devices share the sum if `why` is set.
static std::optional<SplitDimension>
describeSplit(Operation *op, Place input, Place other, std::string &why) {
  Value split = op->getOperand(input.operand);
  Value whole = op->getOperand(other.operand);
  ArrayRef<AxisRefAttr> axes = getAxesOf(split, input.dim);
  ArrayRef<AxisRefAttr> otherAxes =
      other.dim >= 0 ? getAxesOf(whole, other.dim) : axes;
  if (axes.empty() && otherAxes.empty())
    return std::nullopt;
  auto getMesh = [](Value value) {
    TensorShardingAttr sharding = sdy::getSharding(value);
    return sharding ? sharding.getMeshOrRef() : Attribute();
  };
  if (other.dim >= 0 && axes == otherAxes && getMesh(split) != getMesh(whole)) {
    why = "its operands are split by axes of different meshes there";
    return std::nullopt;
  }
  if (axes != otherAxes) {
    if (!axes.empty() && !otherAxes.empty()) {
      why = "its operands are split by different axes there";
      return std::nullopt;
    }
    // What only one side is split by, the other is sliced by without sending,
    // if the same axes do not split it elsewhere: then the one is gathered.
    if (axes.empty()) {
      std::swap(split, whole);
      axes = otherAxes;
    }
    if (isSplitByAny(whole, axes))
      return std::nullopt;
  }
  if (!llvm::all_of(axes, [](AxisRefAttr axis) { return axis.isFullAxis(); })) {
    why = "parts of axes split what it sums over";
    return std::nullopt;
  }
  for (Value value : {split, whole})
    if (TensorShardingAttr sharding = sdy::getSharding(value);
        sharding && !sharding.getUnreducedAxes().empty()) {
      why = "an operand is unreduced already";
      return std::nullopt;
    }
  int64_t pieces = countPieces(axes, split);
  int64_t size = cast<RankedTensorType>(op->getOperand(input.operand).getType())
                     .getDimSize(input.dim);
  if (pieces < 2)
    return std::nullopt;
  if (ShapedType::isDynamic(size) || size % pieces != 0) {
    why = llvm::formatv("{0} devices share a dimension of {1}, not evenly",
                        pieces, size);
    return std::nullopt;
  }
  return SplitDimension{input, other, axes, getMesh(split), pieces};
}

/// The dimensions of scatter indices and updates that count its windows: those
/// of the indices but the one with the index, those of the updates but windows.
static SmallVector<std::pair<int64_t, int64_t>>
getWindowCounts(stablehlo::ScatterOp scatter) {
  auto numbers = scatter.getScatterDimensionNumbers();
  auto type = cast<RankedTensorType>(scatter.getUpdates()[0].getType());
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  int64_t ofIndices = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (llvm::is_contained(numbers.getUpdateWindowDims(), dim))
      continue;
    if (ofIndices == numbers.getIndexVectorDim())
      ++ofIndices;
    if (!llvm::is_contained(numbers.getScatterIndicesBatchingDims(), ofIndices))
      pairs.push_back({ofIndices, dim});
    ++ofIndices;
  }
  return pairs;
}

namespace {
/// The dimensions over which an op sums, and why they have to stay whole, if
/// they do.
struct Contraction {
  SmallVector<std::pair<Place, Place>> places;
  StringRef why;
};
} // namespace

static Contraction findContraction(Operation *op,
                                   function_ref<bool(Value)> isZero) {
  Contraction found;
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    auto numbers = dot.getDotDimensionNumbers();
    for (auto [lhs, rhs] : llvm::zip(numbers.getLhsContractingDimensions(),
                                     numbers.getRhsContractingDimensions()))
      found.places.push_back({{0, lhs}, {1, rhs}});
  } else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    if (isSum(op))
      for (int64_t dim : reduce.getDimensions())
        found.places.push_back({{0, dim}, {}});
  } else if (auto conv = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    auto numbers = conv.getDimensionNumbers();
    found.places.push_back({{0, numbers.getInputFeatureDimension()},
                            {1, numbers.getKernelInputFeatureDimension()}});
    if (conv.getFeatureGroupCount() != 1 || conv.getBatchGroupCount() != 1)
      found.why = "it is one of groups";
  } else if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
    if (scatter.getInputs().size() != 1 ||
        !isAddition(scatter.getUpdateComputation().front()))
      return found;
    for (auto [ofIndices, ofUpdates] : getWindowCounts(scatter))
      found.places.push_back({{1, ofIndices}, {2, ofUpdates}});
    if (!isZero(scatter.getInputs()[0]))
      found.why = "it adds to what is not zero";
  }
  return found;
}

std::optional<SplitDimension>
mpmd::findSplitContraction(Operation *op, function_ref<bool(Value)> isZero,
                           std::string *why) {
  if (op->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  std::string reason;
  Contraction contraction = findContraction(op, isZero);
  for (auto [input, other] : contraction.places) {
    auto split = describeSplit(op, input, other, reason);
    if (!split)
      continue;
    if (!getZeros(type))
      reason = "its type has no zero";
    else if (contraction.why.empty())
      return split;
    else
      reason = contraction.why;
  }
  if (why)
    *why = reason;
  return std::nullopt;
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
  auto split = stablehlo::ReshapeOp::create(builder, value.getLoc(),
                                            type.clone(shape), value);
  sdy::setSharding(
      split.getResult(),
      insertDim(sdy::getSharding(value), type.getRank(), dim, axes, mesh));
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

/// Where a dimension is after another one was inserted at `at`.
static int64_t shift(int64_t dim, int64_t at) {
  return dim >= at ? dim + 1 : dim;
}
static SmallVector<int64_t> shift(ArrayRef<int64_t> dims, int64_t at) {
  return llvm::map_to_vector(dims,
                             [at](int64_t dim) { return shift(dim, at); });
}

static SmallVector<int64_t> join(int64_t first, ArrayRef<int64_t> others) {
  SmallVector<int64_t> all = {first};
  llvm::append_range(all, others);
  return all;
}

static void addBatch(stablehlo::DotGeneralOp dot, int64_t lhs, int64_t rhs) {
  auto numbers = dot.getDotDimensionNumbers();
  dot.setDotDimensionNumbersAttr(stablehlo::DotDimensionNumbersAttr::get(
      dot.getContext(),
      join(lhs, shift(numbers.getLhsBatchingDimensions(), lhs)),
      join(rhs, shift(numbers.getRhsBatchingDimensions(), rhs)),
      shift(numbers.getLhsContractingDimensions(), lhs),
      shift(numbers.getRhsContractingDimensions(), rhs)));
}

static void addBatch(stablehlo::ScatterOp scatter, int64_t indices,
                     int64_t updates) {
  auto numbers = scatter.getScatterDimensionNumbers();
  scatter.setScatterDimensionNumbersAttr(
      stablehlo::ScatterDimensionNumbersAttr::get(
          scatter.getContext(), shift(numbers.getUpdateWindowDims(), updates),
          shift(numbers.getInsertedWindowDims(), 0),
          join(0, shift(numbers.getInputBatchingDims(), 0)),
          join(indices,
               shift(numbers.getScatterIndicesBatchingDims(), indices)),
          shift(numbers.getScatterDimsToOperandDims(), 0),
          shift(numbers.getIndexVectorDim(), indices)));
}

static void addBatch(stablehlo::ConvolutionOp conv, int64_t input,
                     int64_t kernel, int64_t pieces) {
  Builder builder(conv.getContext());
  auto numbers = conv.getDimensionNumbers();
  size_t rank = numbers.getInputSpatialDimensions().size();
  conv.setDimensionNumbersAttr(stablehlo::ConvDimensionNumbersAttr::get(
      conv.getContext(), shift(numbers.getInputBatchDimension(), input),
      shift(numbers.getInputFeatureDimension(), input),
      join(input, shift(numbers.getInputSpatialDimensions(), input)),
      shift(numbers.getKernelInputFeatureDimension(), kernel),
      shift(numbers.getKernelOutputFeatureDimension(), kernel),
      join(kernel, shift(numbers.getKernelSpatialDimensions(), kernel)),
      shift(numbers.getOutputBatchDimension(), 0),
      shift(numbers.getOutputFeatureDimension(), 0),
      join(0, shift(numbers.getOutputSpatialDimensions(), 0))));
  auto extend = [&](int64_t first, std::optional<ArrayRef<int64_t>> others) {
    SmallVector<int64_t> ones(rank, 1);
    return builder.getDenseI64ArrayAttr(
        join(first, others ? *others : ArrayRef<int64_t>(ones)));
  };
  conv.setWindowStridesAttr(extend(pieces - 1, conv.getWindowStrides()));
  conv.setLhsDilationAttr(extend(pieces, conv.getLhsDilation()));
  if (auto dilation = conv.getRhsDilation())
    conv.setRhsDilationAttr(extend(1, dilation));
  if (auto reversal = conv.getWindowReversal()) {
    SmallVector<bool> all = {false};
    llvm::append_range(all, *reversal);
    conv.setWindowReversalAttr(builder.getDenseBoolArrayAttr(all));
  }
  if (auto padding = conv.getPadding()) {
    SmallVector<int64_t> all = {0, 0};
    llvm::append_range(all, padding->getValues<int64_t>());
    auto type = RankedTensorType::get({static_cast<int64_t>(rank) + 1, 2},
                                      builder.getI64Type());
    conv.setPaddingAttr(DenseIntElementsAttr::get(type, all));
  }
}

void mpmd::splitContraction(Operation *op, const SplitDimension &split,
                            DimensionShardingAttr axes,
                            function_ref<Value()> zero, OpBuilder &builder) {
  for (Place place : {split.input, split.other})
    if (place.dim >= 0)
      op->setOperand(place.operand,
                     splitDimension(op->getOperand(place.operand), place.dim,
                                    split.pieces, axes, split.mesh, builder));
  int64_t input = split.input.dim, other = split.other.dim;
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return addBatch(dot, input, other);
  if (auto conv = dyn_cast<stablehlo::ConvolutionOp>(op))
    return addBatch(conv, input, other, split.pieces);
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op)) {
    op->setOperand(0, zero());
    return addBatch(scatter, input, other);
  }
  op->setOperand(0, moveToFront(op->getOperand(0), input, builder));
  // All dimensions are one further to the right now.
  auto reduce = cast<stablehlo::ReduceOp>(op);
  reduce.setDimensions(shift(reduce.getDimensions(), 0));
}
