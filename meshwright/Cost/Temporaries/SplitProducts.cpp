//===- SplitProducts.cpp - Products whose sum is split --------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The rule was fitted to what XLA's compiler does to some hundred products, as
// docs/cost-model.md has it.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/Temporaries/SplitProducts.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Cost/ShardedOp.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include <cmath>

using namespace mlir;
using namespace meshwright;

/// Rows and columns of a result that a core computes together.
static constexpr double kTile = 128;
/// Multiplications below which a product is left whole.
static constexpr double kLeastWork = 1 << 19;
/// The fewest parts that a product is split into, unless there are fewer cores.
static constexpr double kLeastParts = 4;
/// What is summed of a part, at least: where there is one tile, and where there are
/// several.
static constexpr double kLeastSummed = 16, kLeastSummedOfTiles = 32;
/// Partial sums are of f32, and a part of a row begins at multiples of 16 bytes.
static constexpr double kSumBytes = 4, kRowBytes = 16;

/// Into how many parts of what is summed a product is split.
static double countParts(double tiles, double summed, double work,
                         const Device &device) {
  double most = *device.cores / tiles;
  double wanted = *device.splits * std::sqrt(summed / (2 * tiles));
  if (work < kLeastWork || wanted < kLeastParts || most < 2)
    return 1;
  double parts = std::exp2(std::floor(std::log2(std::min(wanted, most))));
  return summed / parts < (tiles > 1 ? kLeastSummedOfTiles : kLeastSummed)
             ? 1
             : parts;
}

double meshwright::countSplitSums(Operation *op, double parts,
                                  sdy::MeshAttr mesh, const Device &device) {
  auto product = dyn_cast<stablehlo::DotGeneralOp>(op);
  if (!product || !device.cores || !device.splits)
    return 0;
  RankedTensorType result = getLocalType(product.getResult(), mesh);
  auto lhs = dyn_cast<RankedTensorType>(product.getLhs().getType());
  auto whole = dyn_cast<RankedTensorType>(product.getType());
  if (!result || !lhs || !lhs.hasStaticShape() || !whole.hasStaticShape())
    return 0;
  auto dims = product.getDotDimensionNumbers();
  double summed = 1;
  for (int64_t dim : dims.getLhsContractingDimensions())
    summed *= lhs.getDimSize(dim);
  // Devices that do not split the result split what is summed.
  double elements = std::max<double>(1, result.getNumElements());
  summed /= parts / std::max(1., whole.getNumElements() / elements);
  size_t batch = dims.getLhsBatchingDimensions().size();
  size_t rowsEnd = lhs.getRank() - dims.getLhsContractingDimensions().size();
  double batches = 1, rows = 1, columns = 1;
  for (auto [dim, size] : llvm::enumerate(result.getShape()))
    (dim < batch ? batches : dim < rowsEnd ? rows : columns) *= size;
  double tiles = batches * std::ceil(rows / kTile) * std::ceil(columns / kTile);
  if (tiles < 1 || summed < 1)
    return 0;
  double split = countParts(tiles, summed, elements * summed, device);
  if (split == 1)
    return 0;
  double bytes = split * elements * kSumBytes;
  // Parts that are no whole rows are copied into operands that are.
  // Complex and quantized elements have no width of their own.
  double size = std::max<double>(
      1, countBytes(RankedTensorType::get({}, lhs.getElementType())));
  double whole16 = split * kRowBytes / size;
  if (std::fmod(summed, whole16) != 0)
    bytes += batches * (rows + columns) * size * std::ceil(summed / whole16) *
             whole16;
  return bytes;
}
