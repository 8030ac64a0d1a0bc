//===- Substitutes.h - What to read instead ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MPMD_REDUCE_SUBSTITUTES_H
#define MESHWRIGHT_TOOLS_MPMD_REDUCE_SUBSTITUTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

namespace meshwright {

/// Finds values that readers can read instead of one that goes.
class Substitutes {
public:
  explicit Substitutes(mlir::ModuleOp module);

  /// The functions that may get and lose arguments and results: nothing calls
  /// them.
  llvm::ArrayRef<mlir::func::FuncOp> getEntries() const { return entries; }
  bool isEntry(mlir::Operation *op) const { return entrySet.contains(op); }

  /// An operand of the same type, an argument of the block or zeros. With
  /// `addsArguments`, a new argument rather than zeros. Null if there is none.
  mlir::Value find(mlir::OpResult result, bool addsArguments);

private:
  mlir::Value addArgument(mlir::Block *block, mlir::Type type,
                          mlir::Location loc);
  mlir::Value findOrAddArgument(mlir::Block *block, mlir::Type type,
                                mlir::Location loc);

  llvm::SmallVector<mlir::func::FuncOp> entries;
  llvm::DenseSet<mlir::Operation *> entrySet;
};

/// Lets readers of arguments in `taken` read another one of the same type.
/// Returns those that nothing reads then.
llvm::BitVector replaceArguments(mlir::Block &block,
                                 const llvm::BitVector &taken);

/// Zeros of a type, or null.
mlir::Value makeZeros(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Type type);

/// Whether this is a constant of zeros, which represent something removed.
bool isZeros(mlir::Operation *op);

} // namespace meshwright

#endif
