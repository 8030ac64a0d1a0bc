//===- DrawTrace.cpp - A drawing as a trace for Perfetto ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// As python/meshwright/runtime/watch/chrome_trace.py writes recordings: a process for
// each mesh, with rows for its fragments, reshards and transfers. Arrows go
// from what a bar waited for last to the bar. A unit of a plan is a millisecond.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/Lanes.h"
#include "meshwright/Draw/WriteDrawing.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;
namespace json = llvm::json;

namespace {
class TraceWriter {
public:
  TraceWriter(const Drawing &drawing, llvm::raw_ostream &os)
      : drawing(drawing), json(os), scale(drawing.inSeconds ? 1e6 : 1e3),
        lanes(findLanes(drawing.bars, drawing.meshes.size())),
        recordedLanes(findLanes(drawing.recorded, drawing.meshes.size())) {}

  void write();

private:
  static constexpr unsigned kSlots = 8; // Of each kind of row.
  static unsigned getRow(ItemKind kind) {
    return kind == ItemKind::Transfer     ? 2
           : kind == ItemKind::Collective ? 1
                                          : 0;
  }
  int64_t getProcess(uint32_t mesh, bool isRecorded) const {
    return 1 + mesh + (isRecorded ? drawing.meshes.size() : 0);
  }
  static int64_t getThread(const Drawing::Bar &bar, unsigned slot) {
    return slot == 0 ? getRow(bar.kind) : 3 + getRow(bar.kind) * kSlots + slot;
  }

  void writeNames();
  void writeName(llvm::StringRef kind, int64_t pid, int64_t tid,
                 llvm::StringRef name);
  void writeBars(llvm::ArrayRef<Drawing::Bar> bars, const Lanes &lanes,
                 bool isRecorded);
  void writeArrow(uint32_t bar);
  void writeCounters();

  const Drawing &drawing;
  json::OStream json;
  double scale;
  Lanes lanes, recordedLanes;
};
} // namespace

void TraceWriter::writeName(llvm::StringRef kind, int64_t pid, int64_t tid,
                            llvm::StringRef name) {
  json.object([&] {
    json.attribute("ph", "M");
    json.attribute("name", kind);
    json.attribute("pid", pid);
    json.attribute("tid", tid);
    json.attributeObject("args", [&] { json.attribute("name", toUtf8(name)); });
  });
}

void TraceWriter::writeNames() {
  const char *rows[] = {"fragments", "reshards", "transfers"};
  for (bool isRecorded : {false, true}) {
    if (isRecorded && drawing.recorded.empty())
      continue;
    llvm::ArrayRef<Drawing::Bar> bars =
        isRecorded ? drawing.recorded : drawing.bars;
    const Lanes &places = isRecorded ? recordedLanes : lanes;
    std::string suffix = drawing.recorded.empty() ? ""
                         : isRecorded             ? ", recorded"
                                                  : ", simulated";
    for (auto [index, mesh] : llvm::enumerate(drawing.meshes)) {
      writeName("process_name", getProcess(index, isRecorded), 0,
                mesh.getLabel() + suffix);
      for (int64_t row = 0; row < 3; ++row)
        writeName("thread_name", getProcess(index, isRecorded), row, rows[row]);
    }
    llvm::DenseSet<std::pair<int64_t, int64_t>> named;
    for (auto [index, bar] : llvm::enumerate(bars)) {
      int64_t pid = getProcess(bar.mesh, isRecorded);
      int64_t tid = getThread(bar, places.slot[index]);
      if (places.slot[index] > 0 && named.insert({pid, tid}).second)
        writeName("thread_name", pid, tid, rows[getRow(bar.kind)]);
    }
  }
}

void TraceWriter::writeBars(llvm::ArrayRef<Drawing::Bar> bars,
                            const Lanes &places, bool isRecorded) {
  for (auto [index, bar] : llvm::enumerate(bars)) {
    const Drawing::Bar &each = bar;
    json.object([&, index = index] {
      json.attribute("ph", "X");
      json.attribute("name", toUtf8(drawing.names.get(each.name)));
      json.attribute("cat", getName(each.kind));
      json.attribute("pid", getProcess(each.mesh, isRecorded));
      json.attribute("tid", getThread(each, places.slot[index]));
      json.attribute("ts", each.start * scale);
      json.attribute("dur", each.getTime() * scale);
      json.attributeObject("args", [&] {
        json.attribute("origins", toUtf8(drawing.names.get(each.origins)));
        json.attribute("bytes", each.bytes);
        if (each.stage >= 0)
          json.attribute("stage", each.stage);
        if (each.microbatch >= 0)
          json.attribute("microbatch", each.microbatch);
        if (!isRecorded) {
          json.attribute("item", int64_t(index));
          json.attribute("slack", each.slack * scale);
        }
      });
    });
    if (!isRecorded)
      writeArrow(index);
  }
}

/// From another mesh's bar, or a transfer; what follows on one is seen.
void TraceWriter::writeArrow(uint32_t id) {
  const Drawing::Bar &bar = drawing.bars[id];
  llvm::ArrayRef<uint32_t> waits = drawing.getWaits(id);
  auto last = llvm::max_element(waits, [&](uint32_t a, uint32_t b) {
    return drawing.bars[a].stop < drawing.bars[b].stop;
  });
  if (last == waits.end())
    return;
  const Drawing::Bar &before = drawing.bars[*last];
  if (before.mesh == bar.mesh && before.isTransfer() == bar.isTransfer())
    return;
  for (bool isEnd : {false, true}) {
    const Drawing::Bar &at = isEnd ? bar : before;
    json.object([&] {
      json.attribute("ph", isEnd ? "f" : "s");
      json.attribute("name", "waits");
      json.attribute("cat", "waits");
      json.attribute("id", int64_t(id));
      json.attribute("pid", getProcess(at.mesh, false));
      json.attribute("tid", getThread(at, lanes.slot[isEnd ? id : *last]));
      json.attribute("ts", (isEnd ? at.start : at.stop) * scale);
      if (isEnd)
        json.attribute("bp", "e");
    });
  }
}

void TraceWriter::writeCounters() {
  for (auto [index, mesh] : llvm::enumerate(drawing.meshes))
    for (const Drawing::Level &level : mesh.levels)
      json.object([&, index = index] {
        json.attribute("ph", "C");
        json.attribute("name",
                       drawing.inBytes ? "memory" : "live microbatches");
        json.attribute("pid", getProcess(index, false));
        json.attribute("ts", level.time * scale);
        json.attributeObject("args", [&] {
          json.attribute(drawing.inBytes ? "bytes" : "count", level.amount);
        });
      });
}

void TraceWriter::write() {
  json.object([&] {
    json.attributeArray("traceEvents", [&] {
      writeNames();
      writeBars(drawing.bars, lanes, false);
      writeBars(drawing.recorded, recordedLanes, true);
      writeCounters();
    });
    json.attribute("displayTimeUnit", "ms");
  });
}

void meshwright::printTrace(const Drawing &drawing, llvm::raw_ostream &os) {
  TraceWriter(drawing, os).write();
  os << '\n';
}
