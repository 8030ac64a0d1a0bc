//===- MainFunction.h - The function that a module is about -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_MAINFUNCTION_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_MAINFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::sdy {

/// The only function of a module, else the one called `main`. Reports an error
/// on the module if there is none.
FailureOr<func::FuncOp> getMainFunction(ModuleOp module);

} // namespace mlir::sdy

#endif
