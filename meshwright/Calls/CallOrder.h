//===- CallOrder.h - Which functions call which -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CALLS_CALLORDER_H
#define MESHWRIGHT_CALLS_CALLORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"

namespace meshwright {

/// Which calls count. Is asked for every op.
using CallFilter = llvm::function_ref<bool(mlir::Operation *)>;

struct CallOrder {
  /// All functions of the module; those that do not call each other in the
  /// reverse order of the module.
  llvm::SmallVector<mlir::func::FuncOp> calleesFirst;
  /// The calls that close a cycle.
  llvm::SmallVector<mlir::CallOpInterface> recursiveCalls;
  /// Whether there are any calls.
  bool hasCalls = false;
};

/// Looks at the calls that pass `isCounted`, at any depth in the functions.
CallOrder getCallOrder(mlir::ModuleOp module, const mlir::SymbolTable &symbols,
                       CallFilter isCounted);

/// The function of the module that is called; null for anything else. A call in
/// a module within the module calls none: names are looked up there.
mlir::func::FuncOp getCallee(mlir::CallOpInterface call,
                             const mlir::SymbolTable &symbols);

} // namespace meshwright

#endif
