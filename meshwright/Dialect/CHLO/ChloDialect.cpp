//===- ChloDialect.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/CHLO/ChloDialect.h"
#include "meshwright/Dialect/StableHLO/StructForm.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::chlo;

#include "meshwright/Dialect/CHLO/ChloDialect.cpp.inc"

#include "meshwright/Dialect/CHLO/ChloEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/CHLO/ChloAttrs.cpp.inc"

namespace {
/// Everything may be inlined into everything.
struct ChloInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const override {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void ChloDialect::initialize() {
  registerAttributes();
  registerOps();
  addInterfaces<ChloInlinerInterface>();
}

void ChloDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "meshwright/Dialect/CHLO/ChloAttrs.cpp.inc"
      >();
}

Operation *ChloDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
