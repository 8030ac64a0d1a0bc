//===- MeshSetPropagation.h - Where values are needed and had ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The two analyses of mesh inference, for who needs their outcome beside the
// passes that are called after them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_MESHSETS_MESHSETPROPAGATION_H
#define MESHWRIGHT_IMPORT_MESHSETS_MESHSETPROPAGATION_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::mpmd {

/// What `mpmd-infer-mesh-populate-use-set` does. Returns how often a set was
/// changed.
unsigned populateUseSets(ModuleOp module);

/// What `mpmd-infer-mesh-populate-src-set` does; needs the use sets.
unsigned populateSrcSets(ModuleOp module);

} // namespace mlir::mpmd

#endif
