//===- ConcatenationSplitter.h - Pieces instead of a whole ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_LOCALITY_CONCATENATIONSPLITTER_H
#define MESHWRIGHT_IMPORT_LOCALITY_CONCATENATIONSPLITTER_H

#include "meshwright/Dialect/Mpmd/Reductions.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::mpmd {

/// Splits what is computed from one concatenation, and from others that meet it and
/// have pieces of the same sizes.
class ConcatenationSplitter {
public:
  explicit ConcatenationSplitter(stablehlo::ConcatenateOp concat);

  /// Returns how many ops were split.
  unsigned run();

  /// What was done to pieces instead.
  SetVector<Operation *> replaced;

private:
  /// The pieces of a value along one of its dimensions.
  struct Pieces {
    int64_t dim = 0;
    SmallVector<Value> values;
  };

  void adopt(stablehlo::ConcatenateOp concat);
  bool splitOp(Operation *op);
  bool splitElementwise(Operation *op);
  bool splitReduce(stablehlo::ReduceOp reduce);
  bool splitDot(stablehlo::DotGeneralOp dot);
  bool splitSlice(stablehlo::SliceOp slice);
  bool splitBroadcast(stablehlo::BroadcastInDimOp broadcast);
  bool splitReshape(stablehlo::ReshapeOp reshape);

  size_t getNumPieces() const { return starts.size() - 1; }
  bool isOfPieces(stablehlo::ConcatenateOp concat, int64_t dim) const;
  bool isArithmetic(Operation *op) const;
  std::optional<int64_t> findDim(Operation *op) const;
  bool canSplitOperand(Value value, int64_t dim, unsigned depth = 0) const;
  void preparePieces(Value value, int64_t dim);
  Value getPiece(Value value, int64_t dim, unsigned index);
  void splitInPlace(Operation *op, int64_t dim);
  Value combine(Location loc, ReductionType kind, ArrayRef<Value> parts);
  RankedTensorType getPieceType(RankedTensorType type, int64_t dim,
                                unsigned index) const;

  OpBuilder builder;
  /// Where the pieces begin in their dimension, and the size of that.
  SmallVector<int64_t> starts;
  DenseMap<Value, Pieces> pieces;
  SmallVector<Operation *> readers;
};

} // namespace mlir::mpmd

#endif
