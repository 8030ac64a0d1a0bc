//===- ReduceProgram.h - Fewer operations, the same mistake -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TOOLS_MPMD_REDUCE_REDUCEPROGRAM_H
#define MESHWRIGHT_TOOLS_MPMD_REDUCE_REDUCEPROGRAM_H

namespace meshwright {

/// Registers `mpmd-reduce-program{test=SCRIPT test-arg=ARG,...}`. The script
/// gets the arguments and a file, and exits with 1 if the program in it still
/// shows what is looked for, as for MLIR's `reduction-tree`.
void registerReduceProgramPass();

} // namespace meshwright

#endif
