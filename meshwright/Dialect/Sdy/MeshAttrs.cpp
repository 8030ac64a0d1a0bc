//===- MeshAttrs.cpp - Meshes and references to their axes ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Syntax/AttrSyntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::sdy;

//===----------------------------------------------------------------------===//
// MeshAttr
//===----------------------------------------------------------------------===//

/// 0, 1, 2, …
static bool isNaturalOrder(ArrayRef<int64_t> deviceIds) {
  for (auto [index, id] : llvm::enumerate(deviceIds))
    if (id != static_cast<int64_t>(index))
      return false;
  return true;
}

static std::optional<int64_t> productOfSizes(ArrayRef<MeshAxisAttr> axes) {
  int64_t product = 1;
  for (MeshAxisAttr axis : axes)
    if (llvm::MulOverflow(product, axis.getSize(), product))
      return std::nullopt;
  return product;
}

ArrayRef<int64_t> MeshAttr::dropNaturalOrder(ArrayRef<MeshAxisAttr> axes,
                                             ArrayRef<int64_t> deviceIds) {
  if (!axes.empty() && isNaturalOrder(deviceIds))
    return {};
  return deviceIds;
}

std::optional<int64_t> MeshAttr::getMaximalDeviceId() const {
  if (!isMaximal())
    return std::nullopt;
  return getDeviceIds().front();
}

std::optional<int64_t> MeshAttr::findAxisSize(StringRef axisName) const {
  for (MeshAxisAttr axis : getAxes())
    if (axis.getName() == axisName)
      return axis.getSize();
  return std::nullopt;
}

int64_t MeshAttr::getAxisSize(StringRef axisName) const {
  std::optional<int64_t> size = findAxisSize(axisName);
  assert(size && "axis is not in the mesh");
  return *size;
}

int64_t MeshAttr::getTotalSize() const { return *productOfSizes(getAxes()); }

bool MeshAttr::equalsIgnoringDeviceOrder(MeshAttr other) const {
  return getAxes() == other.getAxes() &&
         (!getAxes().empty() || getDeviceIds() == other.getDeviceIds());
}

size_t MeshAttr::getAxisPosition(StringRef axisName) const {
  return std::distance(getAxes().begin(),
                       llvm::find_if(getAxes(), [&](MeshAxisAttr axis) {
                         return axis.getName() == axisName;
                       }));
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes,
                               ArrayRef<int64_t> deviceIds) {
  llvm::StringSet<> names;
  for (MeshAxisAttr axis : axes) {
    if (axis.getSize() <= 0)
      return emitError() << "axis size must be at least 1, got "
                         << axis.getSize() << " for axis \"" << axis.getName()
                         << "\"";
    if (!names.insert(axis.getName()).second)
      return emitError() << "duplicate axis name \"" << axis.getName() << "\"";
  }
  std::optional<int64_t> total = productOfSizes(axes);
  if (!total)
    return emitError() << "mesh has more devices than fit 64 bits";
  for (int64_t id : deviceIds)
    if (id < 0)
      return emitError() << "device id must be non-negative, got " << id;
  if (deviceIds.empty())
    return success();
  if (axes.empty())
    return deviceIds.size() == 1
               ? success()
               : emitError() << "mesh without axes has more than one device "
                                "id, expected none or one";

  if (*total != static_cast<int64_t>(deviceIds.size()))
    return emitError() << "product of axis sizes must match the number of "
                          "device ids, got "
                       << *total << " and " << deviceIds.size();
  SmallVector<int64_t> sorted(deviceIds);
  llvm::sort(sorted);
  if (!isNaturalOrder(sorted))
    return emitError() << "sorted device ids must be 0 to " << *total - 1;
  if (isNaturalOrder(deviceIds))
    return emitError() << "device ids are already sorted; omit them, as this "
                          "is the order without device_ids";
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> deviceIds;
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parseBracketedAttrs(parser, axes))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseLSquare())
      return {};
    // An empty list would not differ from none.
    do {
      if (parser.parseInteger(deviceIds.emplace_back()))
        return {};
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRSquare())
      return {};
  }
  auto emitError = [&] { return parser.emitError(loc); };
  if (parser.parseGreater() || failed(verify(emitError, axes, deviceIds)))
    return {};
  return get(parser.getContext(), axes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printBracketedAttrs(printer, getAxes());
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << ']';
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// AxisRefAttr, ManualAxesAttr
//===----------------------------------------------------------------------===//

int64_t SubAxisInfoAttr::getNextPreSize() const {
  int64_t next;
  return llvm::MulOverflow(getPreSize(), getSize(), next)
             ? std::numeric_limits<int64_t>::max()
             : next;
}

std::string AxisRefAttr::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '"' << getName() << '"';
  if (SubAxisInfoAttr info = getSubAxisInfo())
    os << ":(" << info.getPreSize() << ')' << info.getSize();
  return text;
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  std::string name;
  if (parser.parseString(&name))
    return {};
  SubAxisInfoAttr info;
  if (succeeded(parser.parseOptionalColon()) &&
      parser.parseCustomAttributeWithFallback(info))
    return {};
  return get(parser.getContext(), name, info);
}

void AxisRefAttr::print(AsmPrinter &printer) const {
  printer.printString(getName());
  if (SubAxisInfoAttr info = getSubAxisInfo()) {
    printer << ':';
    printer.printStrippedAttrOrType(info);
  }
}
