//===- Figures.h - How large a figure in a file may be ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_FIGURES_H
#define MESHWRIGHT_TEXT_FIGURES_H

namespace meshwright {

/// Of seconds, bytes, flops and all else that files tell: more is an error, and
/// sums and products of such might be no numbers.
inline constexpr double kMostFigure = 1e30;

} // namespace meshwright

#endif
