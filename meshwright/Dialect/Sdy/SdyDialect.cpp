//===- SdyDialect.cpp - Registration --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"

#include "meshwright/Dialect/Sdy/AttrSyntax.h"
#include "meshwright/Dialect/Sdy/OpSyntax.h"
#include "meshwright/Dialect/Sdy/StablehloDataFlow.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::sdy;

#include "meshwright/Dialect/Sdy/SdyDialect.cpp.inc"

#include "meshwright/Dialect/Sdy/DataFlowOpInterface.cpp.inc"
#include "meshwright/Dialect/Sdy/ShardingRuleOpInterface.cpp.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/Sdy/SdyOps.cpp.inc"

namespace {

/// Any op of the dialect may be inlined anywhere.
struct SdyInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

} // namespace

void SdyDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/Sdy/SdyOps.cpp.inc"
      >();
  addInterfaces<SdyInlinerInterface>();
  attachStablehloDataFlow(getContext());
}
