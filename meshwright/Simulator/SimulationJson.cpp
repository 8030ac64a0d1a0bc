//===- SimulationJson.cpp - Simulations as JSON ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/Times.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace meshwright;

namespace {
class Writer {
public:
  Writer(const Workload &workload, const Simulation &simulation,
         llvm::raw_ostream &os)
      : workload(workload), simulation(simulation), json(os, 1) {}

  void write(bool withItems);

private:
  void writeText(llvm::StringRef key, llvm::StringRef text) {
    json.attribute(key, toUtf8(text));
  }
  void writeTime(llvm::StringRef key, Ticks ticks) {
    json.attributeBegin(key);
    json.rawValue(toSeconds(ticks));
    json.attributeEnd();
  }
  void writePart(llvm::StringRef key, double part) {
    json.attributeBegin(key);
    json.rawValue(llvm::formatv("{0:F6}", part).str());
    json.attributeEnd();
  }
  void writeNumberOrNull(llvm::StringRef key, int64_t number) {
    if (number < 0)
      json.attribute(key, nullptr);
    else
      json.attribute(key, number);
  }
  llvm::StringRef getMeshName(uint32_t mesh) const {
    return workload.meshes[mesh].name;
  }
  void writeMesh(const Simulation::Mesh &mesh, bool withLevels);
  void writeTraffic(const Workload::Traffic &traffic);
  void writeEdge(const Simulation::Edge &edge);
  void writeCore(const Workload::Activity &activity, int32_t microbatch,
                 Ticks start, Ticks stop);
  void writeItem(uint32_t item);
  /// The item before `item` on its mesh or link, and what it reads.
  void listCauses(uint32_t item, llvm::SmallVectorImpl<uint32_t> &causes);

  const Workload &workload;
  const Simulation &simulation;
  llvm::json::OStream json;
  std::vector<uint32_t> before; ///< On the mesh; kNoItem for the first.
};
} // namespace

void Writer::writeMesh(const Simulation::Mesh &mesh, bool withLevels) {
  writeTime("busy_s", mesh.busy);
  writePart("bubble", mesh.bubble);
  json.attribute("peak_bytes", mesh.peakBytes);
  writeTime("peak_s", mesh.peakTime);
  json.attributeArray("peak", [&] {
    for (const Simulation::Share &share : mesh.peak)
      json.object([&] {
        writeText("what", share.what);
        json.attribute("bytes", share.bytes);
      });
  });
  if (!withLevels)
    return;
  json.attributeArray("memory", [&] {
    for (const Simulation::Level &level : mesh.levels)
      json.array([&] {
        json.rawValue(toSeconds(level.time));
        json.value(level.bytes);
      });
  });
}

void Writer::writeEdge(const Simulation::Edge &edge) {
  auto [source, target] = getEndNames(workload, edge);
  writeText("source", source);
  writeText("target", target);
  json.attribute("bytes", edge.bytes);
  json.attribute("transfers", edge.transfers);
  writeTime("busy_s", edge.busy);
  writeTime("slack_s", edge.slack);
}

void Writer::writeTraffic(const Workload::Traffic &traffic) {
  writeText("mesh", getMeshName(traffic.mesh));
  writeText("axes", traffic.axes);
  writeText("kind", traffic.kind);
  json.attribute("count", roundCount(traffic.count));
  json.attribute("bytes", roundCount(traffic.bytes));
  writeTime("busy_s", toTicks(traffic.seconds));
}

/// What the critical path and the list of items say alike.
void Writer::writeCore(const Workload::Activity &activity, int32_t microbatch,
                       Ticks start, Ticks stop) {
  writeText("mesh", getMeshName(activity.mesh));
  json.attribute("kind", getName(activity.kind));
  writeText("name", activity.name);
  writeNumberOrNull("microbatch", microbatch);
  writeTime("start_s", start);
  writeTime("end_s", stop);
}

void Writer::listCauses(uint32_t item,
                        llvm::SmallVectorImpl<uint32_t> &causes) {
  auto add = [&](uint32_t cause) {
    if (cause != kNoItem && !llvm::is_contained(causes, cause))
      causes.push_back(cause);
  };
  add(simulation.waitedFor[item]);
  add(before[item]);
  add(workload.getAfter(item));
  for (uint32_t value : workload.getOperands(item))
    add(workload.values[value].producer);
  if (causes.size() > 1)
    llvm::sort(llvm::MutableArrayRef(causes).drop_front(
                   simulation.waitedFor[item] != kNoItem),
               [&](uint32_t a, uint32_t b) {
                 return std::make_pair(-simulation.stop[a], a) <
                        std::make_pair(-simulation.stop[b], b);
               });
}

void Writer::writeItem(uint32_t item) {
  const Workload::Activity &activity = workload.getActivity(item);
  writeCore(activity, workload.items[item].microbatch, simulation.start[item],
            simulation.stop[item]);
  writeText("source", getMeshName(activity.source));
  json.attributeArray("origins", [&] {
    for (const std::string &origin : activity.origins)
      json.value(toUtf8(origin));
  });
  writeNumberOrNull("stage", activity.stage);
  json.attribute("bytes", activity.bytes);
  json.attribute("temporary_bytes", activity.temporaryBytes);
  writeTime("slack_s", simulation.slack[item]);
  json.attributeArray("waits_for", [&] {
    llvm::SmallVector<uint32_t, 8> causes;
    listCauses(item, causes);
    for (uint32_t cause : causes)
      json.value(static_cast<int64_t>(cause));
  });
}

void Writer::write(bool withItems) {
  json.objectBegin();
  json.attribute("version", 1);
  writeTime("makespan_s", simulation.makespan);
  writePart("bubble", simulation.getBubble());
  if (simulation.utilization < 0)
    json.attribute("utilization", nullptr);
  else
    writePart("utilization", simulation.utilization);
  json.attributeObject("meshes", [&] {
    for (uint32_t mesh = 0; mesh < simulation.meshes.size(); ++mesh) {
      json.attributeBegin(toUtf8(getMeshName(mesh)));
      json.object([&] { writeMesh(simulation.meshes[mesh], withItems); });
      json.attributeEnd();
    }
  });
  json.attributeArray("edges", [&] {
    for (const Simulation::Edge &edge : simulation.edges)
      json.object([&] { writeEdge(edge); });
  });
  json.attributeArray("collectives", [&] {
    for (const Workload::Traffic &traffic : workload.traffic)
      json.object([&] { writeTraffic(traffic); });
  });
  json.attributeArray("critical_path", [&] {
    for (const Simulation::PathItem &item : simulation.criticalPath)
      json.object([&] {
        json.attribute("item", static_cast<int64_t>(item.item));
        writeCore(workload.activities[item.activity], item.microbatch,
                  item.start, item.stop);
      });
  });
  if (withItems) {
    before.assign(workload.items.size(), kNoItem);
    for (const std::vector<uint32_t> &queue : workload.queues)
      for (size_t i = 1; i < queue.size(); ++i)
        before[queue[i]] = queue[i - 1];
    json.attributeArray("items", [&] {
      for (uint32_t item = 0; item < workload.items.size(); ++item)
        json.object([&] { writeItem(item); });
    });
  }
  json.objectEnd();
}

void meshwright::writeJson(const Workload &workload,
                           const Simulation &simulation, llvm::raw_ostream &os,
                           bool withItems) {
  Writer(workload, simulation, os).write(withItems);
  os << '\n';
}
