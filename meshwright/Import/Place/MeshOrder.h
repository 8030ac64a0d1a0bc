//===- MeshOrder.h - The order of mesh names --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PLACE_MESHORDER_H
#define MESHWRIGHT_IMPORT_PLACE_MESHORDER_H

#include "llvm/ADT/StringRef.h"

namespace mlir::mpmd {

/// Whether mesh `a` comes before mesh `b`: by the numbers their names end in,
/// `m2` before `m10`, or as strings if one of them ends in none. Sort stably:
/// names that end in the same number are equivalent.
///
/// COMPAT(mesh-order): No strict weak order where names with and without
/// numbers mix.
bool meshBefore(llvm::StringRef a, llvm::StringRef b);

} // namespace mlir::mpmd

#endif
