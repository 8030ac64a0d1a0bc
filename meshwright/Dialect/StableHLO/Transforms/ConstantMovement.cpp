//===- ConstantMovement.cpp - Constants put in another order --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Transposes, slices, pieces put together: the elements stay what they are, so
// that any type will do, and are copied as bytes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/Transforms/ConstantFolding.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;

namespace {
/// Collects elements of constants of one type that are no splats into another.
class ElementCollector {
public:
  explicit ElementCollector(RankedTensorType type)
      : type(type), isBoolean(type.getElementType().isInteger(1)) {}

  void append(DenseElementsAttr from, int64_t begin, int64_t count,
              int64_t stride = 1) {
    if (isBoolean) { // How these are stored is MLIR's secret.
      auto elements = from.value_begin<bool>() + begin;
      for (int64_t i = 0; i < count; ++i)
        booleans.push_back(*(elements + i * stride));
      return;
    }
    ArrayRef<char> data = from.getRawData();
    int64_t width =
        from.isSplat() ? data.size() : data.size() / from.getNumElements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = from.isSplat() ? 0 : begin + i * stride;
      llvm::append_range(bytes, data.slice(index * width, width));
    }
  }

  DenseElementsAttr take() const {
    return isBoolean ? DenseElementsAttr::get(type, booleans)
                     : DenseElementsAttr::getFromRawBuffer(type, bytes);
  }

private:
  RankedTensorType type;
  bool isBoolean;
  SmallVector<bool, 0> booleans;
  SmallVector<char, 0> bytes;
};
} // namespace

/// Builds the result of an op that moves elements: the one at index i, j, ...
/// is that of the operand, in row-major order, at begin + i * strides[0] + ...
static DenseElementsAttr moveElements(RankedTensorType type,
                                      DenseElementsAttr operand, int64_t begin,
                                      ArrayRef<int64_t> strides) {
  ElementCollector elements(type);
  int64_t rank = type.getRank();
  if (rank == 0) {
    elements.append(operand, begin, 1);
    return elements.take();
  }
  // Row by row, with an odometer over the outer dimensions.
  int64_t rowSize = type.getShape().back();
  int64_t numRows = type.getNumElements() / rowSize;
  SmallVector<int64_t> index(rank - 1, 0);
  for (int64_t row = 0; row < numRows; ++row) {
    elements.append(operand, begin, rowSize, strides.back());
    for (int64_t dim = rank - 2; dim >= 0; --dim) {
      begin += strides[dim];
      if (++index[dim] < type.getDimSize(dim))
        break;
      begin -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
  return elements.take();
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

// Pattern: op(splat) -> splat, where op moves data of its first operand only
template <typename OpT>
static LogicalResult foldSplat(OpT op, PatternRewriter &rewriter) {
  RankedTensorType type =
      dyn_cast<RankedTensorType>(op->getResult(0).getType());
  DenseElementsAttr operand = getConstant(op->getOperand(0));
  if (!operand || !operand.isSplat() || !type || !type.hasStaticShape() ||
      countElements(type) == 0 ||
      type.getElementType() != operand.getElementType())
    return failure();
  if (op->getOperand(0).getType() == type)
    replaceKeepingAttrs(rewriter, op, op->getOperand(0));
  else
    replaceByConstant(rewriter, op, operand.resizeSplat(type));
  return success();
}

// Pattern: get_dimension_size(x) of static size -> constant
static LogicalResult foldDimensionSize(GetDimensionSizeOp op,
                                       PatternRewriter &rewriter) {
  auto operand = cast<RankedTensorType>(op.getOperand().getType());
  int64_t dim = op.getDimension();
  if (operand.isDynamicDim(dim) ||
      operand.getDimSize(dim) > std::numeric_limits<int32_t>::max())
    return failure();
  auto size = static_cast<int32_t>(operand.getDimSize(dim));
  replaceByConstant(rewriter, op,
                    DenseElementsAttr::get(getResultType(op), size));
  return success();
}

// Pattern: iota of one element -> 0
static LogicalResult foldIota(IotaOp op, PatternRewriter &rewriter) {
  RankedTensorType type = getResultType(op);
  Type element = type.getElementType();
  auto number = dyn_cast<FloatType>(element);
  if (type.getRank() != 1 || type.getDimSize(0) != 1 ||
      !(isa<IntegerType>(element) ||
        (number && APFloat::semanticsHasZero(number.getFloatSemantics()))))
    return failure();
  replaceByConstant(rewriter, op,
                    DenseElementsAttr::get(
                        type, cast<Attribute>(rewriter.getZeroAttr(element))));
  return success();
}

static DenseElementsAttr move(ReshapeOp, DenseElementsAttr operand,
                              RankedTensorType type) {
  return operand.reshape(type);
}

static DenseElementsAttr move(TransposeOp op, DenseElementsAttr operand,
                              RankedTensorType type) {
  SmallVector<int64_t> strides = computeStrides(operand.getType().getShape());
  return moveElements(type, operand, 0,
                      applyPermutation(strides, op.getPermutation()));
}

static DenseElementsAttr move(SliceOp op, DenseElementsAttr operand,
                              RankedTensorType type) {
  SmallVector<int64_t> strides = computeStrides(operand.getType().getShape());
  int64_t begin = 0;
  for (auto [stride, start, step] :
       llvm::zip_equal(strides, op.getStartIndices(), op.getStrides())) {
    begin += start * stride;
    stride *= step;
  }
  return moveElements(type, operand, begin, strides);
}

static DenseElementsAttr move(ReverseOp op, DenseElementsAttr operand,
                              RankedTensorType type) {
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  int64_t begin = 0;
  for (int64_t dim : op.getDimensions()) {
    begin += (type.getDimSize(dim) - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  return moveElements(type, operand, begin, strides);
}

namespace {
// Pattern: op(constant that is no splat) -> constant
template <typename OpT> struct FoldMovement : OpRewritePattern<OpT> {
  FoldMovement(MLIRContext *context, int64_t limit)
      : OpRewritePattern<OpT>(context), limit(limit) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    RankedTensorType type = getResultType(op);
    if (operands.empty() || operands[0].isSplat() ||
        operands[0].getElementType() != type.getElementType() ||
        !isWithinLimit(type, operands, limit))
      return failure();
    replaceByConstant(rewriter, op, move(op, operands[0], type));
    return success();
  }

private:
  int64_t limit;
};

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

// Pattern: concatenate(constants) -> constant, of any size if it is a splat
struct FoldConcatenate : OpRewritePattern<ConcatenateOp> {
  FoldConcatenate(MLIRContext *context, int64_t limit)
      : OpRewritePattern(context), limit(limit) {}

  LogicalResult matchAndRewrite(ConcatenateOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<DenseElementsAttr> operands = getConstantOperands(op);
    if (operands.empty())
      return failure();
    RankedTensorType type = getResultType(op);
    DenseElementsAttr first = operands.front();
    if (areSplats(operands) && llvm::all_of(operands, [&](auto operand) {
          return operand.template getSplatValue<Attribute>() ==
                 first.getSplatValue<Attribute>();
        })) {
      replaceByConstant(rewriter, op, first.resizeSplat(type));
      return success();
    }
    // Even of splats, if they differ.
    if (!takeFromBudget(type, limit))
      return failure();

    // Outside the dimension, pieces of all operands alternate.
    int64_t outer =
        computeProduct(type.getShape().take_front(op.getDimension()));
    ElementCollector elements(type);
    for (int64_t i = 0; i < outer; ++i)
      for (DenseElementsAttr operand : operands) {
        int64_t size = operand.getNumElements() / outer;
        elements.append(operand, i * size, size);
      }
    replaceByConstant(rewriter, op, elements.take());
    return success();
  }

private:
  int64_t limit;
};
} // namespace

void mlir::stablehlo::populateConstantMovement(
    RewritePatternSet &patterns, const OptimizationOptions &options) {
  MLIRContext *context = patterns.getContext();
  patterns.add<FoldMovement<ReshapeOp>, FoldMovement<SliceOp>,
               FoldMovement<TransposeOp>>(context, getEagerLimit(options));
  patterns.add<FoldConcatenate, FoldMovement<ReverseOp>>(
      context, options.foldOpElementLimit);
  patterns.add(foldDimensionSize);
  patterns.add(foldIota);
  patterns.add(foldSplat<BroadcastInDimOp>);
  patterns.add(foldSplat<DynamicSliceOp>);
  patterns.add(foldSplat<ReshapeOp>);
  patterns.add(foldSplat<ReverseOp>);
  patterns.add(foldSplat<SliceOp>);
  patterns.add(foldSplat<TransposeOp>);
}
