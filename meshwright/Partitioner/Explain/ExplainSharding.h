//===- ExplainSharding.h - Which annotation an axis comes from --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_EXPLAIN_EXPLAINSHARDING_H
#define MESHWRIGHT_PARTITIONER_EXPLAIN_EXPLAINSHARDING_H

#include "meshwright/Files/ProgramText.h"
#include "meshwright/Partitioner/PartitionConfig.h"
#include "meshwright/Sharding/ExplainSharding.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// What `explainShardings` of the shard phase reports about a value, which may also be
/// called by its name in the text that the program comes from. With a
/// configuration the program is imported and optimized first; without one it is
/// taken as it is. The module is then in an unspecified, though valid, state.
mlir::FailureOr<std::vector<mlir::mpmd::ExplainedValue>>
explainSharding(mlir::ModuleOp module, const PartitionConfig *config,
                llvm::StringRef value, const WrittenValues &written);

} // namespace meshwright

#endif
