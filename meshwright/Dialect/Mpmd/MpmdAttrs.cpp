//===- MpmdAttrs.cpp ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/AttrSyntax.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

/// COMPAT(negative-count): A negative one is read, and printed as none.
static void printTransposeCount(AsmPrinter &printer, int64_t count) {
  if (count > 0)
    printer << '(' << count << ')';
}

#include "meshwright/Dialect/Mpmd/MpmdEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "meshwright/Dialect/Mpmd/MpmdAttrs.cpp.inc"

void MpmdDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "meshwright/Dialect/Mpmd/MpmdAttrs.cpp.inc"
      >();
}

/// COMPAT(repeated-mesh): Names may be repeated; the first mesh is meant.
LogicalResult TopologyAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ArrayRef<NamedMeshAttr> meshes) {
  if (meshes.empty())
    return emitError() << "a topology must have at least one mesh";
  // Those of all meshes are numbered in a row where transfers are timed.
  int64_t numDevices = 0;
  for (NamedMeshAttr mesh : meshes)
    if (llvm::AddOverflow(numDevices, mesh.getMesh().getTotalSize(),
                          numDevices))
      return emitError() << "the meshes of a topology have more devices than "
                            "fit 64 bits: up to mesh \""
                         << mesh.getName() << "\"";
  return success();
}

Attribute MeshesWithOriginsAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshWithOriginsAttr> value;
  auto parseElement = [&] {
    return parser.parseCustomAttributeWithFallback(value.emplace_back());
  };
  SMLoc loc = parser.getCurrentLocation();
  // With a delimiter of its own, MLIR's parser takes a list that is not there for an
  // empty one, after an error.
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalGreater()) &&
      (parser.parseCommaSeparatedList(parseElement) || parser.parseGreater()))
    return {};
  return parser.getChecked<MeshesWithOriginsAttr>(loc, parser.getContext(),
                                                  value);
}

void MeshesWithOriginsAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printer.printStrippedAttrOrType(getValue());
  printer << '>';
}

ParseResult mpmd::parseTransposeCount(AsmParser &parser, int64_t &count) {
  count = 0;
  if (failed(parser.parseOptionalLParen()))
    return success();
  return failure(parser.parseInteger(count) || parser.parseRParen());
}

ParseResult mpmd::parseShortOrigin(AsmParser &parser, UserOriginAttr &origin) {
  std::string name;
  int64_t count;
  if (parser.parseString(&name) || parseTransposeCount(parser, count))
    return failure();
  origin = UserOriginAttr::get(parser.getContext(), name, count);
  return success();
}

void mpmd::printName(AsmPrinter &printer, StringRef name) {
  auto isPlain = [](unsigned char c) {
    return c >= 0x20 && c != 0x7f && c != '"' && c != '\\';
  };
  if (llvm::all_of(name, isPlain))
    printer << '"' << name << '"';
  else
    printer.printString(name);
}

void mpmd::printShortOrigin(AsmPrinter &printer, UserOriginAttr origin,
                            bool escaped) {
  if (escaped)
    printer << origin.getUserName();
  else
    printName(printer, origin.getUserName().getValue());
  printTransposeCount(printer, origin.getTransposeCount());
}

ParseResult mpmd::parseMeshAndOrigin(AsmParser &parser, StringAttr &meshName,
                                     ArrayAttr &origin) {
  SmallVector<Attribute> origins;
  auto parseOrigin = [&] {
    UserOriginAttr element;
    ParseResult result = parseShortOrigin(parser, element);
    origins.push_back(element);
    return result;
  };
  if (parser.parseKeyword("mesh") || parser.parseEqual() ||
      parser.parseAttribute(meshName) || parser.parseComma() ||
      parser.parseKeyword("origin") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOrigin))
    return failure();
  origin = ArrayAttr::get(parser.getContext(), origins);
  return success();
}

void mpmd::printMeshAndOrigin(AsmPrinter &printer, StringRef meshName,
                              ArrayAttr origin) {
  printer << "mesh=";
  printName(printer, meshName);
  printer << ", origin=[";
  llvm::interleaveComma(origin.getAsRange<UserOriginAttr>(), printer,
                        [&](UserOriginAttr element) {
                          printShortOrigin(printer, element, /*escaped=*/false);
                        });
  printer << ']';
}
