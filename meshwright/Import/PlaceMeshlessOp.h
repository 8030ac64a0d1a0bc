//===- PlaceMeshlessOp.h - Move an op where it is used ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_PLACEMESHLESSOP_H
#define MESHWRIGHT_IMPORT_PLACEMESHLESSOP_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::mpmd {

/// Puts `op`, whose results are read by assigns only, into fragments, and
/// erases it together with these assigns:
///
///   one fragment, nothing else     the op moves into it
///   a few fragments                each of them gets a clone
///   anything else                  a new fragment per mesh, which all read
///
/// An op that is cheap to repeat is cloned however many fragments there are,
/// others into `maxClones` at most. Reports an op with other users, or none.
LogicalResult placeMeshlessOp(Operation *op, int maxClones,
                              RewriterBase &rewriter);

} // namespace mlir::mpmd

#endif
