//===- MainFunction.cpp - The function that a module is about -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/Transforms/MainFunction.h"
#include "meshwright/Dialect/Sdy/SharedBodyCall.h"

using namespace mlir;

FailureOr<func::FuncOp> sdy::getMainFunction(ModuleOp module) {
  auto funcs = module.getOps<func::FuncOp>();
  bool isSingle = llvm::hasSingleElement(funcs);
  for (func::FuncOp func : funcs)
    if ((isSingle || func.getName() == "main") && !sdy::isSharedBody(func))
      return func;
  return module.emitError()
         << "module has no main function; expected a single function, or one "
            "called @main, that does not have the attribute "
         << sdy::kSharedBody;
}
