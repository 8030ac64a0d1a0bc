//===- SplitOverlaps.h - A program without overlapped pairs -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The two parts of an overlapped pair need nothing of each other, so that each can be
// cut out of the program of both by what it returns:
//
//   call [enc, dec(1)] (a, b) -> (c, d)
//   // becomes
//   call [enc]    (a) -> (c)
//   call [dec(1)] (b) -> (d)
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PROGRAM_SPLITOVERLAPS_H
#define MESHWRIGHT_SIMULATOR_PROGRAM_SPLITOVERLAPS_H

#include "meshwright/Partitioner/ExportedProgram.h"

namespace meshwright {

struct SplitProgram {
  ExportedProgram program;
  /// For each item of the program that was split, its first item here; at the end,
  /// their number.
  std::vector<unsigned> firstItem;
};

/// Whether a program has overlapped pairs.
bool hasOverlaps(const ExportedProgram &program);

/// Gives each part of an overlapped pair a call and a function of its own, which is
/// put into the module of the program. Values keep their numbers. What ops do that no
/// result depends on is left out.
SplitProgram splitOverlaps(const ExportedProgram &program);

} // namespace meshwright

#endif
