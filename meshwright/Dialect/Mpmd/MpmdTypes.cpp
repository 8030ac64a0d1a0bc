//===- MpmdTypes.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/AttrSyntax.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mpmd;

#define GET_TYPEDEF_CLASSES
#include "meshwright/Dialect/Mpmd/MpmdTypes.cpp.inc"

void MpmdDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "meshwright/Dialect/Mpmd/MpmdTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

static ParseResult parseMemoryKind(AsmParser &parser, StringAttr &memoryKind) {
  return failure(parser.parseKeyword("memory_kind") || parser.parseEqual() ||
                 parser.parseAttribute(memoryKind));
}

Type MeshTensorType::parse(AsmParser &parser) {
  StringAttr meshName, memoryKind;
  RankedTensorType tensorType;
  sdy::TensorShardingAttr sharding;
  if (parser.parseLess() || parser.parseAttribute(meshName) ||
      parser.parseComma() || parser.parseType(tensorType))
    return {};
  auto finish = [&]() -> Type {
    if (parser.parseGreater())
      return {};
    return get(parser.getContext(), meshName, tensorType, sharding, memoryKind);
  };
  if (succeeded(parser.parseOptionalGreater()))
    return get(parser.getContext(), meshName, tensorType);
  if (parser.parseComma())
    return {};
  if (succeeded(parser.parseOptionalKeyword("sharding"))) {
    if (parser.parseEqual() ||
        parser.parseCustomAttributeWithFallback(sharding))
      return {};
    if (failed(parser.parseOptionalComma()))
      return finish();
  }
  if (parseMemoryKind(parser, memoryKind))
    return {};
  return finish();
}

void MeshTensorType::print(AsmPrinter &printer) const {
  printer << '<';
  printName(printer, getMeshName());
  printer << ", " << getRankedTensorType();
  if (getSharding()) {
    printer << ", sharding=";
    printer.printStrippedAttrOrType(getSharding());
  }
  if (getMemoryKind())
    printer << ", memory_kind=" << getMemoryKind();
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

RankedTensorType MeshTensorType::getLocalTensorType(sdy::MeshAttr mesh) const {
  RankedTensorType type = getRankedTensorType();
  return getSharding() ? getSharding().getLocalTensorType(type, mesh) : type;
}

bool MeshTensorType::isFullyReplicated() const {
  return !getSharding() || llvm::all_of(getSharding().getDimShardings(),
                                        [](sdy::DimensionShardingAttr dim) {
                                          return dim.getAxes().empty();
                                        });
}

bool MeshTensorType::isOnHost() const {
  return getMemoryKind() && getMemoryKind().getValue() == kMemoryKindPinnedHost;
}

MeshTensorType
MeshTensorType::replaceSharding(sdy::TensorShardingAttr sharding) const {
  return get(getContext(), getMeshName(), getRankedTensorType(), sharding,
             getMemoryKind());
}

/// A sharding says something about each dimension, so it ends with the shape.
MeshTensorType MeshTensorType::cloneWith(std::optional<ArrayRef<int64_t>> shape,
                                         Type elementType) const {
  RankedTensorType type = getRankedTensorType();
  auto clone = RankedTensorType::get(shape.value_or(type.getShape()),
                                     elementType, type.getEncoding());
  return get(getContext(), getMeshName(), clone,
             shape ? sdy::TensorShardingAttr() : getSharding(),
             getMemoryKind());
}

LogicalResult MeshTensorType::verifyForTopology(Operation *op) const {
  FailureOr<sdy::MeshAttr> mesh = getMeshOrError(op, getMeshName());
  return failed(mesh) ? failure() : verifyForMesh(op, *mesh);
}

LogicalResult MeshTensorType::verifyForMesh(Operation *op,
                                            sdy::MeshAttr mesh) const {
  if (!getSharding())
    return success();
  return sdy::verifySharding(
      getRankedTensorType(), getSharding(), mesh,
      [op] { return op->emitOpError(); }, /*checkDivisibility=*/true);
}

bool mpmd::isStablehloTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return false;
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    return complex.getElementType().isF32() || complex.getElementType().isF64();
  if (isa<quant::QuantizedType>(element))
    return true;
  auto isOneOf = [](unsigned width, ArrayRef<unsigned> widths) {
    return llvm::is_contained(widths, width);
  };
  if (auto real = dyn_cast<FloatType>(element))
    return isOneOf(real.getWidth(), {4, 6, 8, 16, 32, 64});
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || integer.isSigned())
    return false;
  if (integer.getWidth() == 1)
    return integer.isSignless();
  return isOneOf(integer.getWidth(), {2, 4, 8, 16, 32, 64});
}

Type mpmd::getGlobalType(Type type) {
  if (auto meshTensor = dyn_cast<MeshTensorType>(type))
    return meshTensor.getGlobalTensorType();
  return type;
}
