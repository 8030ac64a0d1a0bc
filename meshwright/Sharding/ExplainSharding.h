//===- ExplainSharding.h - Where the axes of a value come from --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SHARDING_EXPLAINSHARDING_H
#define MESHWRIGHT_SHARDING_EXPLAINSHARDING_H

#include "meshwright/Sharding/Pipeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::mpmd {

/// The passes of the shard phase before propagation; those of a program
/// without meshes if there are no options.
void addExplainPreparation(OpPassManager &passes,
                           const ShardingPropagationOptions *options);

/// Spreads the shardings of a module that is so prepared, and prints of each
/// axis of some values which annotation it comes from, and by which ops. The
/// values are those that `value` names: `arg 0` or `result 0` of the main
/// function, a line, `file:line` or `file:line:column`, or a name that their
/// location bears; all that are sharded if it is empty. Fails, with an error,
/// if there are none.
LogicalResult explainShardings(ModuleOp module, StringRef value,
                               llvm::raw_ostream &os);

} // namespace mlir::mpmd

#endif
