//===- IndexedAccess.h - Dimension numbers of gather and scatter *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// gather and scatter read their indices alike: one dimension of the indices
// holds the vectors, the others are batches. What a gather calls offset and
// collapsed dimensions, a scatter calls window and inserted ones.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_GATHERSCATTER_INDEXEDACCESS_H
#define MESHWRIGHT_DIALECT_STABLEHLO_GATHERSCATTER_INDEXEDACCESS_H

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"

namespace mlir::stablehlo {

/// Dimension numbers of either operation, with the names its user knows.
struct IndexedAccess {
  /// A list of dimensions and what it is called.
  struct Dims {
    StringRef name;
    ArrayRef<int64_t> list;
  };
  Dims window;          // Of the side that has windows and batches.
  Dims dropped;         // Of the operand: not in the windows.
  Dims operandBatching; // Of the operand: paired with indices.
  Dims indicesBatching; // Of the indices: paired with the operand.
  Dims indexMap;        // Of the operand: what an index vector addresses.
  int64_t indexVectorDim;

  explicit IndexedAccess(GatherDimensionNumbersAttr numbers);
  explicit IndexedAccess(ScatterDimensionNumbersAttr numbers);

  /// Verifies everything but the side that has windows, whose rank is
  /// `numBatches + window.size()`.
  LogicalResult verify(std::optional<Location> location,
                       RankedTensorType operand, RankedTensorType indices,
                       StringRef operandName, StringRef indicesName) const;

  /// Sizes of the indices without those of the index vectors.
  SmallVector<int64_t> getBatchSizes(RankedTensorType indices) const;

  /// Puts window sizes at the window dimensions and batch sizes at the others.
  SmallVector<int64_t> interleave(ArrayRef<int64_t> batchSizes,
                                  ArrayRef<int64_t> windowSizes) const;

  /// Whether a dimension of the operand is not in the windows.
  bool isDropped(int64_t operandDim) const {
    return llvm::is_contained(dropped.list, operandDim) ||
           llvm::is_contained(operandBatching.list, operandDim);
  }
};

} // namespace mlir::stablehlo

#endif
