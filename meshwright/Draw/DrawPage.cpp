//===- DrawPage.cpp - A drawing as a page ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The page has a place for data: base64 of zlib's compression of
//
//   length of the header, 4 bytes   header, JSON   columns, each at a multiple
//                                                  of 8 bytes
//
// A column is an array of numbers, little endian, one for each bar, so that a
// hundred thousand of them are read in some milliseconds. tools/page/src/data.ts
// reads it; the two go together, as one is in the other's file.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/FragmentGraph.h"
#include "meshwright/Draw/Lanes.h"
#include "meshwright/Draw/WriteDrawing.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;
namespace json = llvm::json;

static constexpr llvm::StringLiteral kPage =
#include "meshwright/Draw/Page.inc"
    ;

namespace {
class PageData {
public:
  explicit PageData(const Drawing &drawing) : drawing(drawing) {}

  std::string make();

private:
  template <typename T, typename Range, typename Get>
  void addColumn(llvm::StringRef name, const Range &range, Get get);
  void addBars();
  void addOthers();
  std::string makeHeader();
  void writeMeshes(json::OStream &json);
  void writeGraph(json::OStream &json);
  void writeEdges(json::OStream &json);
  void writeDifferences(json::OStream &json);

  struct Column {
    std::string name;
    const char *type;
    size_t count, offset;
  };

  const Drawing &drawing;
  std::string bytes;
  std::vector<Column> columns;
};
} // namespace

template <typename T> static constexpr const char *getTypeName() {
  if constexpr (std::is_same_v<T, double>)
    return "f64";
  else if constexpr (std::is_same_v<T, uint8_t>)
    return "u8";
  else if constexpr (std::is_same_v<T, int32_t>)
    return "i32";
  else
    return "u32";
}

template <typename T, typename Range, typename Get>
void PageData::addColumn(llvm::StringRef name, const Range &range, Get get) {
  bytes.resize(llvm::alignTo(bytes.size(), 8));
  Column column{name.str(), getTypeName<T>(), 0, bytes.size()};
  for (const auto &each : range) {
    char number[sizeof(T)];
    llvm::support::endian::write<T>(number, T(get(each)),
                                    llvm::endianness::little);
    bytes.append(number, sizeof(T));
    ++column.count;
  }
  columns.push_back(std::move(column));
}

/// The simulated ones and, after them, the recorded ones.
void PageData::addBars() {
  using Bar = Drawing::Bar;
  auto all = llvm::concat<const Bar>(drawing.bars, drawing.recorded);
  addColumn<uint8_t>("kind", all,
                     [](const Bar &bar) { return uint8_t(bar.kind); });
  addColumn<uint32_t>("mesh", all, [](const Bar &bar) { return bar.mesh; });
  addColumn<uint32_t>("source", all, [](const Bar &bar) { return bar.source; });
  addColumn<uint32_t>("name", all, [](const Bar &bar) { return bar.name; });
  addColumn<uint32_t>("origins", all,
                      [](const Bar &bar) { return bar.origins; });
  addColumn<int32_t>("stage", all, [](const Bar &bar) { return bar.stage; });
  addColumn<int32_t>("microbatch", all,
                     [](const Bar &bar) { return bar.microbatch; });
  addColumn<double>("start", all, [](const Bar &bar) { return bar.start; });
  addColumn<double>("stop", all, [](const Bar &bar) { return bar.stop; });
  addColumn<double>("bytes", all, [](const Bar &bar) { return bar.bytes; });
  addColumn<double>("slack", drawing.bars,
                    [](const Bar &bar) { return bar.slack; });
  Lanes simulated = findLanes(drawing.bars, drawing.meshes.size());
  Lanes recorded = findLanes(drawing.recorded, drawing.meshes.size());
  auto same = [](uint8_t number) { return number; };
  addColumn<uint8_t>(
      "slot", llvm::concat<const uint8_t>(simulated.slot, recorded.slot), same);
  addColumn<uint8_t>(
      "slots", llvm::concat<const uint8_t>(simulated.slots, recorded.slots),
      same);
}

void PageData::addOthers() {
  auto same = [](uint32_t id) { return id; };
  addColumn<uint32_t>("firstWait", drawing.firstWait, same);
  addColumn<uint32_t>("waits", drawing.waits, same);
  addColumn<uint32_t>("critical", drawing.criticalPath, same);
  addColumn<uint32_t>("partner", drawing.partners, same);
  std::vector<uint32_t> firstLevel = {0};
  std::vector<Drawing::Level> levels;
  for (const Drawing::Mesh &mesh : drawing.meshes) {
    llvm::append_range(levels, mesh.levels);
    firstLevel.push_back(levels.size());
  }
  addColumn<uint32_t>("firstLevel", firstLevel, same);
  addColumn<double>("levelTime", levels,
                    [](const Drawing::Level &level) { return level.time; });
  addColumn<double>("level", levels,
                    [](const Drawing::Level &level) { return level.amount; });
}

void PageData::writeMeshes(json::OStream &json) {
  for (const Drawing::Mesh &mesh : drawing.meshes)
    json.object([&] {
      json.attribute("name", toUtf8(mesh.getLabel()));
      json.attribute("busy", mesh.busy);
      json.attribute("bubble", mesh.bubble);
      json.attribute("peak", mesh.peak);
      json.attributeArray("shares", [&] {
        for (const Drawing::Share &share : mesh.shares)
          json.value(json::Array{toUtf8(share.what), share.bytes});
      });
    });
}

void PageData::writeGraph(json::OStream &json) {
  FragmentGraph graph = makeGraph(drawing);
  json.attributeArray("nodes", [&] {
    for (const FragmentGraph::Node &node : graph.nodes)
      json.value(json::Array{node.mesh, node.name, node.origins,
                             static_cast<unsigned>(node.kind), node.runs,
                             node.time});
  });
  json.attributeArray("edges", [&] {
    for (const FragmentGraph::Edge &edge : graph.edges)
      json.value(json::Array{edge.from, edge.to, edge.count, edge.bytes});
  });
}

void PageData::writeEdges(json::OStream &json) {
  for (const Drawing::Edge &edge : drawing.edges)
    json.value(json::Array{edge.source, edge.target, edge.bytes, edge.transfers,
                           edge.busy, edge.slack});
}

void PageData::writeDifferences(json::OStream &json) {
  for (const Drawing::Difference &each : drawing.differences)
    json.value(json::Array{each.mesh, each.name,
                           static_cast<unsigned>(each.kind), each.simulatedRuns,
                           each.simulated, each.recordedRuns, each.recorded});
}

std::string PageData::makeHeader() {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream json(os);
  json.object([&] {
    json.attribute("title", toUtf8(drawing.title));
    json.attribute("summary", drawing.summarize());
    json.attribute("inSeconds", drawing.inSeconds);
    json.attribute("inBytes", drawing.inBytes);
    json.attribute("makespan", drawing.makespan);
    json.attribute("recordedMakespan", drawing.recordedMakespan);
    json.attribute("bubble", drawing.bubble);
    json.attribute("bars", int64_t(drawing.bars.size()));
    json.attributeArray("kinds", [&] {
      for (unsigned kind = 0; kind < kNumItemKinds; ++kind) {
        const BarStyle &style = getStyle(static_cast<ItemKind>(kind));
        json.value(
            json::Array{style.text, style.letter, style.colour, style.later});
      }
    });
    json.attributeArray("meshes", [&] { writeMeshes(json); });
    json.attributeArray("links", [&] { writeEdges(json); });
    json.attributeArray("names", [&] {
      for (const std::string &name : drawing.names.getAll())
        json.value(toUtf8(name));
    });
    json.attributeObject("graph", [&] { writeGraph(json); });
    json.attributeArray("differences", [&] { writeDifferences(json); });
    json.attributeArray("columns", [&] {
      for (const Column &column : columns)
        json.value(json::Array{column.name, column.type, int64_t(column.count),
                               int64_t(column.offset)});
    });
  });
  return text;
}

std::string PageData::make() {
  addBars();
  addOthers();
  std::string header = makeHeader();
  std::string data(4, '\0');
  llvm::support::endian::write32le(data.data(), header.size());
  data += header;
  data.resize(llvm::alignTo(data.size(), 8));
  return data + bytes;
}

llvm::Error meshwright::printPage(const Drawing &drawing,
                                  llvm::raw_ostream &os) {
  if (!llvm::compression::zlib::isAvailable())
    return llvm::createStringError(
        "a page needs an LLVM with zlib; take another --format");
  std::string data = PageData(drawing).make();
  llvm::SmallVector<uint8_t, 0> packed;
  llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(data), packed);
  constexpr llvm::StringLiteral kPlace = "@MESHWRIGHT_DATA@";
  auto [before, after] = kPage.split(kPlace);
  os << before << llvm::encodeBase64(packed) << after;
  return llvm::Error::success();
}
