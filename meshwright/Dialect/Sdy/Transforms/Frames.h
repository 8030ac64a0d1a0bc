//===- Frames.h - Data-flow ops around shared bodies ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What shares a body with others (Sdy/SharedBodyCall.h) is nothing but a
// frame around the call:
//
//   %r = mpmd.fragment (%x) (%a) {%0 = custom_call @mpmd.shared_body(%a)
//                                 return %0}
//
// Its edges are the only thing of it that there is once for each frame, and by far
// the most of a large program. So they get no ops, and propagation gives them
// their numbers in its table, where those ops would be.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_SDY_TRANSFORMS_FRAMES_H
#define MESHWRIGHT_DIALECT_SDY_TRANSFORMS_FRAMES_H

#include "meshwright/Dialect/Sdy/SdyDialect.h"

namespace mlir::sdy {

/// Whether an op has a block in which there are calls of shared bodies only, and
/// edges for all arguments and results, each with one source.
bool isFrame(DataFlowOpInterface op);

} // namespace mlir::sdy

#endif
