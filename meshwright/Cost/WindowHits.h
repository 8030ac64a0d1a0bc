//===- WindowHits.h - Positions of a window that count ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_WINDOWHITS_H
#define MESHWRIGHT_COST_WINDOWHITS_H

#include <cstdint>

namespace meshwright {

/// One spatial dimension of a convolution. Sizes are at least 0, strides and
/// dilations at least 1.
struct WindowDimension {
  int64_t input, kernel, output;
  int64_t stride = 1, padLow = 0;
  int64_t lhsDilation = 1, rhsDilation = 1;
};

/// Pairs of a kernel and an output position that meet a real input element,
/// not padding and not a hole of a dilation. In a number of steps that grows
/// with the digits of the sizes. Where these have more than 31 bits, all pairs.
double countWindowHits(const WindowDimension &window);

} // namespace meshwright

#endif
