//===- SimulationTable.cpp - Simulations for people -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Simulator/Simulation.h"
#include "meshwright/Simulator/Times.h"
#include "meshwright/Text/TextTable.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace meshwright;

static std::string toPercent(double part) {
  return llvm::formatv("{0:P1}", part).str();
}

static std::string toPercent(Ticks part, Ticks whole) {
  return toPercent(whole == 0 ? 0.0
                              : static_cast<double>(part) /
                                    static_cast<double>(whole));
}

static void printMeshes(const Workload &workload, const Simulation &simulation,
                        llvm::raw_ostream &os) {
  std::vector<TextRow> rows = {{"mesh", "busy", "bubble", "peak memory", "at"}};
  for (auto [mesh, found] : llvm::zip(workload.meshes, simulation.meshes))
    rows.push_back({mesh.name, toDuration(found.busy), toPercent(found.bubble),
                    toScaled(static_cast<double>(found.peakBytes), "B"),
                    toDuration(found.peakTime)});
  printRows(rows, os);
}

static void printPeak(const Workload &workload, const Simulation &simulation,
                      llvm::raw_ostream &os) {
  auto fullest =
      llvm::max_element(simulation.meshes, [](const auto &a, const auto &b) {
        return a.peakBytes < b.peakBytes;
      });
  if (fullest == simulation.meshes.end() || fullest->peakBytes == 0)
    return;
  constexpr size_t kShown = 4;
  os << "\nthe peak of "
     << toLine(workload.meshes[fullest - simulation.meshes.begin()].name)
     << " is " << toScaled(static_cast<double>(fullest->peakBytes), "B") << ":";
  int64_t rest = fullest->peakBytes;
  for (auto [index, share] : llvm::enumerate(fullest->peak)) {
    if (index == kShown)
      break;
    os << (index ? ", " : " ")
       << toScaled(static_cast<double>(share.bytes), "B") << " "
       << toLine(share.what);
    rest -= share.bytes;
  }
  if (rest > 0)
    os << ", " << toScaled(static_cast<double>(rest), "B") << " other";
  os << "\n";
}

static void printEdges(const Workload &workload, const Simulation &simulation,
                       llvm::raw_ostream &os) {
  if (simulation.edges.empty())
    return;
  std::vector<TextRow> rows = {
      {"transfers", "number", "bytes", "link busy", "slack"}};
  for (const Simulation::Edge &edge : simulation.edges) {
    auto [source, target] = getEndNames(workload, edge);
    rows.push_back({source + " -> " + target, std::to_string(edge.transfers),
                    toScaled(static_cast<double>(edge.bytes), "B"),
                    toPercent(edge.busy, simulation.makespan),
                    toDuration(edge.slack)});
  }
  os << "\n";
  printRows(rows, os);
}

static void printTraffic(const Workload &workload, Ticks makespan,
                         llvm::raw_ostream &os) {
  if (workload.traffic.empty())
    return;
  std::vector<TextRow> rows = {
      {"collectives", "axes", "kind", "number", "bytes", "time"}};
  for (const Workload::Traffic &traffic : workload.traffic)
    rows.push_back({workload.meshes[traffic.mesh].name, traffic.axes,
                    traffic.kind, llvm::formatv("{0:F0}", traffic.count).str(),
                    toScaled(traffic.bytes, "B"),
                    toPercent(toTicks(traffic.seconds), makespan)});
  os << "\n";
  printRows(rows, os);
}

/// What the critical path consists of, by fragment, the longest first: what
/// would make the whole shorter.
static void printPath(const Workload &workload, const Simulation &simulation,
                      llvm::raw_ostream &os) {
  struct Part {
    int64_t count = 0;
    Ticks time = 0;
  };
  llvm::MapVector<llvm::StringRef, Part> parts;
  for (const Simulation::PathItem &item : simulation.criticalPath) {
    const Workload::Activity &activity = workload.activities[item.activity];
    Part &part = parts[activity.name];
    ++part.count;
    // Transfers that wait for a link run while those before are on their way.
    addCount(part.time, activity.duration);
    addCount(part.time, activity.latency);
  }
  auto found = parts.takeVector();
  llvm::sort(found, [](const auto &a, const auto &b) {
    return std::make_pair(-a.second.time, a.first) <
           std::make_pair(-b.second.time, b.first);
  });
  constexpr size_t kShown = 10;
  std::vector<TextRow> rows = {{"critical path", "items", "time", "of it"}};
  for (auto [index, entry] : llvm::enumerate(found)) {
    if (index == kShown)
      break;
    const auto &[name, part] = entry;
    rows.push_back({name.str(), std::to_string(part.count),
                    toDuration(part.time),
                    toPercent(part.time, simulation.makespan)});
  }
  os << "\n";
  printRows(rows, os);
  if (found.size() > kShown)
    os << "and " << found.size() - kShown << " more\n";
}

void meshwright::printTable(const Workload &workload,
                            const Simulation &simulation,
                            llvm::raw_ostream &os) {
  os << "step " << toDuration(simulation.makespan) << ", bubble "
     << toPercent(simulation.getBubble());
  if (simulation.utilization >= 0)
    os << ", FLOPs utilization " << toPercent(simulation.utilization);
  os << "\n\n";
  printMeshes(workload, simulation, os);
  printPeak(workload, simulation, os);
  printEdges(workload, simulation, os);
  printTraffic(workload, simulation.makespan, os);
  printPath(workload, simulation, os);
}
