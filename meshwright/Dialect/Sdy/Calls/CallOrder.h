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

/// The order of the calls of dialect func; reports an error on the first
/// recursive call if there is one.
FailureOr<meshwright::CallOrder>
getCallOrderWithoutRecursion(ModuleOp module, const SymbolTable &symbols);

} // namespace mlir::sdy

#endif
