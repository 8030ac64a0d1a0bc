//===- StablehloDialect.cpp -----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::stablehlo;

#include "meshwright/Dialect/StableHLO/StablehloDialect.cpp.inc"

/// One error where a type is wrong, not one more for each future around it: each
/// repeats the line of the program.
static ParseResult parseFutureTypes(AsmParser &parser,
                                    SmallVector<Type> &types) {
  return parser.parseCommaSeparatedList(
      [&] { return parser.parseType(types.emplace_back()); });
}

static void printFutureTypes(AsmPrinter &printer, ArrayRef<Type> types) {
  llvm::interleaveComma(types, printer.getStream());
}

#define GET_TYPEDEF_CLASSES
#include "meshwright/Dialect/StableHLO/StablehloTypes.cpp.inc"

namespace {
/// Everything may be inlined into everything but the end of a function: only
/// func.return is known to be one.
struct StablehloInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const override {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const override {
    return true;
  }
  bool isLegalToInline(Operation *op, Region *, bool,
                       IRMapping &) const override {
    return !isa<ReturnOp>(op) ||
           !isa_and_nonnull<FunctionOpInterface>(op->getParentOp());
  }
};
} // namespace

void StablehloDialect::initialize() {
  registerElementwiseOps();
  registerShapeOps();
  registerMiscOps();
  registerContractionOps();
  registerGatherScatterOps();
  registerRegionOps();
  registerCollectiveOps();
  registerAttributes();
  registerTypes();
  addInterfaces<StablehloInlinerInterface>();
}

void StablehloDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "meshwright/Dialect/StableHLO/StablehloTypes.cpp.inc"
      >();
}

Operation *StablehloDialect::materializeConstant(OpBuilder &builder,
                                                 Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

LogicalResult
FutureType::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   ArrayRef<Type> types) {
  for (Type type : types)
    if (!isa<RankedTensorType>(type))
      return emitError() << "future holds " << type
                         << ", expected only ranked tensor types";
  return success();
}
