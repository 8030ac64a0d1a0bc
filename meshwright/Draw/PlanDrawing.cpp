//===- PlanDrawing.cpp - Drawings of plans --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Schedule/ActionInputs.h"
#include "meshwright/Schedule/TimelineSteps.h"
#include "meshwright/Simulator/PlanWorkload.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace meshwright;
namespace json = llvm::json;

static llvm::StringRef getText(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return "forward";
  case ActionKind::Backward:
    return "backward";
  case ActionKind::Input:
    return "gradient of the input";
  case ActionKind::Weight:
    return "gradient of the weights";
  case ActionKind::Embedding:
    return "part of the embedding, forward";
  case ActionKind::EmbeddingBackward:
    return "part of the embedding, backward";
  case ActionKind::Head:
    return "part of the head, forward";
  case ActionKind::HeadBackward:
    return "part of the head, backward";
  }
  llvm_unreachable("unknown kind of action");
}

/// Microbatches from the start of their forward to the end of their backward.
static std::vector<Drawing::Level>
countLive(const ActionList &list, const std::vector<Interval> &intervals) {
  std::vector<std::pair<int64_t, int>> changes;
  for (auto [action, interval] : llvm::zip_equal(list, intervals)) {
    if (!isInChain(action.kind))
      continue;
    if (isForward(action.kind))
      changes.push_back({interval.start, 1});
    else if (isLast(action.kind))
      changes.push_back({interval.stop, -1});
  }
  llvm::sort(changes); // What goes at a time goes before what comes.
  std::vector<Drawing::Level> levels;
  double live = 0;
  for (auto [time, change] : changes) {
    live += change;
    if (levels.empty() || levels.back().time != double(time))
      levels.push_back({double(time), live});
    else
      levels.back().amount = live;
  }
  return levels;
}

Drawing meshwright::makeDrawing(const Plan &plan, const Timeline &timeline) {
  Drawing drawing;
  drawing.inSeconds = drawing.inBytes = false;
  drawing.makespan = double(timeline.makespan);
  drawing.bubble = timeline.getBubble();
  std::vector<uint32_t> firstBar;
  std::vector<std::string> towers = listTowers(plan);
  for (auto [index, list] : llvm::enumerate(plan.meshes)) {
    firstBar.push_back(drawing.bars.size());
    Drawing::Mesh &mesh = drawing.meshes.emplace_back();
    mesh.tower = towers[index];
    mesh.name = "mesh " + std::to_string(index);
    mesh.busy = double(timeline.busy[index]);
    if (timeline.makespan > 0)
      mesh.bubble = 1 - mesh.busy / drawing.makespan;
    mesh.peak = double(countPeakLive(list).untilWeight);
    mesh.levels = countLive(list, timeline.meshes[index]);
    for (auto [action, interval] :
         llvm::zip_equal(list, timeline.meshes[index])) {
      Drawing::Bar bar;
      bar.kind = getItemKind(action.kind);
      bar.mesh = bar.source = index;
      bar.name = drawing.names.add(
          llvm::formatv("{0}, {1}", nameStage(plan.graph, action.stage),
                        getText(action.kind))
              .str());
      bar.origins = drawing.names.add("");
      bar.stage = action.stage;
      bar.microbatch = action.microbatch;
      bar.start = double(interval.start);
      bar.stop = double(interval.stop);
      drawing.bars.push_back(bar);
    }
  }
  ActionInputs inputs(plan);
  double transfer = drawing.makespan;
  for (size_t mesh = 0; mesh < plan.meshes.size(); ++mesh) {
    const ActionList &list = plan.meshes[mesh];
    for (auto [index, action] : llvm::enumerate(list)) {
      const Drawing::Bar &bar = drawing.bars[firstBar[mesh] + index];
      auto add = [&](uint32_t wait) {
        // The input may be what was before it on its mesh as well.
        drawing.addWait(wait);
        if (drawing.bars[wait].mesh != mesh)
          transfer = std::min(transfer, bar.start - drawing.bars[wait].stop);
      };
      for (const ActionId *input : inputs.get(action))
        add(firstBar[input->mesh] + input->index);
      // An overlapped pair is one step: both wait for what was before it.
      size_t first = index > 0 && list[index - 1].joinsNext ? index - 1 : index;
      if (first > 0)
        add(firstBar[mesh] + first - 1);
      drawing.endWaits();
    }
  }
  drawing.findSlack(transfer);
  drawing.findCriticalPath();
  return drawing;
}

static bool readAction(const json::Value &value, Action &action,
                       Interval &interval, json::Path path) {
  json::ObjectMapper members(value, path);
  std::string kind;
  if (!members || !members.map("stage", action.stage) ||
      !members.map("kind", kind) ||
      !members.map("microbatch", action.microbatch) ||
      !members.map("start", interval.start) ||
      !members.map("stop", interval.stop))
    return false;
  std::optional<ActionKind> found = findKind(kind);
  if (!found)
    return failAt(path.field("kind"),
                  "expected F, B, I or W, or E, G, S or T of a "
                  "part of the vocabulary");
  action.kind = *found;
  if (action.stage < 0 || action.microbatch < 0)
    return failAt(path, "expected a stage and a microbatch of 0 or more");
  if (action.stage > INT32_MAX || action.microbatch > INT32_MAX)
    return failAt(path,
                  "expected a stage and a microbatch of at most 2147483647");
  if (interval.start < 0 || interval.stop <= interval.start)
    return failAt(path.field("stop"), "expected a time after start");
  return true;
}

/// The actions that run at once with the next one are a pair.
static bool readMesh(const json::Value &value, Plan &plan, Timeline &timeline,
                     json::Path path) {
  const json::Object *object = value.getAsObject();
  const json::Array *actions = object ? object->getArray("actions") : nullptr;
  std::optional<int64_t> busy =
      object ? object->getInteger("busy") : std::nullopt;
  if (!actions || !busy)
    return failAt(path, "expected an object with \"busy\" and \"actions\"");
  ActionList &list = plan.meshes.emplace_back();
  std::vector<Interval> &intervals = timeline.meshes.emplace_back();
  timeline.busy.push_back(*busy);
  json::Path each = path.field("actions");
  for (auto [index, item] : llvm::enumerate(*actions)) {
    Action action{};
    Interval interval{};
    if (!readAction(item, action, interval, each.index(index)))
      return false;
    if (!intervals.empty() && interval.start < intervals.back().stop) {
      if (interval.start != intervals.back().start ||
          interval.stop != intervals.back().stop)
        return failAt(each.index(index),
                      "starts before the one before has ended");
      list.back().joinsNext = true;
    }
    list.push_back(action);
    intervals.push_back(interval);
    timeline.makespan = std::max(timeline.makespan, interval.stop);
  }
  return true;
}

/// The towers of a plan, each of whose stages runs in a row.
static bool readTowers(const json::Value &value, Plan &plan, json::Path path) {
  std::optional<llvm::StringRef> text = value.getAsString();
  if (!text)
    return failAt(path, "expected a string");
  llvm::Expected<StageGraph> graph = parseStageGraph(*text);
  if (!graph) {
    llvm::consumeError(graph.takeError());
    return failAt(path,
                  "expected towers, as meshwright schedule --json prints them");
  }
  plan.graph = std::move(*graph);
  for (const ActionList &list : plan.meshes)
    for (const Action &action : list)
      if (action.stage >= plan.graph.countStages())
        return failAt(path, "has fewer stages than the rows");
  if (plan.graph.countMeshes() == static_cast<int64_t>(plan.meshes.size()))
    return true;
  return failAt(path, "has another number of meshes than there are rows");
}

/// A plan edited by hand may repeat an action, or start it too early.
static llvm::Error checkOrder(const Plan &plan, const Timeline &timeline) {
  ActionInputs inputs(plan);
  for (auto [mesh, list] : llvm::enumerate(plan.meshes))
    for (auto [index, action] : llvm::enumerate(list)) {
      const ActionId *first = inputs.find(action);
      if (first->mesh != mesh || first->index != index)
        return llvm::createStringError(
            llvm::formatv("plan: {0} twice, on mesh {1} and on mesh {2}",
                          toString(action), first->mesh, mesh));
      for (const ActionId *input : inputs.get(action))
        if (timeline.meshes[input->mesh][input->index].stop >
            timeline.meshes[mesh][index].start)
          return llvm::createStringError(llvm::formatv(
              "plan: {0} starts before {1} has ended", toString(action),
              toString(plan.meshes[input->mesh][input->index])));
    }
  return llvm::Error::success();
}

llvm::Expected<Drawing> meshwright::readPlanJson(const json::Value &value) {
  json::Path::Root root("plan");
  json::Path path(root);
  if (value.getAsObject()->getInteger("version") != 1) {
    path.field("version").report(
        "print the plan again with this release; expected 1");
    return root.getError();
  }
  const json::Array *meshes = value.getAsObject()->getArray("meshes");
  Plan plan;
  Timeline timeline;
  if (!meshes) {
    path.field("meshes").report("expected a list");
    return root.getError();
  }
  json::Path list = path.field("meshes");
  for (auto [index, mesh] : llvm::enumerate(*meshes))
    if (!readMesh(mesh, plan, timeline, list.index(index)))
      return root.getError();
  if (const json::Value *towers = value.getAsObject()->get("towers"))
    if (!readTowers(*towers, plan, path.field("towers")))
      return root.getError();
  if (llvm::Error error = checkOrder(plan, timeline))
    return error;
  return makeDrawing(plan, timeline);
}
