//===- KeptValues.h - Where the values of a body are kept -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What kernels leave for others is on the chip where there is room, else where a
// result will be that is not there yet, else in memory of its own: a temporary.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_TEMPORARIES_KEPTVALUES_H
#define MESHWRIGHT_COST_TEMPORARIES_KEPTVALUES_H

#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace meshwright {

struct Device;

/// The kernel of what is in none.
inline constexpr unsigned kNoKernel = ~0u;

/// Bytes that are in use from one op of a body to another, these included, by their
/// numbers.
struct KeptValue {
  double bytes;
  unsigned from, to;
  unsigned reader = kNoKernel; ///< The kernel of the last op.
};

/// A result of a body, which has its place from the beginning.
struct ResultPlace {
  double bytes;
  unsigned from; ///< The op that makes it.
  /// Ops at the beginning that read the argument which it takes over.
  unsigned taken = 0;
  unsigned writer = kNoKernel; ///< The kernel of the op that makes it.
  /// Whether that may write where it reads a value of as many bytes.
  bool isInPlace = false;
};

/// Most bytes at once.
struct KeptBytes {
  double bytes = 0;
  double places = 0; ///< With what is lost where a place has to begin.
};

/// What values take of a device's own memory.
///
/// `results` are those that values may be put in, none if they are of a loop.
/// `nested` is what the bodies of ops take, each while its op runs.
KeptBytes countKeptBytes(std::vector<KeptValue> values,
                         std::vector<ResultPlace> results,
                         llvm::ArrayRef<KeptValue> nested,
                         const Device &device);

} // namespace meshwright

#endif
