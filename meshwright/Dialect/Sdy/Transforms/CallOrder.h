//===- CallOrder.h - Which functions call which -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_CALLORDER_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_CALLORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::sdy {

/// On a function that is the clone of another: the name of that one.
inline constexpr llvm::StringLiteral kOriginalFuncNameAttr =
    "sdy.original_func_name";

struct CallOrder {
  /// All functions of the module; those that do not call each other in the
  /// reverse order of the module.
  SmallVector<func::FuncOp> calleesFirst;
  /// A call that closes a cycle; null if there is none.
  func::CallOp recursiveCall;
};

CallOrder getCallOrder(ModuleOp module, const SymbolTable &symbols);

/// As above; reports an error on the recursive call if there is one.
FailureOr<CallOrder> getCallOrderWithoutRecursion(ModuleOp module,
                                                  const SymbolTable &symbols);

/// The function of the module that is called; null for anything else.
func::FuncOp getCallee(func::CallOp call, const SymbolTable &symbols);

} // namespace mlir::sdy

#endif
