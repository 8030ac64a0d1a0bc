//===- ScheduleFile.h - The order that schedule.json says -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_SCHEDULEFILE_H
#define MESHWRIGHT_SIMULATOR_SCHEDULEFILE_H

#include "meshwright/Partitioner/ExportedProgram.h"
#include "llvm/Support/Error.h"

namespace meshwright {

/// Gives each mesh of a program the order of items that a schedule.json of the
/// same export has for it; it may have been edited. Fails if the file is
/// of another version or another program, or misses or repeats an item.
llvm::Error readOrder(llvm::StringRef text, ExportedProgram &program);

} // namespace meshwright

#endif
