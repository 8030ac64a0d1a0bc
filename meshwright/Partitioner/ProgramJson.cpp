//===- ProgramJson.cpp - Exported programs as JSON ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Text/ScheduleRanges.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
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

template <typename List>
static void writeIds(OStream &json, StringRef key, const List &ids) {
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

static void
writeMesh(OStream &json, const ExportedProgram::Mesh &mesh,
          llvm::function_ref<void(StringRef, ArrayRef<unsigned>)> writeItems) {
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
    writeItems("items", mesh.items);
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

namespace {
/// The texts of kinds of values.
class ValueTexts {
public:
  ValueTexts(const ExportedProgram &program, unsigned indent)
      : program(program), indent(indent) {
    for (const ExportedProgram::Value &kind : program.values.getKinds())
      texts.push_back(render(kind));
  }

  StringRef get(unsigned kind) const { return texts[kind]; }

private:
  /// As it is in a list of the outermost object, where its lines begin.
  std::string render(const ExportedProgram::Value &value) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    size_t begin = 0, end = 0;
    OStream json(os, indent);
    json.object([&] {
      json.attributeArray("values", [&] {
        begin = text.size();
        writeValue(json, program, value);
        end = text.size();
      });
    });
    return StringRef(text).slice(begin, end).ltrim().str();
  }

  const ExportedProgram &program;
  unsigned indent;
  std::vector<std::string> texts;
};
} // namespace

static void writeBoundary(OStream &json,
                          const ExportedProgram::Boundary &boundary,
                          bool isInput, unsigned value,
                          std::optional<unsigned> valueClass = std::nullopt) {
  json.object([&] {
    json.attribute("value", value);
    if (valueClass)
      json.attribute("class", *valueClass);
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

static void writeFragment(
    OStream &json, const ExportedProgram &program,
    const ExportedProgram::Fragment &fragment,
    llvm::function_ref<void(ArrayRef<Slot>, bool isArgument)> writeSlots) {
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
      writeSlots(fragment.arguments, /*isArgument=*/true);
    });
    json.attributeArray(
        "results", [&] { writeSlots(fragment.results, /*isArgument=*/false); });
  });
}

/// What calls of a fragment have in common for all microbatches.
static void writeCall(OStream &json, const ExportedProgram &program,
                      const ExportedProgram::Item &item) {
  json.attribute("kind", "call");
  writeText(json, "mesh", program.meshes[item->fromMesh].name);
  json.attribute("fragment", *item->fragment);
  auto writeOrigins = [&](const ExportedProgram::Origins &origins) {
    json.attributeArray("origins", [&] {
      for (const std::string &origin : origins.origins)
        writeText(json, origin);
    });
  };
  writeOrigins(*item.kind);
  if (!item->parts.empty())
    json.attributeArray("overlapped", [&] {
      for (const ExportedProgram::Part &part : item->parts)
        json.object([&] {
          writeOrigins(part);
          json.attribute("results", part.numResults);
        });
    });
  json.attribute("remat", item->isRemat);
}

static void writeTransfer(OStream &json, const ExportedProgram &program,
                          const ExportedProgram::Item &item) {
  json.attribute("kind", "transfer");
  writeText(json, "from", program.meshes[item->fromMesh].name);
  writeText(json, "to", program.meshes[item->toMesh].name);
  writeCount(json, "bytes", program.values[item.results.front()].bytes);
  if (item->isDelayed)
    json.attribute("delayed", true);
}

static void writeItem(OStream &json, const ExportedProgram &program,
                      const ExportedProgram::Item &item) {
  json.object([&] {
    if (item->fragment) {
      writeCall(json, program, item);
      writeIds(json, "operands", item.operands);
      writeIds(json, "results", item.results);
      if (!item.awaits.empty())
        writeIds(json, "awaits", item.awaits);
    } else {
      writeTransfer(json, program, item);
      json.attribute("operand", item.operands.front());
      json.attribute("result", item.results.front());
    }
    writeIds(json, "last_uses", item.lastUses);
    writeTextOrNull(json, "location", item->location);
  });
}

template <typename List, typename Write>
static void writeAll(OStream &json, StringRef key, const List &elements,
                     Write write) {
  json.attributeArray(key, [&] {
    for (const auto &element : elements)
      write(element);
  });
}

void meshwright::writeJson(const ExportedProgram &program,
                           llvm::raw_ostream &os, unsigned indent) {
  OStream json(os, indent);
  json.object([&] {
    json.attribute("version", 1);
    writeText(json, "name", program.name);
    writeAll(json, "meshes", program.meshes, [&](const auto &mesh) {
      writeMesh(json, mesh, [&](StringRef key, ArrayRef<unsigned> items) {
        writeIds(json, key, items);
      });
    });
    ValueTexts texts(program, indent);
    writeAll(json, "values", program.values.getKindOfEach(),
             [&](unsigned kind) { json.rawValue(texts.get(kind)); });
    writeAll(json, "inputs", program.inputs, [&](const auto &input) {
      writeBoundary(json, input, /*isInput=*/true, input.value);
    });
    writeAll(json, "outputs", program.outputs, [&](const auto &output) {
      writeBoundary(json, output, /*isInput=*/false, output.value);
    });
    writeAll(json, "fragments", program.fragments, [&](const auto &fragment) {
      writeFragment(json, program, fragment,
                    [&](ArrayRef<Slot> slots, bool isArgument) {
                      for (const Slot &slot : slots)
                        writeSlot(json, slot, isArgument);
                    });
    });
    writeAll(json, "items", program.items,
             [&](const auto &item) { writeItem(json, program, item); });
    writeIds(json, "issue_order", program.issueOrder);
  });
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Classes and ranges
//===----------------------------------------------------------------------===//

namespace {
/// Version 2: what entries have in common is in classes, and what repeats in ranges.
class RangeWriter {
public:
  RangeWriter(const ExportedProgram &program, llvm::raw_ostream &os)
      : program(program), json(os, /*IndentSize=*/1) {}

  void write();

private:
  /// The texts of classes, in the order in which an entry has them first.
  struct Classes {
    llvm::StringMap<unsigned> ids;
    std::vector<StringRef> texts;
  };

  static unsigned addClass(Classes &classes, StringRef text);
  static unsigned addClass(Classes &classes,
                           llvm::function_ref<void(OStream &)> write);
  void findClasses();
  void findClasses(const ExportedProgram::Fragment &fragment);
  std::string makeKey(const ExportedProgram::Item &item) const;
  void writeItemClass(OStream &out, const ExportedProgram::Item &item) const;
  void writeLine(llvm::function_ref<void(OStream &)> write);
  void writeNumbers(StringRef key, ArrayRef<unsigned> numbers);
  void writeClasses(StringRef key, const Classes &classes);
  void numberValues();
  void writeItems(OStream &line, ArrayRef<unsigned> items) const;
  void writeOrder(StringRef key, ArrayRef<unsigned> items);

  const ExportedProgram &program;
  OStream json;
  Classes valueClasses, slotClasses, itemClasses;
  std::vector<unsigned> classOfValue, classOfItem;
  std::vector<std::vector<unsigned>> itemsOfClass;
  std::vector<unsigned> numberOfValue; ///< In the file.
  /// Of a fragment: the classes of its arguments and of its results.
  std::vector<std::array<std::vector<unsigned>, 2>> slotsOfFragment;
};
} // namespace

unsigned RangeWriter::addClass(Classes &classes, StringRef text) {
  auto [entry, isNew] = classes.ids.try_emplace(text, classes.texts.size());
  if (isNew)
    classes.texts.push_back(entry->first());
  return entry->second;
}

unsigned RangeWriter::addClass(Classes &classes,
                               llvm::function_ref<void(OStream &)> write) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OStream out(os);
  write(out);
  return addClass(classes, text);
}

void RangeWriter::findClasses() {
  ValueTexts texts(program, /*indent=*/0);
  // Kinds that differ in nothing that is written are one class. The values come in
  // the order of their kinds: a kind is added with its first.
  std::vector<unsigned> classOfKind;
  for (unsigned kind : llvm::seq<unsigned>(program.values.getKinds().size()))
    classOfKind.push_back(addClass(valueClasses, texts.get(kind)));
  for (unsigned kind : program.values.getKindOfEach())
    classOfValue.push_back(classOfKind[kind]);
  for (const ExportedProgram::Fragment &fragment : program.fragments)
    findClasses(fragment);
  llvm::StringMap<unsigned> known;
  auto findClass = [&](const ExportedProgram::Item &item) {
    auto [entry, isNew] = known.try_emplace(makeKey(item), 0);
    if (isNew)
      entry->second = addClass(
          itemClasses, [&](OStream &out) { writeItemClass(out, item); });
    return entry->second;
  };
  llvm::DenseMap<const ExportedProgram::ItemKind *, unsigned> classOfItemKind;
  classOfItem.reserve(program.items.size());
  for (const ExportedProgram::Item &item : program.items) {
    auto [entry, isNew] = classOfItemKind.try_emplace(item.kind.get());
    if (isNew)
      entry->second = findClass(item);
    classOfItem.push_back(entry->second);
  }
}

/// Items with the same key are of one class: a key is made in a fraction of the time that
/// the text of a class takes.
std::string RangeWriter::makeKey(const ExportedProgram::Item &item) const {
  std::string key;
  auto addNumber = [&](unsigned number) {
    key.append(reinterpret_cast<const char *>(&number), sizeof(number));
  };
  auto addText = [&](const std::string &text) {
    addNumber(text.size());
    key += text;
  };
  auto addOrigins = [&](const ExportedProgram::Origins &origins) {
    addNumber(origins.origins.size());
    for (const std::string &origin : origins.origins)
      addText(origin);
  };
  addNumber(item->fragment ? *item->fragment + 1 : 0);
  addNumber(item->fromMesh);
  addNumber(item->toMesh);
  addNumber(2 * item->isRemat + item->isDelayed);
  addOrigins(*item.kind);
  addNumber(item->parts.size());
  for (const ExportedProgram::Part &part : item->parts) {
    addOrigins(part);
    addNumber(part.numResults);
  }
  for (unsigned result : item.results)
    addNumber(classOfValue[result]);
  addText(item->location);
  return key;
}

void RangeWriter::writeItemClass(OStream &out,
                                 const ExportedProgram::Item &item) const {
  out.object([&] {
    if (item->fragment)
      writeCall(out, program, item);
    else
      writeTransfer(out, program, item);
    out.attributeArray("results", [&] {
      for (unsigned result : item.results)
        out.value(classOfValue[result]);
    });
    writeTextOrNull(out, "location", item->location);
  });
}

void RangeWriter::findClasses(const ExportedProgram::Fragment &fragment) {
  auto &classes = slotsOfFragment.emplace_back();
  auto add = [&](ArrayRef<Slot> slots, bool isArgument) {
    for (const Slot &slot : slots)
      classes[isArgument ? 0 : 1].push_back(
          addClass(slotClasses,
                   [&](OStream &out) { writeSlot(out, slot, isArgument); }));
  };
  add(fragment.arguments, /*isArgument=*/true);
  add(fragment.results, /*isArgument=*/false);
}

/// A class, an item or a list of numbers is on one line.
void RangeWriter::writeLine(llvm::function_ref<void(OStream &)> write) {
  json.rawValue([&](llvm::raw_ostream &os) {
    OStream line(os);
    write(line);
  });
}

/// `write` gets an entry, and the one that it is the next time, or the entry itself.
static void writeRanges(OStream &json, ArrayRef<Range> ranges,
                        llvm::function_ref<void(size_t, size_t)> write) {
  for (const Range &range : ranges) {
    if (range.count == 1) {
      write(range.first, range.first);
      continue;
    }
    json.object([&] {
      json.attribute("repeat", range.count);
      json.attributeArray("of", [&] {
        for (size_t i = range.first; i < range.first + range.length; ++i)
          write(i, i + range.length);
      });
    });
  }
}

/// With its step to the next time, unless that is 0.
static void writeNumber(OStream &json, unsigned number, unsigned next) {
  if (number == next)
    return json.value(number);
  json.array([&] {
    json.value(number);
    json.value(int64_t(next) - int64_t(number));
  });
}

/// The entries of a list.
static void writeRanges(OStream &json, ArrayRef<unsigned> numbers) {
  writeRanges(json, findRanges(numbers), [&](size_t index, size_t next) {
    writeNumber(json, numbers[index], numbers[next]);
  });
}

void RangeWriter::writeNumbers(StringRef key, ArrayRef<unsigned> numbers) {
  json.attributeBegin(key);
  writeLine(
      [&](OStream &line) { line.array([&] { writeRanges(line, numbers); }); });
  json.attributeEnd();
}

void RangeWriter::writeClasses(StringRef key, const Classes &classes) {
  writeAll(json, key, classes.texts,
           [&](StringRef text) { json.rawValue(text); });
}

/// Items are listed, and values numbered, class by class: what the items of a class read
/// then mostly differs from one to the next by the same.
void RangeWriter::numberValues() {
  itemsOfClass.resize(itemClasses.texts.size());
  for (auto [index, itemClass] : llvm::enumerate(classOfItem))
    itemsOfClass[itemClass].push_back(index);
  numberOfValue.resize(program.values.size());
  unsigned next = 0;
  for (const ExportedProgram::Boundary &input : program.inputs)
    numberOfValue[input.value] = next++;
  for (ArrayRef<unsigned> items : itemsOfClass)
    for (unsigned index : items)
      for (unsigned result : program.items[index].results)
        numberOfValue[result] = next++;
}

/// The items of one class.
void RangeWriter::writeItems(OStream &line, ArrayRef<unsigned> items) const {
  size_t size = 0;
  for (unsigned index : items) {
    const ExportedProgram::Item &item = program.items[index];
    size += item.operands.size() + item.awaits.size() + item.lastUses.size();
  }
  std::vector<unsigned> numbers;
  numbers.reserve(size); // Entries refer to them.
  std::vector<RangeEntry> entries;
  for (unsigned index : items) {
    const ExportedProgram::Item &item = program.items[index];
    size_t first = numbers.size();
    for (ArrayRef<unsigned> list :
         {ArrayRef(item.operands), ArrayRef(item.awaits),
          ArrayRef(item.lastUses)})
      for (unsigned value : list)
        numbers.push_back(numberOfValue[value]);
    std::sort(numbers.end() - item.lastUses.size(), numbers.end());
    // All have as many operands.
    entries.push_back({static_cast<unsigned>(item.awaits.size()),
                       ArrayRef(numbers).drop_front(first)});
  }
  writeRanges(line, findRanges(entries), [&](size_t index, size_t next) {
    const ExportedProgram::Item &item = program.items[items[index]];
    ArrayRef<unsigned> left = entries[index].numbers,
                       nextLeft = entries[next].numbers;
    auto writeList = [&](StringRef key, size_t count) {
      line.attributeArray(key, [&] {
        if (index == next)
          return writeRanges(line, left.take_front(count));
        for (auto [number, nextNumber] : llvm::zip_equal(
                 left.take_front(count), nextLeft.take_front(count)))
          writeNumber(line, number, nextNumber);
      });
      left = left.drop_front(count);
      nextLeft = nextLeft.drop_front(count);
    };
    line.object([&] {
      writeList("operands", item.operands.size());
      if (!item.awaits.empty())
        writeList("awaits", item.awaits.size());
      writeList("last_uses", item.lastUses.size());
    });
  });
}

/// The classes of items. Every order has the items of a class in theirs.
void RangeWriter::writeOrder(StringRef key, ArrayRef<unsigned> items) {
  std::vector<unsigned> classes;
  classes.reserve(items.size());
  for (unsigned index : items)
    classes.push_back(classOfItem[index]);
  writeNumbers(key, classes);
}

void RangeWriter::write() {
  findClasses();
  numberValues();
  json.object([&] {
    json.attribute("version", 2);
    writeText(json, "name", program.name);
    writeAll(json, "meshes", program.meshes, [&](const auto &mesh) {
      writeMesh(json, mesh, [&](StringRef key, ArrayRef<unsigned> items) {
        writeOrder(key, items);
      });
    });
    json.attributeObject("classes", [&] {
      writeClasses("values", valueClasses);
      writeClasses("slots", slotClasses);
      writeClasses("items", itemClasses);
    });
    writeAll(json, "inputs", program.inputs, [&](const auto &input) {
      writeLine([&](OStream &line) {
        writeBoundary(line, input, /*isInput=*/true, numberOfValue[input.value],
                      classOfValue[input.value]);
      });
    });
    writeAll(json, "outputs", program.outputs, [&](const auto &output) {
      writeLine([&](OStream &line) {
        writeBoundary(line, output, /*isInput=*/false,
                      numberOfValue[output.value]);
      });
    });
    json.attributeArray("fragments", [&] {
      for (auto [fragment, slots] :
           llvm::zip_equal(program.fragments, slotsOfFragment))
        writeLine([&, &fragment = fragment, &slots = slots](OStream &line) {
          writeFragment(line, program, fragment,
                        [&](ArrayRef<Slot>, bool isArgument) {
                          writeRanges(line, slots[isArgument ? 0 : 1]);
                        });
        });
    });
    writeAll(json, "items", itemsOfClass, [&](ArrayRef<unsigned> items) {
      writeLine(
          [&](OStream &line) { line.array([&] { writeItems(line, items); }); });
    });
    writeNumbers("order", classOfItem);
    writeOrder("issue_order", program.issueOrder);
  });
}

void meshwright::writeRangedJson(const ExportedProgram &program,
                                 llvm::raw_ostream &os) {
  RangeWriter(program, os).write();
  os << "\n";
}

bool meshwright::isLargeForJson(const ExportedProgram &program) {
  return program.items.size() >= 1'000;
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

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
