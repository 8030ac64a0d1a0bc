//===- CallInliner.h - Copies callees to their calls ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_IMPORT_INLINE_CALLINLINER_H
#define MESHWRIGHT_IMPORT_INLINE_CALLINLINER_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Import/Inline/BlockTemplate.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::mpmd {

/// Replaces calls of one module by copies of the callees' bodies. A callee has
/// as many copies as there are microbatches, and all of them together are most
/// of the program, so they are made from templates.
class CallInliner {
public:
  struct Options {
    /// Make call sites of the locations in regions too.
    bool markNestedLocs;
    /// All copies together have no more operations than this.
    int64_t maxOps;
  };

  explicit CallInliner(Options options) : options(options) {}

  /// Says that the body of `func` changes between copies of it.
  void addChanging(func::FuncOp func) { changing.insert(func); }

  /// Replaces `call` by a copy of what the callee is now, and calls `onCopy`
  /// for each op of it. Reports an error on a callee that is no function of one
  /// block that returns, on numbers of operands and results that are not the callee's, and
  /// if the copy is too much.
  LogicalResult run(CallOp call, function_ref<void(Operation *)> onCopy);

private:
  FailureOr<func::FuncOp> getCallee(CallOp call);
  std::shared_ptr<const BlockTemplate> getTemplate(func::FuncOp callee);

  Options options;
  int64_t numOps = 0;
  SymbolTableCollection symbolTables;
  DenseSet<Operation *> changing;
  DenseMap<Operation *, std::shared_ptr<const BlockTemplate>> templates;
};

/// Sets attributes of a call on an op of its callee, except those that mean
/// something else there, as the mesh of a fragment or what is known of operands.
void giveDiscardableAttrs(ArrayRef<NamedAttribute> attrs, Operation *op);

} // namespace mlir::mpmd

#endif
