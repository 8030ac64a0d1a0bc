//===- Recording.cpp - A recorded run beside the simulated one ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A recording is read in either of its forms:
//
//   {"version": 1, "events": [{"run": 0, "item": 3, "kind": "fragment",
//                              "name": …, "mesh": …, "start": …, "stop": …}]}
//   {"traceEvents": [{"ph": "X", "cat": "fragment", "name": …, "pid": 1,
//                     "ts": …, "dur": …, "args": {"run": 0, "item": 3}}]}
//
// A trace names its meshes by process, or, of several processes, by thread.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Text/NumberLimits.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>
#include <tuple>

using namespace meshwright;
namespace json = llvm::json;

namespace {
struct Event {
  int64_t run = 0;
  std::optional<int64_t> item;
  std::string kind, name, mesh;
  std::string origins;
  double start = 0, stop = 0;
  int64_t bytes = 0;
};

/// What the rows of a trace are: the mesh of each, or none.
class TraceRows {
public:
  void add(const json::Object &event);
  std::optional<llvm::StringRef> findMesh(const json::Object &event) const;

private:
  static constexpr llvm::StringLiteral kIssuer = "issuing thread";
  std::map<int64_t, std::string> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;
};
} // namespace

void TraceRows::add(const json::Object &event) {
  const json::Object *arguments = event.getObject("args");
  std::optional<llvm::StringRef> name =
      arguments ? arguments->getString("name") : std::nullopt;
  std::optional<int64_t> pid = event.getInteger("pid");
  if (!name || !pid)
    return;
  if (event.getString("name") == "process_name")
    processes[*pid] = name->str();
  else if (event.getString("name") == "thread_name")
    threads[{*pid, event.getInteger("tid").value_or(0)}] = name->str();
}

/// `m1: fragments` names the row of a mesh in a process; a row `fragments` is
/// one of a process that is a mesh.
std::optional<llvm::StringRef>
TraceRows::findMesh(const json::Object &event) const {
  int64_t pid = event.getInteger("pid").value_or(0);
  auto thread = threads.find({pid, event.getInteger("tid").value_or(0)});
  auto process = processes.find(pid);
  if (thread != threads.end()) {
    llvm::StringRef name = thread->second;
    if (name == kIssuer)
      return std::nullopt;
    if (size_t colon = name.rfind(": "); colon != llvm::StringRef::npos)
      return name.take_front(colon);
  }
  if (process == processes.end() || process->second == kIssuer)
    return std::nullopt;
  return llvm::StringRef(process->second);
}

static std::string join(const json::Array *texts) {
  std::string joined;
  if (texts)
    for (const json::Value &text : *texts)
      if (std::optional<llvm::StringRef> each = text.getAsString())
        joined += (joined.empty() ? "" : ", ") + each->str();
  return joined;
}

static bool readEvent(const json::Value &value, Event &event, json::Path path) {
  json::ObjectMapper members(value, path);
  if (!members || !members.map("run", event.run) ||
      !members.map("item", event.item) || !members.map("kind", event.kind) ||
      !members.map("name", event.name) || !members.map("mesh", event.mesh) ||
      !members.map("start", event.start) || !members.map("stop", event.stop) ||
      !members.mapOptional("bytes", event.bytes))
    return false;
  event.origins = join(value.getAsObject()->getArray("origins"));
  return true;
}

static bool readTraceEvent(const json::Value &value, const TraceRows &rows,
                           std::vector<Event> &events, json::Path path) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return failAt(path, "expected an object");
  if (object->getString("ph") != "X")
    return true;
  std::optional<llvm::StringRef> mesh = rows.findMesh(*object);
  const json::Object *arguments = object->getObject("args");
  if (!mesh || !arguments)
    return true; // The issuing thread, or of another tool.
  Event event;
  double start, duration;
  json::ObjectMapper members(value, path);
  if (!members.map("name", event.name) || !members.map("cat", event.kind) ||
      !members.map("ts", start) || !members.map("dur", duration))
    return false;
  json::Path inner = path.field("args");
  json::ObjectMapper details(*object->get("args"), inner);
  if (!details.map("run", event.run) || !details.map("item", event.item) ||
      !details.mapOptional("bytes", event.bytes))
    return false;
  event.mesh = mesh->str();
  event.origins = join(arguments->getArray("origins"));
  event.start = start / 1e6;
  event.stop = (start + duration) / 1e6;
  events.push_back(std::move(event));
  return true;
}

static bool readEvents(const json::Value &value, std::vector<Event> &events,
                       json::Path path) {
  const json::Object *object = value.getAsObject();
  if (const json::Array *list =
          object ? object->getArray("traceEvents") : nullptr) {
    TraceRows rows;
    for (const json::Value &each : *list)
      if (const json::Object *event = each.getAsObject();
          event && event->getString("ph") == "M")
        rows.add(*event);
    json::Path entries = path.field("traceEvents");
    for (auto [index, each] : llvm::enumerate(*list))
      if (!readTraceEvent(each, rows, events, entries.index(index)))
        return false;
    return true;
  }
  const json::Array *list = object ? object->getArray("events") : nullptr;
  if (!list)
    return failAt(path,
                  "expected what meshwright.profile records: a trace with "
                  "\"traceEvents\", or an object with \"events\"");
  if (object->getInteger("version") != 1)
    return failAt(path.field("version"),
                  "record again with this release; expected 1");
  json::Path entries = path.field("events");
  for (auto [index, each] : llvm::enumerate(*list))
    if (!readEvent(each, events.emplace_back(), entries.index(index)))
      return false;
  return true;
}

/// Those of one run, from its own beginning; in seconds.
static llvm::Error chooseRun(std::vector<Event> &events,
                             std::optional<int64_t> run) {
  int64_t last = -1;
  for (const Event &event : events)
    last = std::max(last, event.run);
  if (last < 0)
    return llvm::createStringError(
        "the recording has no events; record a run with mw.profile");
  int64_t chosen = run.value_or(last);
  llvm::erase_if(events,
                 [&](const Event &event) { return event.run != chosen; });
  if (events.empty())
    return llvm::createStringError(llvm::formatv(
        "the recording has no run {0}; it has runs 0 to {1}", chosen, last));
  double begin = events.front().start;
  for (const Event &event : events)
    begin = std::min(begin, event.start);
  double end = 0;
  for (Event &event : events) {
    event.start -= begin;
    event.stop -= begin;
    end = std::max(end, event.stop);
    if (event.stop < event.start)
      return llvm::createStringError("in the recording, " + event.name +
                                     " ends before it starts");
    if (!(event.stop <= kMaxNumber))
      return llvm::createStringError("in the recording, " + event.name +
                                     " ends more than 1e30 s after the run "
                                     "began");
  }
  if (end > 0 && end < Drawing::kLeastTime)
    return llvm::createStringError(
        "the recorded run takes less than 1e-18 s; expected seconds");
  return llvm::Error::success();
}

namespace {
/// Finds the simulated bar of an event: at its position in the program if that
/// has its name, else the next one of its name on its mesh.
class Matcher {
public:
  explicit Matcher(const Drawing &drawing) : drawing(drawing) {
    for (auto [index, bar] : llvm::enumerate(drawing.bars))
      byName[{bar.mesh, bar.name}].push_back(index);
  }

  uint32_t match(const Event &event, uint32_t mesh, uint32_t name) {
    if (event.item && *event.item >= 0 &&
        *event.item < static_cast<int64_t>(drawing.bars.size())) {
      const Drawing::Bar &bar = drawing.bars[*event.item];
      if (bar.mesh == mesh && bar.name == name)
        return *event.item;
    }
    auto it = byName.find({mesh, name});
    if (it == byName.end())
      return Drawing::kNone;
    size_t &next = taken[it->first];
    return next < it->second.size() ? it->second[next++] : Drawing::kNone;
  }

private:
  using Key = std::pair<uint32_t, uint32_t>;
  const Drawing &drawing;
  std::map<Key, std::vector<uint32_t>> byName;
  std::map<Key, size_t> taken;
};
} // namespace

static ItemKind guessKind(llvm::StringRef kind) {
  if (kind == "transfer")
    return ItemKind::Transfer;
  return kind == "reshard" ? ItemKind::Collective : ItemKind::Other;
}

static void findDifferences(Drawing &drawing) {
  llvm::MapVector<std::pair<uint32_t, uint32_t>, Drawing::Difference> rows;
  auto find = [&](const Drawing::Bar &bar) -> Drawing::Difference & {
    auto [it, isNew] = rows.insert({{bar.mesh, bar.name}, {}});
    if (isNew)
      it->second = {bar.name, bar.mesh, bar.kind};
    return it->second;
  };
  for (const Drawing::Bar &bar : drawing.bars) {
    Drawing::Difference &row = find(bar);
    ++row.simulatedRuns;
    row.simulated += bar.getTime();
  }
  for (const Drawing::Bar &bar : drawing.recorded) {
    Drawing::Difference &row = find(bar);
    ++row.recordedRuns;
    row.recorded += bar.getTime();
  }
  for (auto &[key, row] : rows)
    drawing.differences.push_back(row);
  llvm::sort(drawing.differences, [](const auto &a, const auto &b) {
    auto getKey = [](const Drawing::Difference &each) {
      return std::make_tuple(-std::fabs(each.recorded - each.simulated),
                             each.mesh, each.name);
    };
    return getKey(a) < getKey(b);
  });
}

llvm::Error meshwright::addRecording(const json::Value &value,
                                     std::optional<int64_t> run,
                                     Drawing &drawing) {
  if (!drawing.inSeconds)
    return llvm::createStringError(
        "a recording is in seconds, and this is in units of a plan; put it "
        "beside what `meshwright simulate` prints");
  std::vector<Event> events;
  json::Path::Root root("recording");
  if (!readEvents(value, events, root))
    return root.getError();
  if (llvm::Error error = chooseRun(events, run))
    return error;
  llvm::StringMap<uint32_t> meshes;
  for (auto [index, mesh] : llvm::enumerate(drawing.meshes))
    meshes[mesh.name] = index;
  Matcher matcher(drawing);
  llvm::sort(events, [](const Event &a, const Event &b) {
    return std::tie(a.start, a.item, a.mesh, a.name) <
           std::tie(b.start, b.item, b.mesh, b.name);
  });
  for (const Event &event : events) {
    auto mesh = meshes.find(event.mesh);
    if (mesh == meshes.end())
      return llvm::createStringError("the recording has a mesh '" + event.mesh +
                                     "' that the simulation has not; give both "
                                     "of one program");
    Drawing::Bar bar;
    bar.mesh = bar.source = mesh->second;
    bar.name = drawing.names.add(event.name);
    uint32_t partner = matcher.match(event, bar.mesh, bar.name);
    bar.kind = guessKind(event.kind);
    if (partner != Drawing::kNone) {
      const Drawing::Bar &same = drawing.bars[partner];
      bar.kind = same.kind;
      bar.stage = same.stage;
      bar.microbatch = same.microbatch;
      bar.source = same.source;
    }
    bar.origins = drawing.names.add(event.origins);
    bar.start = event.start;
    bar.stop = event.stop;
    bar.bytes = double(event.bytes);
    drawing.recordedMakespan = std::max(drawing.recordedMakespan, bar.stop);
    drawing.recorded.push_back(bar);
    drawing.partners.push_back(partner);
  }
  findDifferences(drawing);
  return llvm::Error::success();
}
