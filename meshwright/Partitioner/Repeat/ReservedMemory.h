//===- ReservedMemory.h - What waits while a fragment runs ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_RESERVEDMEMORY_H
#define MESHWRIGHT_PARTITIONER_REPEAT_RESERVEDMEMORY_H

#include "meshwright/Partitioner/ExportedProgram.h"

namespace meshwright {

/// For each fragment the most bytes that other values take on a device of its mesh while
/// it runs, as `mpmd-mark-fragment-reserved-memory` marks them before there are
/// functions. None for programs with values in the memory of hosts.
std::optional<std::vector<int64_t>>
findReservedBytes(const ExportedProgram &program);

} // namespace meshwright

#endif
