//===- ShardingAttrs.cpp - Shardings of dimensions, tensors, lists --------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/AxisAlgebra.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Syntax/AttrSyntax.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// DimensionShardingAttr
//===----------------------------------------------------------------------===//

int64_t DimensionShardingAttr::getShardedSize(MeshAttr mesh) const {
  return getTotalSize(getAxes(), mesh);
}

/// Parses `p<n>`, if the next token is a word.
static ParseResult parsePriority(AsmParser &parser,
                                 std::optional<int64_t> &priority) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (failed(parser.parseOptionalKeyword(&word)))
    return success();
  StringRef digits = word;
  if (!digits.consume_front("p") || digits.empty() ||
      !llvm::all_of(digits, llvm::isDigit))
    return parser.emitError(loc)
           << "expecting priority in format 'p<number>', got: " << word;
  if (digits.size() > 1 && digits.front() == '0')
    return parser.emitError(loc)
           << "priorities with leading zeros are not allowed, got: " << word;
  int64_t value;
  if (digits.getAsInteger(10, value))
    return parser.emitError(loc)
           << "expecting integer priority of at most 64 bits, got: " << word;
  priority = value;
  return success();
}

Attribute DimensionShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  if (parser.parseLBrace())
    return {};
  if (failed(parser.parseOptionalRBrace())) {
    do {
      if (succeeded(parser.parseOptionalQuestion())) {
        isClosed = false;
        break;
      }
      if (parser.parseCustomAttributeWithFallback(axes.emplace_back()))
        return {};
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRBrace())
      return {};
  }
  std::optional<int64_t> priority;
  if (parsePriority(parser, priority))
    return {};
  return get(parser.getContext(), axes, isClosed, priority);
}

void DimensionShardingAttr::print(AsmPrinter &printer) const {
  printer << '{';
  llvm::interleaveComma(getAxes(), printer, [&](AxisRefAttr axis) {
    printer.printStrippedAttrOrType(axis);
  });
  if (isOpen())
    printer << (emptyAxes() ? "?" : ", ?");
  printer << '}';
  if (getPriority())
    printer << 'p' << *getPriority();
}

//===----------------------------------------------------------------------===//
// TensorShardingAttr: text
//===----------------------------------------------------------------------===//

static ParseResult parseMeshOrRef(AsmParser &parser, Attribute &meshOrRef) {
  if (succeeded(parser.parseOptionalKeyword("mesh"))) {
    MeshAttr mesh;
    if (parser.parseCustomAttributeWithFallback(mesh))
      return failure();
    meshOrRef = mesh;
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  StringAttr symbol;
  if (failed(parser.parseOptionalSymbolName(symbol)))
    return parser.emitError(loc)
           << "expected a mesh: a symbol, or mesh<…> written inline";
  meshOrRef = FlatSymbolRefAttr::get(symbol);
  return success();
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  Attribute meshOrRef;
  SmallVector<DimensionShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  ReductionKindAttr kind;
  if (parser.parseLess() || parseMeshOrRef(parser, meshOrRef) ||
      parser.parseComma() || parseBracketedAttrs(parser, dims))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    if (replicated.empty() &&
        succeeded(parser.parseOptionalKeyword("replicated"))) {
      if (parser.parseEqual() || parseAxisRefs(parser, replicated))
        return {};
    } else if (unreduced.empty() &&
               succeeded(parser.parseOptionalKeyword("unreduced"))) {
      (void)parser.parseOptionalEqual();
      OptionalParseResult hasKind = parseOptionalReductionKind(parser, kind);
      if ((hasKind.has_value() && failed(*hasKind)) ||
          parseAxisRefs(parser, unreduced))
        return {};
    } else {
      parser.emitError(loc) << "expected valid named axis list after comma: "
                               "replicated={…} or unreduced={…}, each once";
      return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), meshOrRef, dims, replicated, unreduced,
             kind && !unreduced.empty() ? kind.getValue() : ReductionKind::Sum);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (auto mesh = dyn_cast<MeshAttr>(getMeshOrRef())) {
    printer << "mesh";
    printer.printStrippedAttrOrType(mesh);
  } else {
    printer << getMeshOrRef();
  }
  printer << ", ";
  printBracketedAttrs(printer, getDimShardings());
  if (!getReplicatedAxes().empty()) {
    printer << ", replicated=";
    printAxisRefs(printer, getReplicatedAxes());
  }
  if (!getUnreducedAxes().empty()) {
    printer << ", unreduced=";
    if (getReductionKind() != ReductionKind::Sum)
      printer << stringifyReductionKind(getReductionKind());
    printAxisRefs(printer, getUnreducedAxes());
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// TensorShardingAttr: making one
//===----------------------------------------------------------------------===//

/// The rank of a ranked shaped type; other values have no dimensions to shard.
static int64_t rankOrZero(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() ? shaped.getRank() : 0;
}

static TensorShardingAttr getUniform(int64_t rank, Attribute meshOrRef,
                                     DimensionShardingAttr dim) {
  SmallVector<DimensionShardingAttr> dims(rank, dim);
  return TensorShardingAttr::get(dim.getContext(), meshOrRef, dims, {}, {});
}

TensorShardingAttr TensorShardingAttr::getFullyOpen(MLIRContext *context,
                                                    int64_t rank,
                                                    Attribute meshOrRef) {
  return getUniform(rank, meshOrRef, DimensionShardingAttr::getOpen(context));
}

TensorShardingAttr
TensorShardingAttr::getFullyOpenLike(Type type, TensorShardingAttr sharding) {
  return getFullyOpen(sharding.getContext(), rankOrZero(type),
                      sharding.getMeshOrRef());
}

TensorShardingAttr TensorShardingAttr::getFullyClosed(MLIRContext *context,
                                                      int64_t rank,
                                                      Attribute meshOrRef) {
  return getUniform(rank, meshOrRef, DimensionShardingAttr::getClosed(context));
}

TensorShardingAttr TensorShardingAttr::replaceMesh(Attribute meshOrRef) const {
  return get(getContext(), meshOrRef, getDimShardings(), getReplicatedAxes(),
             getUnreducedAxes(), getReductionKind());
}

TensorShardingAttr TensorShardingAttr::replaceDimShardings(
    ArrayRef<DimensionShardingAttr> dims) const {
  return get(getContext(), getMeshOrRef(), dims, getReplicatedAxes(),
             getUnreducedAxes(), getReductionKind());
}

TensorShardingAttr
TensorShardingAttr::replaceReplicatedAxes(ArrayRef<AxisRefAttr> axes) const {
  return get(getContext(), getMeshOrRef(), getDimShardings(), axes,
             getUnreducedAxes(), getReductionKind());
}

TensorShardingAttr
TensorShardingAttr::replaceUnreducedAxes(ArrayRef<AxisRefAttr> axes,
                                         ReductionKind kind) const {
  return get(getContext(), getMeshOrRef(), getDimShardings(),
             getReplicatedAxes(), axes,
             axes.empty() ? ReductionKind::Sum : kind);
}

//===----------------------------------------------------------------------===//
// TensorShardingAttr: asking one
//===----------------------------------------------------------------------===//

StringRef TensorShardingAttr::getMeshName() const {
  FlatSymbolRefAttr symbol = getMeshSymName();
  return symbol ? symbol.getValue() : StringRef();
}

MeshAttr TensorShardingAttr::getMesh(const SymbolTable &symbolTable) const {
  if (auto mesh = dyn_cast<MeshAttr>(getMeshOrRef()))
    return mesh;
  auto meshOp = symbolTable.lookup<MeshOp>(getMeshName());
  return meshOp ? meshOp.getMesh() : MeshAttr();
}

MeshAttr TensorShardingAttr::getMesh(Operation *from) const {
  if (auto mesh = dyn_cast<MeshAttr>(getMeshOrRef()))
    return mesh;
  auto module = dyn_cast<ModuleOp>(from);
  if (!module)
    module = from->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshOp = dyn_cast_or_null<MeshOp>(
      SymbolTable::lookupSymbolIn(module, getMeshSymName().getAttr()));
  return meshOp ? meshOp.getMesh() : MeshAttr();
}

bool TensorShardingAttr::isFullyReplicated() const {
  return llvm::all_of(getDimShardings(), [](DimensionShardingAttr dim) {
    return dim.emptyAxes();
  });
}

bool TensorShardingAttr::emptyAxes() const {
  return isFullyReplicated() && getReplicatedAxes().empty() &&
         getUnreducedAxes().empty();
}

bool TensorShardingAttr::isFullyClosed() const {
  return llvm::all_of(getDimShardings(), [](DimensionShardingAttr dim) {
    return dim.getIsClosed();
  });
}

void TensorShardingAttr::forEachAxisRef(
    function_ref<void(AxisRefAttr)> callback) const {
  for (DimensionShardingAttr dim : getDimShardings())
    llvm::for_each(dim.getAxes(), callback);
  llvm::for_each(getReplicatedAxes(), callback);
  llvm::for_each(getUnreducedAxes(), callback);
}

bool TensorShardingAttr::anyOfAxisRef(
    function_ref<bool(AxisRefAttr)> predicate) const {
  bool found = false;
  forEachAxisRef([&](AxisRefAttr axis) { found |= predicate(axis); });
  return found;
}

bool TensorShardingAttr::isEquivalent(TensorShardingAttr other) const {
  if (isFullyReplicated() && getUnreducedAxes().empty())
    return !other ||
           (other.isFullyReplicated() && other.getUnreducedAxes().empty());
  if (!other || getMeshOrRef() != other.getMeshOrRef() ||
      getUnreducedAxes() != other.getUnreducedAxes() ||
      getReductionKind() != other.getReductionKind())
    return false;
  return llvm::equal(getDimShardings(), other.getDimShardings(),
                     [](DimensionShardingAttr a, DimensionShardingAttr b) {
                       return a.getAxes() == b.getAxes();
                     });
}

bool sdy::areEquivalent(TensorShardingAttr a, TensorShardingAttr b) {
  if (a)
    return a.isEquivalent(b);
  return !b || b.isFullyReplicated();
}

RankedTensorType TensorShardingAttr::getLocalTensorType(RankedTensorType type,
                                                        MeshAttr mesh) const {
  auto shape = llvm::to_vector(type.getShape());
  for (auto [size, dim] : llvm::zip(shape, getDimShardings()))
    if (!ShapedType::isDynamic(size))
      size = llvm::divideCeil(size, dim.getShardedSize(mesh));
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}
