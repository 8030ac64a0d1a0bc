//===- WindowShape.h - How many windows fit ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_WINDOWSHAPE_H
#define MESHWRIGHT_DIALECT_STABLEHLO_WINDOWSHAPE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include <optional>

namespace mlir::stablehlo {

/// A window that slides along one dimension.
struct WindowDimension {
  int64_t size = 0;
  int64_t stride = 1;
  int64_t paddingLow = 0;
  int64_t paddingHigh = 0;
  int64_t baseDilation = 1;
  int64_t windowDilation = 1;
};

/// The lists that describe a window; all but the sizes may be empty.
struct WindowLists {
  ArrayRef<int64_t> sizes;
  ArrayRef<int64_t> strides;
  DenseIntElementsAttr padding;
  ArrayRef<int64_t> baseDilations;
  ArrayRef<int64_t> windowDilations;
  ArrayRef<bool> reversal;
};

/// Combines the lists by dimension. Fails, with an error if there is a
/// location, if a list has another length than the sizes, the padding is not
/// Nx2, or a size, stride or dilation is not positive.
FailureOr<SmallVector<WindowDimension>>
buildWindow(std::optional<Location> location, const WindowLists &lists);

/// Returns the number of windows along every dimension of a shape; dynamic
/// where the size or that of the window is. Fails, with an error if there is a
/// location, if one is more than the largest size.
FailureOr<SmallVector<int64_t>> countWindows(std::optional<Location> location,
                                             ArrayRef<int64_t> shape,
                                             ArrayRef<WindowDimension> window);

} // namespace mlir::stablehlo

#endif
