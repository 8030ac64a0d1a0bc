//===- MainFunction.cpp - The function that a module is about -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"

using namespace mlir;

FailureOr<func::FuncOp> sdy::getMainFunction(ModuleOp module) {
  auto funcs = module.getOps<func::FuncOp>();
  if (llvm::hasSingleElement(funcs))
    return *funcs.begin();
  for (func::FuncOp func : funcs)
    if (func.getName() == "main")
      return func;
  return module.emitError() << "module has no main function; expected a single "
                               "function, or one called @main";
}
