//===- CallOrder.h - Which functions func.call calls ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_CALLS_CALLORDER_H
#define MESHWRIGHT_DIALECT_SDY_CALLS_CALLORDER_H

#include "meshwright/Calls/CallOrder.h"

namespace mlir::sdy {

using meshwright::getCallee;

/// On a function that is the clone of another: the name of that one.
inline constexpr llvm::StringLiteral kOriginalFuncNameAttr =
    "sdy.original_func_name";

inline bool isFuncCall(Operation *op) { return isa<func::CallOp>(op); }

/// The order of the calls of dialect func, all of which will be inlined. Reports
/// the first recursive call, and programs that would have more operations than
/// `maxInlinedOps`.
FailureOr<meshwright::CallOrder> getOrderOfInlining(ModuleOp module,
                                                    const SymbolTable &symbols,
                                                    int64_t maxInlinedOps);

/// Reports a call in a manual computation of a function that names axes which are
/// manual there.
LogicalResult verifyManualAxes(func::CallOp call, func::FuncOp callee);

} // namespace mlir::sdy

#endif
