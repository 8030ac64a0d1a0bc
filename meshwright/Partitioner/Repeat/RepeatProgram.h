//===- RepeatProgram.h - A program of more microbatches ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The description of a program whose loop over the microbatches was shortened
// (ShortenLoop.h) becomes that of the whole program:
//
// - each item is of a kind and, as its call or what it moves says, of a microbatch. All
//   microbatches but those near the beginning and the end must read the same, as far
//   before or after them, or from where all of them are cut or collected;
// - the order is continued (RepeatOrder.h), or made by the schedule (ScheduledOrder.h);
// - last uses, memory, and the order of issue are found out again.
//
// Everything is checked: a program in which anything else depends on the microbatch is
// not continued.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_REPEATPROGRAM_H
#define MESHWRIGHT_PARTITIONER_REPEAT_REPEATPROGRAM_H

#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Partitioner/Repeat/ProgramLabels.h"
#include "meshwright/Partitioner/Repeat/RepeatOrder.h"
#include <functional>
#include <string>

namespace meshwright {

/// The calls of a mesh, in order.
using RepeatedCalls = std::vector<RepeatedEntry>;

/// Whether the calls of the meshes are in the order of the schedule; first those of few
/// microbatches, then those of all.
using OrderCheck = std::function<bool(const std::vector<RepeatedCalls> &few,
                                      const std::vector<RepeatedCalls> &many)>;

/// Makes the order of all microbatches; none if that is not possible.
using OrderMaker = std::function<std::optional<std::vector<RepeatedEntry>>(
    const ExportedProgram &few, const ProgramLabels &labels)>;

/// Makes the whole of a program of few microbatches, whose functions are renamed as if
/// they were of the whole. None, and why, if that is not possible.
std::optional<ExportedProgram> repeatProgram(const ExportedProgram &program,
                                             const RepeatCounts &counts,
                                             const OrderMaker &makeOrder,
                                             const OrderCheck &isInOrder,
                                             std::string &whyNot);

} // namespace meshwright

#endif
