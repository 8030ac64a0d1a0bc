//===- NumberLimits.h - How large a number in a file may be -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_NUMBERLIMITS_H
#define MESHWRIGHT_TEXT_NUMBERLIMITS_H

namespace meshwright {

/// Of seconds, bytes, flops and all other quantities of files: more is an error, and
/// sums and products of such might be no numbers.
inline constexpr double kMaxNumber = 1e30;

} // namespace meshwright

#endif
