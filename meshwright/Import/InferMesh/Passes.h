//===- Passes.h -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INFERMESH_PASSES_H
#define MESHWRIGHT_IMPORT_INFERMESH_PASSES_H

#include "meshwright/Import/Place/MeshAssignment.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::mpmd {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "meshwright/Import/InferMesh/Passes.h.inc"
} // namespace mlir::mpmd

#endif
