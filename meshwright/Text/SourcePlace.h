//===- SourcePlace.h - Where in a user's file something is ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_SOURCEPLACE_H
#define MESHWRIGHT_TEXT_SOURCEPLACE_H

#include "mlir/IR/Location.h"
#include <optional>
#include <string>

namespace meshwright {

struct SourcePlace {
  std::string file;
  unsigned line;
  unsigned column;

  /// "file:line:column".
  std::string getText() const;
};

/// The first place in a file of the user's that a location names: the
/// innermost frame of a call stack, the first part of a fused location. If all
/// are in installed Python packages, the first of these.
std::optional<SourcePlace> findSourcePlace(mlir::Location location);

} // namespace meshwright

#endif
