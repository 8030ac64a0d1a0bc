//===- ProgramJson.cpp - Exported programs as JSON ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;
using llvm::json::OStream;

using Slot = ExportedProgram::Slot;

/// JSON is UTF-8; names and paths are whatever their authors made them.
static void writeText(OStream &json, StringRef text) {
  json.value(toUtf8(text));
}

static void writeText(OStream &json, StringRef key, StringRef text) {
  json.attributeBegin(key);
  writeText(json, text);
  json.attributeEnd();
}

static void writeTextOrNull(OStream &json, StringRef key, StringRef text) {
  if (text.empty())
    json.attribute(key, nullptr);
  else
    writeText(json, key, text);
}

/// Bytes and operations are whole numbers, and written as such as far as a
/// program that fits a machine needs them.
static void writeCount(OStream &json, StringRef key, double count) {
  constexpr double kLargest = int64_t(1) << 62;
  if (count < kLargest)
    json.attribute(key, static_cast<int64_t>(count));
  else
    json.attribute(key, count);
}

static void writeIds(OStream &json, StringRef key, ArrayRef<unsigned> ids) {
  json.attributeArray(key, [&] {
    for (unsigned id : ids)
      json.value(id);
  });
}

static void writeAxis(OStream &json, sdy::AxisRefAttr axis) {
  if (axis.isFullAxis())
    return writeText(json, axis.getName());
  json.object([&] {
    writeText(json, "axis", axis.getName());
    json.attribute("pre", axis.getSubAxisInfo().getPreSize());
    json.attribute("size", axis.getSubAxisInfo().getSize());
  });
}

static void writeSharding(OStream &json, sdy::TensorShardingAttr sharding) {
  json.attributeBegin("sharding");
  if (!sharding) {
    json.value(nullptr);
    json.attributeEnd();
    return;
  }
  json.object([&] {
    json.attributeArray("dims", [&] {
      for (sdy::DimensionShardingAttr dim : sharding.getDimShardings())
        json.array([&] {
          for (sdy::AxisRefAttr axis : dim.getAxes())
            writeAxis(json, axis);
        });
    });
    json.attributeArray("unreduced", [&] {
      for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes())
        writeAxis(json, axis);
    });
  });
  json.attributeEnd();
}

static void writeMesh(OStream &json, const ExportedProgram::Mesh &mesh) {
  json.object([&] {
    writeText(json, "name", mesh.name);
    json.attributeArray("axes", [&] {
      for (sdy::MeshAxisAttr axis : mesh.shape.getAxes())
        json.array([&] {
          writeText(json, axis.getName());
          json.value(axis.getSize());
        });
    });
    if (mesh.shape.getDeviceIds().empty())
      json.attribute("device_ids", nullptr);
    else
      json.attributeArray("device_ids", [&] {
        for (int64_t id : mesh.shape.getDeviceIds())
          json.value(id);
      });
    writeIds(json, "items", mesh.items);
  });
}

static void writeValue(OStream &json, const ExportedProgram &program,
                       const ExportedProgram::Value &value) {
  json.object([&] {
    writeText(json, "mesh", program.meshes[value.mesh].name);
    json.attributeArray("shape", [&] {
      for (int64_t size : value.type.getShape())
        json.value(size);
    });
    std::string element;
    llvm::raw_string_ostream(element) << value.type.getElementType();
    json.attribute("dtype", element);
    writeSharding(json, value.sharding);
    writeTextOrNull(json, "memory_kind", value.memoryKind);
    writeCount(json, "bytes", value.bytes);
    writeCount(json, "device_bytes", value.deviceBytes);
  });
}

static void writeBoundary(OStream &json,
                          const ExportedProgram::Boundary &boundary,
                          bool isInput) {
  json.object([&] {
    json.attribute("value", boundary.value);
    writeTextOrNull(json, "name", boundary.slot.name);
    if (isInput)
      json.attribute("donated", boundary.slot.isDonated);
    writeTextOrNull(json, "memory_kind", boundary.slot.memoryKind);
    writeTextOrNull(json, "layout", boundary.slot.layout);
  });
}

static void writeSlot(OStream &json, const Slot &slot, bool isArgument) {
  json.object([&] {
    if (isArgument) {
      if (slot.alias)
        json.attribute("alias", *slot.alias);
      else
        json.attribute("alias", nullptr);
      json.attribute("donated", slot.isDonated);
    }
    writeTextOrNull(json, "memory_kind", slot.memoryKind);
    writeTextOrNull(json, "layout", slot.layout);
    writeSharding(json, slot.sharding);
  });
}

static void writeFragment(OStream &json, const ExportedProgram &program,
                          const ExportedProgram::Fragment &fragment) {
  json.object([&] {
    func::FuncOp function = fragment.function;
    writeText(json, "name", function.getSymName());
    writeText(json, "mesh", program.meshes[fragment.mesh].name);
    json.attribute("calls", fragment.calls);
    writeCount(json, "flops", fragment.flops);
    if (fragment.reservedBytes)
      json.attribute("reserved_bytes", *fragment.reservedBytes);
    else
      json.attribute("reserved_bytes", nullptr);
    json.attributeArray("arguments", [&] {
      for (const Slot &slot : fragment.arguments)
        writeSlot(json, slot, /*isArgument=*/true);
    });
    json.attributeArray("results", [&] {
      for (const Slot &slot : fragment.results)
        writeSlot(json, slot, /*isArgument=*/false);
    });
  });
}

static void writeCall(OStream &json, const ExportedProgram &program,
                      const ExportedProgram::Item &item) {
  json.attribute("kind", "call");
  writeText(json, "mesh", program.meshes[item.fromMesh].name);
  json.attribute("fragment", *item.fragment);
  auto writeOrigins = [&](const ExportedProgram::Origins &origins) {
    json.attributeArray("origins", [&] {
      for (const std::string &origin : origins.origins)
        writeText(json, origin);
    });
  };
  writeOrigins(item);
  if (!item.parts.empty())
    json.attributeArray("overlapped", [&] {
      for (const ExportedProgram::Part &part : item.parts)
        json.object([&] {
          writeOrigins(part);
          json.attribute("results", part.numResults);
        });
    });
  json.attribute("remat", item.isRemat);
  writeIds(json, "operands", item.operands);
  writeIds(json, "results", item.results);
  if (!item.awaits.empty())
    writeIds(json, "awaits", item.awaits);
}

static void writeTransfer(OStream &json, const ExportedProgram &program,
                          const ExportedProgram::Item &item) {
  json.attribute("kind", "transfer");
  writeText(json, "from", program.meshes[item.fromMesh].name);
  writeText(json, "to", program.meshes[item.toMesh].name);
  json.attribute("operand", item.operands.front());
  json.attribute("result", item.results.front());
  writeCount(json, "bytes", program.values[item.results.front()].bytes);
  if (item.isDelayed)
    json.attribute("delayed", true);
}

void meshwright::writeJson(const ExportedProgram &program,
                           llvm::raw_ostream &os, unsigned indent) {
  OStream json(os, indent);
  auto writeAll = [&](StringRef key, const auto &elements, auto write) {
    json.attributeArray(key, [&] {
      for (const auto &element : elements)
        write(element);
    });
  };
  json.object([&] {
    json.attribute("version", 1);
    writeText(json, "name", program.name);
    writeAll("meshes", program.meshes,
             [&](const auto &mesh) { writeMesh(json, mesh); });
    writeAll("values", program.values,
             [&](const auto &value) { writeValue(json, program, value); });
    writeAll("inputs", program.inputs, [&](const auto &input) {
      writeBoundary(json, input, /*isInput=*/true);
    });
    writeAll("outputs", program.outputs, [&](const auto &output) {
      writeBoundary(json, output, /*isInput=*/false);
    });
    writeAll("fragments", program.fragments, [&](const auto &fragment) {
      writeFragment(json, program, fragment);
    });
    writeAll("items", program.items, [&](const ExportedProgram::Item &item) {
      json.object([&] {
        if (item.fragment)
          writeCall(json, program, item);
        else
          writeTransfer(json, program, item);
        writeIds(json, "last_uses", item.lastUses);
        writeTextOrNull(json, "location", item.location);
      });
    });
    writeIds(json, "issue_order", program.issueOrder);
  });
  os << "\n";
}

/// Sub-axes are written as the axis they are part of.
static void writeAxisNames(OStream &json, ArrayRef<sdy::AxisRefAttr> axes) {
  llvm::SmallSetVector<StringRef, 4> names;
  for (sdy::AxisRefAttr axis : axes)
    names.insert(axis.getName());
  json.array([&] {
    for (StringRef name : names)
      writeText(json, name);
  });
}

static LogicalResult writePlacement(OStream &json, Type type, Location loc,
                                    StringAttr memoryKind) {
  auto mesh = dyn_cast<MeshTensorType>(type);
  if (!mesh)
    return emitError(loc) << "expected a tensor on a mesh, but got " << type;
  sdy::TensorShardingAttr sharding = mesh.getSharding();
  json.object([&] {
    writeText(json, "mesh", mesh.getMeshName());
    json.attributeArray("dims", [&] {
      if (sharding)
        for (sdy::DimensionShardingAttr dim : sharding.getDimShardings())
          writeAxisNames(json, dim.getAxes());
    });
    json.attributeBegin("unreduced");
    writeAxisNames(json, sharding ? sharding.getUnreducedAxes()
                                  : ArrayRef<sdy::AxisRefAttr>());
    json.attributeEnd();
    if (mesh.getMemoryKind())
      memoryKind = mesh.getMemoryKind();
    writeTextOrNull(json, "memory_kind",
                    memoryKind ? memoryKind.getValue() : StringRef());
  });
  return success();
}

LogicalResult meshwright::writePlacementJson(func::FuncOp function,
                                             llvm::raw_ostream &os) {
  OStream json(os);
  LogicalResult result = success();
  json.object([&] {
    json.attributeArray("inputs", [&] {
      for (BlockArgument argument : function.getArguments())
        if (succeeded(result))
          result =
              writePlacement(json, argument.getType(), argument.getLoc(),
                             function.getArgAttrOfType<StringAttr>(
                                 argument.getArgNumber(), kMemoryKindAttr));
    });
    json.attributeArray("outputs", [&] {
      for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
        if (succeeded(result))
          result = writePlacement(
              json, type, function.getLoc(),
              function.getResultAttrOfType<StringAttr>(index, kMemoryKindAttr));
    });
  });
  return result;
}
