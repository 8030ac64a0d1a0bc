//===- SplitConcatenations.cpp --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A norm of all gradients, raveled into one vector, needs that vector on one mesh.
// The sum over a concatenation is the sum of the sums over its operands, so that
// only scalars travel:
//
//   %v = concatenate %g1, %g2                %s1 = multiply %g1, %g1    on m1
//   %s = multiply %v, %v          becomes    %s2 = multiply %g2, %g2    on m2
//   %n = reduce add %s                       %n = add (reduce %s1), (reduce %s2)
//
// A value is handled as its pieces along the dimension of the concatenation. Those
// of arithmetic on each element are made of the pieces of its operands; sums, and
// slices within a piece, give whole values again. What reads a value otherwise
// reads the concatenation.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Import/Locality/Passes.h"
#include "meshwright/Import/MeshSets/CrossMeshReduction.h"
#include "meshwright/Import/MeshSets/ValueMeshes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace mlir::mpmd {
#define GEN_PASS_DEF_SPLITCONCATENATIONSPASS
#include "meshwright/Import/Locality/Passes.h.inc"
} // namespace mlir::mpmd

using namespace mlir;
using namespace mlir::mpmd;

static RankedTensorType getTensorType(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

namespace {
/// Splits what is computed from one concatenation.
class Splitter {
public:
  explicit Splitter(stablehlo::ConcatenateOp concat)
      : builder(concat.getContext()), dim(concat.getDimension()) {
    pieces[concat.getResult()] = SmallVector<Value>(concat->getOperands());
    int64_t start = 0;
    for (Value piece : concat->getOperands()) {
      starts.push_back(start);
      start += getTensorType(piece).getDimSize(dim);
    }
    starts.push_back(start);
    readers.append(concat->user_begin(), concat->user_end());
  }

  /// Returns how many ops were split.
  unsigned run();

private:
  bool splitOp(Operation *op);
  bool splitElementwise(Operation *op);
  bool splitReduce(stablehlo::ReduceOp reduce);
  bool splitDot(stablehlo::DotGeneralOp dot);
  bool splitSlice(stablehlo::SliceOp slice);
  bool canSplitOperand(Value value) const;
  Value getPiece(Value value, unsigned index);
  Value combine(Location loc, ReductionType kind, ArrayRef<Value> parts);
  RankedTensorType getPieceType(RankedTensorType type, unsigned index) const;

  OpBuilder builder;
  int64_t dim;
  /// Where the pieces begin in the dimension, and the size of that.
  SmallVector<int64_t> starts;
  DenseMap<Value, SmallVector<Value>> pieces;
  SmallVector<Operation *> readers;
};
} // namespace

RankedTensorType Splitter::getPieceType(RankedTensorType type,
                                        unsigned index) const {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = starts[index + 1] - starts[index];
  return type.clone(shape);
}

/// Whether a value has pieces, or is the same everywhere along the dimension.
bool Splitter::canSplitOperand(Value value) const {
  if (pieces.contains(value))
    return true;
  if (DenseElementsAttr number;
      matchPattern(value, m_Constant(&number)) && number.isSplat())
    return true;
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  return broadcast && getTensorType(broadcast.getOperand()).getRank() == 0;
}

Value Splitter::getPiece(Value value, unsigned index) {
  if (auto known = pieces.find(value); known != pieces.end())
    return known->second[index];
  RankedTensorType type = getPieceType(getTensorType(value), index);
  if (DenseElementsAttr number; matchPattern(value, m_Constant(&number)))
    return stablehlo::ConstantOp::create(builder, value.getLoc(),
                                         number.resizeSplat(type));
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  return stablehlo::BroadcastInDimOp::create(builder, value.getLoc(), type,
                                             broadcast.getOperand(),
                                             builder.getDenseI64ArrayAttr({}));
}

/// Parts that are on one mesh are neighbors more often than not, so from left to
/// right.
Value Splitter::combine(Location loc, ReductionType kind,
                        ArrayRef<Value> parts) {
  Value result = parts.front();
  for (Value part : parts.drop_front())
    result = createReductionOp(builder, loc, kind, result, part)->getResult(0);
  return result;
}

bool Splitter::splitElementwise(Operation *op) {
  auto type = getTensorType(op->getResult(0));
  if (!type || !op->hasTrait<OpTrait::Elementwise>() || !isCheapToRepeat(op) ||
      !llvm::all_of(op->getOperands(), [&](Value operand) {
        return getTensorType(operand) &&
               getTensorType(operand).getShape() == type.getShape() &&
               canSplitOperand(operand);
      }))
    return false;
  SmallVector<Value> made;
  for (unsigned i = 0, e = starts.size() - 1; i != e; ++i) {
    auto operands = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return getPiece(operand, i); });
    OperationState state(op->getLoc(), op->getName(), operands,
                         getPieceType(type, i), op->getAttrs());
    made.push_back(builder.create(state)->getResult(0));
  }
  pieces[op->getResult(0)] = std::move(made);
  return true;
}

bool Splitter::splitReduce(stablehlo::ReduceOp reduce) {
  std::optional<ReductionType> kind = getBodyReductionKind(reduce);
  if (!kind || *kind == ReductionType::None || reduce.getInputs().size() != 1 ||
      !llvm::is_contained(reduce.getDimensions(), dim) ||
      !isIdentity(reduce.getInitValues().front(), *kind))
    return false;
  Value input = reduce.getInputs().front();
  SmallVector<Value> parts;
  for (unsigned i = 0, e = starts.size() - 1; i != e; ++i) {
    IRMapping mapping;
    mapping.map(input, getPiece(input, i));
    parts.push_back(builder.clone(*reduce, mapping)->getResult(0));
  }
  reduce->getResult(0).replaceAllUsesWith(
      combine(reduce.getLoc(), *kind, parts));
  return true;
}

/// A scalar product of vectors along the dimension.
bool Splitter::splitDot(stablehlo::DotGeneralOp dot) {
  Value lhs = dot.getLhs(), rhs = dot.getRhs();
  auto type = getTensorType(dot.getResult());
  if (getTensorType(lhs).getRank() != 1 || getTensorType(rhs).getRank() != 1 ||
      type.getRank() != 0 || !canSplitOperand(lhs) || !canSplitOperand(rhs) ||
      !isa<FloatType, ComplexType>(type.getElementType()))
    return false;
  SmallVector<Value> parts;
  for (unsigned i = 0, e = starts.size() - 1; i != e; ++i) {
    IRMapping mapping;
    mapping.map(lhs, getPiece(lhs, i));
    mapping.map(rhs, getPiece(rhs, i));
    parts.push_back(builder.clone(*dot, mapping)->getResult(0));
  }
  dot.getResult().replaceAllUsesWith(
      combine(dot.getLoc(), ReductionType::Add, parts));
  return true;
}

bool Splitter::splitSlice(stablehlo::SliceOp slice) {
  SmallVector<int64_t> begins(slice.getStartIndices()),
      ends(slice.getLimitIndices());
  auto next = llvm::upper_bound(starts, begins[dim]);
  if (next == starts.end() || ends[dim] > *next)
    return false;
  unsigned index = std::distance(starts.begin(), next) - 1;
  begins[dim] -= starts[index];
  ends[dim] -= starts[index];
  Value piece = getPiece(slice.getOperand(), index);
  if (piece.getType() != slice.getType())
    piece = stablehlo::SliceOp::create(
        builder, slice.getLoc(), slice.getType(), piece,
        builder.getDenseI64ArrayAttr(begins),
        builder.getDenseI64ArrayAttr(ends), slice.getStridesAttr());
  slice.getResult().replaceAllUsesWith(piece);
  return true;
}

bool Splitter::splitOp(Operation *op) {
  builder.setInsertionPoint(op);
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op))
    return splitReduce(reduce);
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
    return splitDot(dot);
  if (auto slice = dyn_cast<stablehlo::SliceOp>(op))
    return splitSlice(slice);
  return op->getNumResults() == 1 && splitElementwise(op);
}

unsigned Splitter::run() {
  unsigned numSplit = 0;
  DenseSet<Operation *> visited; // Membership only.
  for (size_t next = 0; next != readers.size(); ++next) {
    Operation *op = readers[next];
    if (!isMeshlessOp(op) || !isa<func::FuncOp>(op->getParentOp()) ||
        visited.contains(op) || !splitOp(op))
      continue;
    visited.insert(op);
    ++numSplit;
    if (pieces.contains(op->getResult(0)))
      readers.append(op->user_begin(), op->user_end());
  }
  // Users come after producers in this list.
  for (Operation *op : llvm::reverse(readers))
    if (visited.contains(op) && op->use_empty()) {
      visited.erase(op);
      op->erase();
    }
  return numSplit;
}

namespace {
struct SplitConcatenationsPass
    : mpmd::impl::SplitConcatenationsPassBase<SplitConcatenationsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshDataFlow flow(module);
    ValueMeshes::Callees callees = ValueMeshes::analyzeCallees(module, flow);
    for (func::FuncOp func : getEntryPoints(module))
      for (stablehlo::ConcatenateOp concat : collect(func, flow, callees)) {
        numSplit += Splitter(concat).run();
        if (concat->use_empty())
          concat->erase();
      }
  }

  /// Concatenations of what is on different meshes.
  static SmallVector<stablehlo::ConcatenateOp>
  collect(func::FuncOp func, const MeshDataFlow &flow,
          const ValueMeshes::Callees &callees) {
    SmallVector<stablehlo::ConcatenateOp> found;
    // Pieces that are all small may travel.
    auto isLarge = [](Value piece) {
      return getTensorBytes(piece) > kSmallBytes;
    };
    auto concats = func.front().getOps<stablehlo::ConcatenateOp>();
    if (concats.empty())
      return found;
    ValueMeshes meshes(func, flow, callees);
    for (stablehlo::ConcatenateOp concat : concats)
      if (meshes.isAcrossMeshes(concat) &&
          getTensorType(concat.getResult()).hasStaticShape() &&
          llvm::any_of(concat->getOperands(), isLarge))
        found.push_back(concat);
    return found;
  }
};
} // namespace
