//===- SdyDialect.cpp - Registration --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"

#include "meshwright/Dialect/Sdy/Syntax/AttrSyntax.h"
#include "meshwright/Dialect/Sdy/Syntax/OpSyntax.h"
#include "meshwright/Dialect/StableHLO/Misc/BytecodeForm.h"
#include "meshwright/Dialect/StableHLO/ResultAttrs.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::sdy;

#include "meshwright/Dialect/Sdy/SdyDialect.cpp.inc"

#include "meshwright/Dialect/Sdy/DataFlowOpInterface.cpp.inc"
#include "meshwright/Dialect/Sdy/ShardingRuleOpInterface.cpp.inc"

#define GET_OP_CLASSES
#include "meshwright/Dialect/Sdy/SdyOps.cpp.inc"

namespace {

/// Any op of the dialect may be inlined anywhere but the end of a function: only
/// func.return is known to be one.
struct SdyInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *op, Region *, bool, IRMapping &) const final {
    return !isa<sdy::ReturnOp>(op) ||
           !isa_and_nonnull<FunctionOpInterface>(op->getParentOp());
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

/// An op that loses results loses their shardings. A rule, which maps operands
/// to results, is for one op alone.
struct SdyResultAttrs : stablehlo::ResultAttrs {
  using ResultAttrs::ResultAttrs;

  Attribute withoutResults(NamedAttribute attr,
                           const BitVector &dropped) const final {
    if (attr.getName() != kShardingAttr)
      return attr.getValue();
    auto perValue = dyn_cast<TensorShardingPerValueAttr>(attr.getValue());
    if (!perValue || dropped.all())
      return {};
    SmallVector<TensorShardingAttr> kept;
    for (auto [index, sharding] : llvm::enumerate(perValue.getShardings()))
      if (!dropped[index])
        kept.push_back(sharding);
    return TensorShardingPerValueAttr::get(getContext(), kept);
  }

  bool describesOperands(NamedAttribute attr) const final {
    return attr.getName() == kShardingRuleAttr;
  }
};

} // namespace

void SdyDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "meshwright/Dialect/Sdy/SdyOps.cpp.inc"
      >();
  addInterfaces<SdyInlinerInterface, SdyResultAttrs>();
  attachStablehloDataFlow();
}
