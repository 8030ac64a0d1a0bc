//===- WindowShape.cpp - How many windows fit -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/WindowShape.h"
#include "meshwright/Dialect/StableHLO/ShapeArithmetic.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Checks one list: empty or one positive entry per dimension.
static LogicalResult verifyList(std::optional<Location> location,
                                StringRef name, ArrayRef<int64_t> list,
                                size_t rank, bool allowsDynamic = false) {
  if (list.empty())
    return success();
  if (list.size() != rank)
    return emitOptionalError(location, "expects ", name, " to have ", rank,
                             " entries, one per dimension-size of the window, "
                             "but it has ",
                             list.size());
  for (int64_t entry : list)
    if (entry <= 0 && !(allowsDynamic && ShapedType::isDynamic(entry)))
      return emitOptionalError(location, "expects ", name,
                               " to be positive, but got ", entry);
  return success();
}

static LogicalResult verifyPadding(std::optional<Location> location,
                                   DenseIntElementsAttr padding, size_t rank) {
  if (!padding)
    return success();
  ShapedType type = padding.getType();
  if (type.getRank() != 2 || type.getDimSize(1) != 2)
    return emitOptionalError(location,
                             "expects the shape of padding-attribute to be "
                             "{N, 2}, but its type is ",
                             type);
  if (type.getDimSize(0) != static_cast<int64_t>(rank))
    return emitOptionalError(location, "expects padding to have ", rank,
                             " entries, one per dimension-size of the window, "
                             "but it has ",
                             type.getDimSize(0));
  return success();
}

FailureOr<SmallVector<WindowDimension>>
stablehlo::buildWindow(std::optional<Location> location,
                       const WindowLists &lists) {
  size_t rank = lists.sizes.size();
  if (failed(verifyList(location, "window_dimensions", lists.sizes, rank,
                        /*allowsDynamic=*/true)) ||
      failed(verifyList(location, "window_strides", lists.strides, rank)) ||
      failed(
          verifyList(location, "base_dilations", lists.baseDilations, rank)) ||
      failed(verifyList(location, "window_dilations", lists.windowDilations,
                        rank)) ||
      failed(verifyPadding(location, lists.padding, rank)))
    return failure();
  if (!lists.reversal.empty() && lists.reversal.size() != rank)
    return emitOptionalError(location, "expects window_reversal to have ", rank,
                             " entries, one per dimension-size of the window, "
                             "but it has ",
                             lists.reversal.size());
  SmallVector<WindowDimension> window(rank);
  for (auto [index, dim] : llvm::enumerate(window)) {
    dim.size = lists.sizes[index];
    if (!lists.strides.empty())
      dim.stride = lists.strides[index];
    if (!lists.baseDilations.empty())
      dim.baseDilation = lists.baseDilations[index];
    if (!lists.windowDilations.empty())
      dim.windowDilation = lists.windowDilations[index];
  }
  if (!lists.padding)
    return window;
  for (auto [index, entry] :
       llvm::enumerate(lists.padding.getValues<int64_t>())) {
    WindowDimension &dim = window[index / 2];
    (index % 2 == 0 ? dim.paddingLow : dim.paddingHigh) = entry;
  }
  return window;
}

/// The number of windows along a dimension; dynamic if the size or that of the
/// window is, nothing if it is too large.
static std::optional<int64_t> countWindows(int64_t size,
                                           const WindowDimension &window) {
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(window.size))
    return ShapedType::kDynamic;
  WideSize padded = dilateSize(size, window.baseDilation - 1) +
                    window.paddingLow + window.paddingHigh;
  WideSize dilatedWindow = dilateSize(window.size, window.windowDilation - 1);
  if (padded <= 0 || dilatedWindow > padded)
    return 0;
  return toSize((padded - dilatedWindow) / window.stride + 1);
}

FailureOr<SmallVector<int64_t>>
stablehlo::countWindows(std::optional<Location> location,
                        ArrayRef<int64_t> shape,
                        ArrayRef<WindowDimension> window) {
  SmallVector<int64_t> counts;
  for (auto [index, size, dim] : llvm::enumerate(shape, window)) {
    std::optional<int64_t> count = ::countWindows(size, dim);
    if (!count)
      return emitOptionalError(location,
                               "has more than 2^63 - 1 windows along "
                               "dimension ",
                               index, " of the window");
    counts.push_back(*count);
  }
  return counts;
}
