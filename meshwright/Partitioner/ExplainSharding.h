//===- ExplainSharding.h - Which annotation an axis comes from --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_EXPLAINSHARDING_H
#define MESHWRIGHT_PARTITIONER_EXPLAINSHARDING_H

#include "meshwright/Partitioner/PartitionConfig.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Prints what `explainShardings` of the shard phase tells of a value. With a
/// configuration the program is imported and optimized first; without one it is
/// taken as it is. The module is then in an unspecified, though valid, state.
mlir::LogicalResult explainSharding(mlir::ModuleOp module,
                                    const PartitionConfig *config,
                                    llvm::StringRef value,
                                    llvm::raw_ostream &os);

} // namespace meshwright

#endif
