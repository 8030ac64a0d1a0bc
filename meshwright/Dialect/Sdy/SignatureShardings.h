//===- SignatureShardings.h - All shardings of a function -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_SIGNATURESHARDINGS_H
#define MESHWRIGHT_DIALECT_SDY_SIGNATURESHARDINGS_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::sdy {

/// An argument or result of a function.
struct SignatureEntry {
  bool isResult;
  unsigned index;
  Type type;
  TensorShardingAttr sharding; ///< Null if it has none.
};

/// Gives each argument, then each result, the sharding that `update` returns for
/// it, or none. The lists are replaced as a whole: each change of a single entry
/// would leave a list of all entries in the context, which is quadratic.
void updateSignatureShardings(
    func::FuncOp func,
    llvm::function_ref<TensorShardingAttr(const SignatureEntry &)> update);

} // namespace mlir::sdy

#endif
