//===- IndexedAccess.cpp - Dimension numbers of gather and scatter --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/GatherScatter/IndexedAccess.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::stablehlo;

using Dims = IndexedAccess::Dims;

IndexedAccess::IndexedAccess(GatherDimensionNumbersAttr numbers)
    : window{"offset_dims", numbers.getOffsetDims()},
      dropped{"collapsed_slice_dims", numbers.getCollapsedSliceDims()},
      operandBatching{"operand_batching_dims",
                      numbers.getOperandBatchingDims()},
      indicesBatching{"start_indices_batching_dims",
                      numbers.getStartIndicesBatchingDims()},
      indexMap{"start_index_map", numbers.getStartIndexMap()},
      indexVectorDim(numbers.getIndexVectorDim()) {}

IndexedAccess::IndexedAccess(ScatterDimensionNumbersAttr numbers)
    : window{"update_window_dims", numbers.getUpdateWindowDims()},
      dropped{"inserted_window_dims", numbers.getInsertedWindowDims()},
      operandBatching{"input_batching_dims", numbers.getInputBatchingDims()},
      indicesBatching{"scatter_indices_batching_dims",
                      numbers.getScatterIndicesBatchingDims()},
      indexMap{"scatter_dims_to_operand_dims",
               numbers.getScatterDimsToOperandDims()},
      indexVectorDim(numbers.getIndexVectorDim()) {}

static LogicalResult verifySorted(std::optional<Location> location,
                                  const Dims &dims) {
  if (llvm::is_sorted(dims.list))
    return success();
  return emitOptionalError(location, "expects ", dims.name,
                           " to be sorted, got: [", dims.list, "]");
}

/// Checks that dimensions are in [0, limit) and that none is in two of the
/// lists or twice in one.
static LogicalResult verifyDistinct(std::optional<Location> location,
                                    ArrayRef<Dims> lists, int64_t limit) {
  llvm::SmallBitVector seen(limit);
  for (const Dims &dims : lists)
    for (int64_t dim : dims.list) {
      if (dim < 0 || dim >= limit)
        return emitOptionalError(location, "expects each element of ",
                                 dims.name, " to be in range [0, ", limit,
                                 "), but got ", dim);
      if (!seen.test(dim)) {
        seen.set(dim);
        continue;
      }
      if (lists.size() == 1)
        return emitOptionalError(location, "expects ", dims.name,
                                 " to not repeat, got: [", dims.list, "]");
      return emitOptionalError(location, "has duplicated dimension ", dim,
                               " in ", lists[0].name, " [", lists[0].list,
                               "] and ", lists[1].name, " [", lists[1].list,
                               "]");
    }
  return success();
}

/// Checks that the batching dimensions pair up.
static LogicalResult verifyBatching(std::optional<Location> location,
                                    const IndexedAccess &access,
                                    RankedTensorType operand,
                                    RankedTensorType indices) {
  auto [operandName, operandDims] = access.operandBatching;
  auto [indicesName, indicesDims] = access.indicesBatching;
  if (llvm::is_contained(indicesDims, access.indexVectorDim))
    return emitOptionalError(location, "expects ", indicesName,
                             " not to include index_vector_dim ",
                             access.indexVectorDim);
  if (operandDims.size() != indicesDims.size())
    return emitOptionalError(location, operandName, " and ", indicesName,
                             " should have the same size, but got ",
                             operandDims.size(), " and ", indicesDims.size());
  for (auto [operandDim, indicesDim] :
       llvm::zip_equal(operandDims, indicesDims))
    if (!areDimsCompatible(operand.getDimSize(operandDim),
                           indices.getDimSize(indicesDim)))
      return emitOptionalError(location, operandName, " and ", indicesName,
                               " should have compatible sizes, but dimensions ",
                               operandDim, " and ", indicesDim, " have sizes ",
                               operand.getDimSize(operandDim), " and ",
                               indices.getDimSize(indicesDim));
  return success();
}

LogicalResult IndexedAccess::verify(std::optional<Location> location,
                                    RankedTensorType operand,
                                    RankedTensorType indices,
                                    StringRef operandName,
                                    StringRef indicesName) const {
  int64_t rank = operand.getRank(), indicesRank = indices.getRank();
  int64_t total =
      window.list.size() + dropped.list.size() + operandBatching.list.size();
  if (total != rank)
    return emitOptionalError(location, "expects rank of ", operandName, ", ",
                             rank, ", to be the number of ", window.name, ", ",
                             dropped.name, " and ", operandBatching.name, ", ",
                             total);
  if (indexVectorDim < 0 || indexVectorDim > indicesRank)
    return emitOptionalError(location, "index_vector_dim ", indexVectorDim,
                             " is out of bounds for ", indicesName,
                             " with rank ", indicesRank);
  if (failed(verifySorted(location, window)) ||
      failed(verifySorted(location, dropped)) ||
      failed(verifySorted(location, operandBatching)))
    return failure();
  int64_t numBatches = indicesRank - (indexVectorDim < indicesRank ? 1 : 0);
  if (failed(verifyDistinct(location, {window},
                            numBatches + window.list.size())) ||
      failed(verifyDistinct(location, {dropped, operandBatching}, rank)) ||
      failed(verifyDistinct(location, {indexMap, operandBatching}, rank)) ||
      failed(verifyDistinct(location, {indicesBatching}, indicesRank)) ||
      failed(verifyBatching(location, *this, operand, indices)))
    return failure();
  int64_t vectorSize =
      indexVectorDim < indicesRank ? indices.getDimSize(indexVectorDim) : 1;
  if (!areDimsCompatible(vectorSize, indexMap.list.size()))
    return emitOptionalError(
        location, indexMap.name, " size (", indexMap.list.size(),
        ") is not equal to size of index dimension (", indexVectorDim, ") of ",
        indicesName, " (", vectorSize, ")");
  return success();
}

SmallVector<int64_t>
IndexedAccess::getBatchSizes(RankedTensorType indices) const {
  SmallVector<int64_t> sizes(indices.getShape());
  if (indexVectorDim < indices.getRank())
    sizes.erase(sizes.begin() + indexVectorDim);
  return sizes;
}

SmallVector<int64_t>
IndexedAccess::interleave(ArrayRef<int64_t> batchSizes,
                          ArrayRef<int64_t> windowSizes) const {
  SmallVector<int64_t> sizes;
  int64_t rank = batchSizes.size() + windowSizes.size();
  for (int64_t dim = 0; dim < rank; ++dim) {
    ArrayRef<int64_t> &from =
        llvm::is_contained(window.list, dim) ? windowSizes : batchSizes;
    sizes.push_back(from.front());
    from = from.drop_front();
  }
  return sizes;
}
