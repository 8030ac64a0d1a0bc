//===- ConcatenationSplitter.cpp ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A value is handled as its pieces along one dimension. Those of arithmetic on each
// element are made of the pieces of its operands, which may be concatenations of
// pieces of the same sizes, too; sums, and slices within a piece, give whole values
// again. What reads a value otherwise reads the concatenation.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Import/Locality/ConcatenationSplitter.h"
#include "meshwright/Dialect/Mpmd/Effects.h"
#include "meshwright/IR/OutsideReads.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/MeshSetAttributes.h"
#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

static RankedTensorType getTensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

ConcatenationSplitter::ConcatenationSplitter(stablehlo::ConcatenateOp concat)
    : builder(concat.getContext()) {
  int64_t dim = concat.getDimension(), start = 0;
  for (Value piece : concat->getOperands()) {
    starts.push_back(start);
    start += getTensorType(piece).getDimSize(dim);
  }
  starts.push_back(start);
  adopt(concat);
}

RankedTensorType ConcatenationSplitter::getPieceType(RankedTensorType type,
                                                     int64_t dim,
                                                     unsigned index) const {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = starts[index + 1] - starts[index];
  return type.clone(shape);
}

void ConcatenationSplitter::adopt(stablehlo::ConcatenateOp concat) {
  pieces[concat.getResult()] = {static_cast<int64_t>(concat.getDimension()),
                                SmallVector<Value>(concat->getOperands())};
  readers.append(concat->user_begin(), concat->user_end());
  replaced.insert(concat);
}

/// Whether a concatenation has pieces of the sizes of the others.
bool ConcatenationSplitter::isOfPieces(stablehlo::ConcatenateOp concat,
                                       int64_t dim) const {
  return static_cast<int64_t>(concat.getDimension()) == dim &&
         concat->getNumOperands() == getNumPieces() &&
         llvm::all_of(llvm::enumerate(concat->getOperands()), [&](auto piece) {
           return getTensorType(piece.value()).getDimSize(dim) ==
                  starts[piece.index() + 1] - starts[piece.index()];
         });
}

/// Whether an op does the same to all elements of operands of one shape.
bool ConcatenationSplitter::isArithmetic(Operation *op) const {
  if (!isMeshlessOp(op) || !isa<func::FuncOp>(op->getParentOp()) ||
      !op->hasTrait<OpTrait::Elementwise>() || !isCheapToRepeat(op))
    return false;
  RankedTensorType type = getTensorType(op->getResult(0));
  return type && llvm::all_of(op->getOperands(), [&](Value operand) {
           return getTensorType(operand) &&
                  getTensorType(operand).getShape() == type.getShape();
         });
}

/// The dimension of the pieces that an op reads, if these agree.
std::optional<int64_t> ConcatenationSplitter::findDim(Operation *op) const {
  std::optional<int64_t> dim;
  for (Value operand : op->getOperands()) {
    auto known = pieces.find(operand);
    if (known == pieces.end())
      continue;
    if (dim && *dim != known->second.dim)
      return std::nullopt;
    dim = known->second.dim;
  }
  return dim;
}

/// How far arithmetic on other concatenations is followed.
static constexpr unsigned kMaxDepth = 8;

/// How many ops the computation of a value from numbers is followed over.
static constexpr unsigned kMaxFollowed = 1024;

/// Whether a value, such as noise, is computed from numbers and keys alone, so that any
/// mesh can do that.
static bool isMadeOfLittle(Value value) {
  SetVector<Value> values;
  values.insert(value);
  for (size_t next = 0; next != values.size(); ++next) {
    Operation *op = values[next].getDefiningOp();
    if (next == kMaxFollowed || (op && !isMeshlessOp(op)) ||
        (op && hasEffects(op)))
      return false;
    if (op)
      values.insert_range(getOutsideReads(op));
    else if (getTensorBytes(values[next]) > kSmallBytes)
      return false;
  }
  return true;
}

/// Whether a value has pieces, may have some, or is the same along the dimension.
bool ConcatenationSplitter::canSplitOperand(Value value, int64_t dim,
                                            unsigned depth) const {
  if (auto known = pieces.find(value); known != pieces.end())
    return known->second.dim == dim;
  if (DenseElementsAttr number;
      matchPattern(value, m_Constant(&number)) && number.isSplat())
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth == kMaxDepth)
    return false;
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    const auto *at = llvm::find(broadcast.getBroadcastDimensions(), dim);
    return at == broadcast.getBroadcastDimensions().end() ||
           getTensorType(broadcast.getOperand())
                   .getDimSize(std::distance(
                       broadcast.getBroadcastDimensions().begin(), at)) == 1;
  }
  if (auto concat = dyn_cast<stablehlo::ConcatenateOp>(op))
    return isOfPieces(concat, dim);
  if (isMadeOfLittle(value))
    return true;
  return isArithmetic(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return canSplitOperand(operand, dim, depth + 1);
         });
}

/// Makes the pieces that a value may have.
void ConcatenationSplitter::preparePieces(Value value, int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!op || pieces.contains(value) || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<stablehlo::BroadcastInDimOp>(op))
    return;
  if (auto concat = dyn_cast<stablehlo::ConcatenateOp>(op))
    return adopt(concat);
  if (isMadeOfLittle(value))
    return;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  splitInPlace(op, dim);
  readers.append(op->user_begin(), op->user_end());
}

Value ConcatenationSplitter::getPiece(Value value, int64_t dim,
                                      unsigned index) {
  if (auto known = pieces.find(value); known != pieces.end())
    return known->second.values[index];
  RankedTensorType type = getPieceType(getTensorType(value), dim, index);
  if (DenseElementsAttr number; matchPattern(value, m_Constant(&number)))
    return stablehlo::ConstantOp::create(builder, value.getLoc(),
                                         number.resizeSplat(type));
  if (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    return stablehlo::BroadcastInDimOp::create(
        builder, value.getLoc(), type, broadcast.getOperand(),
        broadcast.getBroadcastDimensionsAttr());
  SmallVector<int64_t> begins(type.getRank()), strides(type.getRank(), 1);
  SmallVector<int64_t> ends(type.getShape());
  begins[dim] = starts[index];
  ends[dim] = starts[index + 1];
  return stablehlo::SliceOp::create(builder, value.getLoc(), value, begins,
                                    ends, strides);
}

/// Parts that are on one mesh are neighbors more often than not, so from left to
/// right.
Value ConcatenationSplitter::combine(Location loc, ReductionType kind,
                                     ArrayRef<Value> parts) {
  Value result = parts.front();
  for (Value part : parts.drop_front())
    result = createReductionOp(builder, loc, kind, result, part)->getResult(0);
  return result;
}

/// Does to pieces what an op of arithmetic does.
void ConcatenationSplitter::splitInPlace(Operation *op, int64_t dim) {
  for (Value operand : op->getOperands())
    preparePieces(operand, dim);
  RankedTensorType type = getTensorType(op->getResult(0));
  Pieces made{dim, {}};
  for (unsigned i = 0, e = getNumPieces(); i != e; ++i) {
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      return getPiece(operand, dim, i);
    });
    OperationState state(op->getLoc(), op->getName(), operands,
                         getPieceType(type, dim, i), op->getAttrs());
    made.values.push_back(builder.create(state)->getResult(0));
  }
  pieces[op->getResult(0)] = std::move(made);
  replaced.insert(op);
}

bool ConcatenationSplitter::splitElementwise(Operation *op) {
  std::optional<int64_t> dim = findDim(op);
  if (!dim || !isArithmetic(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) {
        return canSplitOperand(operand, *dim);
      }))
    return false;
  splitInPlace(op, *dim);
  return true;
}

bool ConcatenationSplitter::splitReduce(stablehlo::ReduceOp reduce) {
  std::optional<ReductionType> kind = getBodyReductionKind(reduce);
  auto known = reduce.getInputs().size() == 1
                   ? pieces.find(reduce.getInputs().front())
                   : pieces.end();
  if (known == pieces.end())
    return false;
  Pieces input = known->second;
  bool isWhole = llvm::is_contained(reduce.getDimensions(), input.dim);
  if (isWhole && (!kind || *kind == ReductionType::None ||
                  !isIdentity(reduce.getInitValues().front(), *kind)))
    return false;
  int64_t dim = input.dim - llvm::count_if(reduce.getDimensions(), [&](auto d) {
                  return d < input.dim;
                });
  SmallVector<Value> parts;
  for (auto [i, piece] : llvm::enumerate(input.values)) {
    IRMapping mapping;
    mapping.map(reduce.getInputs().front(), piece);
    Value part = builder.clone(*reduce, mapping)->getResult(0);
    if (!isWhole)
      part.setType(getPieceType(getTensorType(part), dim, i));
    parts.push_back(part);
  }
  if (isWhole)
    reduce->getResult(0).replaceAllUsesWith(
        combine(reduce.getLoc(), *kind, parts));
  else
    pieces[reduce->getResult(0)] = {dim, parts};
  return true;
}

/// A product that sums up over the pieces of both sides.
bool ConcatenationSplitter::splitDot(stablehlo::DotGeneralOp dot) {
  Value lhs = dot.getLhs(), rhs = dot.getRhs();
  auto numbers = dot.getDotDimensionNumbers();
  if (getTensorBytes(dot.getResult()) > kSmallBytes ||
      !isa<FloatType, ComplexType>(
          getTensorType(dot.getResult()).getElementType()))
    return false;
  for (auto [lhsDim, rhsDim] :
       llvm::zip_equal(numbers.getLhsContractingDimensions(),
                       numbers.getRhsContractingDimensions())) {
    if (!canSplitOperand(lhs, lhsDim) || !canSplitOperand(rhs, rhsDim) ||
        getTensorType(lhs).getDimSize(lhsDim) != starts.back())
      continue;
    preparePieces(lhs, lhsDim);
    preparePieces(rhs, rhsDim);
    SmallVector<Value> parts;
    for (unsigned i = 0, e = getNumPieces(); i != e; ++i) {
      IRMapping mapping;
      mapping.map(lhs, getPiece(lhs, lhsDim, i));
      mapping.map(rhs, getPiece(rhs, rhsDim, i));
      parts.push_back(builder.clone(*dot, mapping)->getResult(0));
    }
    dot.getResult().replaceAllUsesWith(
        combine(dot.getLoc(), ReductionType::Add, parts));
    return true;
  }
  return false;
}

bool ConcatenationSplitter::splitSlice(stablehlo::SliceOp slice) {
  int64_t dim = pieces[slice.getOperand()].dim;
  SmallVector<int64_t> begins(slice.getStartIndices()),
      ends(slice.getLimitIndices());
  auto next = llvm::upper_bound(starts, begins[dim]);
  if (next == starts.end() || ends[dim] > *next)
    return false;
  unsigned index = std::distance(starts.begin(), next) - 1;
  begins[dim] -= starts[index];
  ends[dim] -= starts[index];
  Value piece = getPiece(slice.getOperand(), dim, index);
  if (piece.getType() != slice.getType())
    piece = stablehlo::SliceOp::create(
        builder, slice.getLoc(), slice.getType(), piece,
        builder.getDenseI64ArrayAttr(begins),
        builder.getDenseI64ArrayAttr(ends), slice.getStridesAttr());
  slice.getResult().replaceAllUsesWith(piece);
  return true;
}

bool ConcatenationSplitter::splitBroadcast(
    stablehlo::BroadcastInDimOp broadcast) {
  const Pieces operand = pieces[broadcast.getOperand()];
  RankedTensorType type = getTensorType(broadcast.getResult());
  int64_t dim = broadcast.getBroadcastDimensions()[operand.dim];
  if (type.getDimSize(dim) != starts.back())
    return false;
  Pieces made{dim, {}};
  for (auto [i, piece] : llvm::enumerate(operand.values))
    made.values.push_back(stablehlo::BroadcastInDimOp::create(
        builder, broadcast.getLoc(), getPieceType(type, dim, i), piece,
        broadcast.getBroadcastDimensionsAttr()));
  pieces[broadcast.getResult()] = std::move(made);
  return true;
}

/// A change of shape that leaves the dimension, and what is before it, as it is.
bool ConcatenationSplitter::splitReshape(stablehlo::ReshapeOp reshape) {
  const Pieces operand = pieces[reshape.getOperand()];
  RankedTensorType from = getTensorType(reshape.getOperand()),
                   to = getTensorType(reshape.getResult());
  auto countBefore = [](RankedTensorType type, int64_t dim) {
    return llvm::product_of(type.getShape().take_front(dim));
  };
  int64_t before = countBefore(from, operand.dim);
  for (int64_t dim = 0; dim != to.getRank(); ++dim) {
    if (to.getDimSize(dim) != starts.back() || countBefore(to, dim) != before)
      continue;
    Pieces made{dim, {}};
    for (auto [i, piece] : llvm::enumerate(operand.values))
      made.values.push_back(stablehlo::ReshapeOp::create(
          builder, reshape.getLoc(), getPieceType(to, dim, i), piece));
    pieces[reshape.getResult()] = std::move(made);
    return true;
  }
  return false;
}

bool ConcatenationSplitter::splitOp(Operation *op) {
  builder.setInsertionPoint(op);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return splitReduce(reduce);
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return splitDot(dot);
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
    return splitSlice(slice);
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return splitBroadcast(broadcast);
  if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op))
    return splitReshape(reshape);
  return splitElementwise(op);
}

unsigned ConcatenationSplitter::run() {
  for (size_t next = 0; next != readers.size(); ++next) {
    Operation *op = readers[next];
    if (!isMeshlessOp(op) || !isa<func::FuncOp>(op->getParentOp()) ||
        replaced.contains(op) || !splitOp(op))
      continue;
    replaced.insert(op);
    if (pieces.contains(op->getResult(0)))
      readers.append(op->user_begin(), op->user_end());
  }
  return llvm::count_if(replaced, [](Operation *op) {
    return !isa<stablehlo::ConcatenateOp>(op);
  });
}
