//===- LocationText.h - Locations inside messages ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_LOCATIONTEXT_H
#define MESHWRIGHT_TEXT_LOCATIONTEXT_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include <string>

namespace mlir::mpmd {

/// Prints a location for the text of a message: a location with call sites as a
/// stack trace, innermost frame first, a bare name as the quoted name, anything
/// else the way MLIR does.
///
///   f.py:12:4 to 20
///   ^ "f"
///   main.py:3:0 to 11
std::string getLocationText(Location loc);

} // namespace mlir::mpmd

#endif
