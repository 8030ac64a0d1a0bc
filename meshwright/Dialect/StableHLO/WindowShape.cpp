//===- WindowShape.cpp - How many windows fit -----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/WindowShape.h"
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

int64_t stablehlo::countWindows(int64_t size, const WindowDimension &window) {
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(window.size))
    return ShapedType::kDynamic;
  using Wide = __int128; // Products of what a user may write fit.
  auto dilate = [](Wide size, Wide dilation) {
    return size == 0 ? 0 : (size - 1) * dilation + 1;
  };
  Wide padded = dilate(size, window.baseDilation) + window.paddingLow +
                window.paddingHigh;
  Wide dilatedWindow = dilate(window.size, window.windowDilation);
  if (padded <= 0 || dilatedWindow > padded)
    return 0;
  Wide count = (padded - dilatedWindow) / window.stride + 1;
  return count > std::numeric_limits<int64_t>::max()
             ? ShapedType::kDynamic
             : static_cast<int64_t>(count);
}

SmallVector<int64_t> stablehlo::countWindows(ArrayRef<int64_t> shape,
                                             ArrayRef<WindowDimension> window) {
  SmallVector<int64_t> counts;
  for (auto [size, dim] : llvm::zip_equal(shape, window))
    counts.push_back(countWindows(size, dim));
  return counts;
}
