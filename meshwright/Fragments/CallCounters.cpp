//===- CallCounters.cpp ---------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/CallCounters.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Fragments/FragmentWalk.h"

using namespace mlir;
using namespace mlir::mpmd;

LogicalResult mpmd::verifyCallCounters(func::FuncOp func) {
  LogicalResult result = success();
  walkOutsideFragments<FragmentOp>(func, [&](FragmentOp fragment) {
    auto counter = fragment->getAttrOfType<IntegerAttr>(kCallCounterAttr);
    if (!counter || counter.getType().isUnsignedInteger(32))
      return;
    fragment.emitError() << "`" << kCallCounterAttr << "` has type "
                         << counter.getType()
                         << ", but a call counter must be a ui32; write it as "
                            "in `call_counter = 0 : ui32`";
    result = failure();
  });
  return result;
}
