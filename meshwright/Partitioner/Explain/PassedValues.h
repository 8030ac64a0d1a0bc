//===- PassedValues.h - What goes into functions and out --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_EXPLAIN_PASSEDVALUES_H
#define MESHWRIGHT_PARTITIONER_EXPLAIN_PASSEDVALUES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace meshwright {

/// The values of a module that arguments and results of calls are.
class PassedValues {
public:
  explicit PassedValues(mlir::ModuleOp module);

  /// The function `main`, if there is one.
  mlir::Operation *getMain() const;

  /// What calls pass for an argument; nothing if it is not of a function.
  llvm::SmallVector<mlir::Value> getPassed(mlir::BlockArgument arg) const;

  /// What a result of a call is: an operand of the call, if the function returns
  /// it as it came, else a value of the function. Null for what is no call of a
  /// function with a body, or what that does not return.
  mlir::Value getReturned(mlir::OpResult result) const;

private:
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::CallOpInterface, 1>>
      callsOf; ///< By function.
  /// By function, for each result the argument that is returned as it came.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::optional<unsigned>>>
      returnedArgs;
};

} // namespace meshwright

#endif
