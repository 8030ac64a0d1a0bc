//===- InlinedSize.h - How much inlining would make -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_CALLS_INLINEDSIZE_H
#define MESHWRIGHT_CALLS_INLINEDSIZE_H

#include "meshwright/Calls/CallOrder.h"
#include "llvm/ADT/DenseMap.h"

namespace meshwright {

/// More operations than this are hardly meant: a program of a hundred layers
/// and as many microbatches stays below.
inline constexpr int64_t kMaxInlinedOps = 1 << 19;

/// What inlining makes of functions, found out without doing it: a function
/// that calls another twice, which calls a third one twice, and so on, doubles
/// with each. Recursive calls count as ops that stay.
class InlinedSize {
public:
  InlinedSize(const CallOrder &order, const mlir::SymbolTable &symbols,
              CallFilter isInlined);

  /// The number of ops in `func` once all calls are inlined; the greatest
  /// number also represents all greater ones.
  uint64_t getNumOps(mlir::func::FuncOp func) const { return sizes.at(func); }

private:
  llvm::DenseMap<mlir::Operation *, uint64_t> sizes;
};

/// Reports an error, at the call that goes too far, if inlining in the
/// functions that nothing else calls makes more than `limit` operations out of
/// calls, and names the option that allows more.
llvm::LogicalResult verifyInlinedSize(const CallOrder &order,
                                      const mlir::SymbolTable &symbols,
                                      CallFilter isInlined, int64_t limit);

} // namespace meshwright

#endif
