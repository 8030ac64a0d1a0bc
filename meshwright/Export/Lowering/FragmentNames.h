//===- FragmentNames.h - Names of lowered fragments -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_LOWERING_FRAGMENTNAMES_H
#define MESHWRIGHT_EXPORT_LOWERING_FRAGMENTNAMES_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include <string>

namespace mlir::mpmd {

/// Whether no origin of these fragments is transposed. Names of a program that
/// only goes forward do not say so.
bool isAllForward(ArrayRef<FragmentOp> fragments);

/// The name of the function that a group of fragments becomes, for people who
/// read profiles: the number of the group, what its first fragment is made of
/// and which calls the group represents, then the module.
///
///   p2_lyr_4:5....step          two layers, and something else
///   p2_stage7_bwd.step          the backward half of a stage
///   p2_s_calls4to6.step         microbatches 4, 5 and 6, in this order
///
/// A name that would be too long is cut before the module.
std::string getFunctionName(unsigned groupNumber, ArrayRef<FragmentOp> group,
                            bool allForward, StringRef moduleName);

} // namespace mlir::mpmd

#endif
