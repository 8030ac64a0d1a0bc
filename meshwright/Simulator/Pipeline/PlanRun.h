//===- PlanRun.h - One run of a plan ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Run (Run.h) of a plan whose transfers take the same time each and never wait for a link.
// Then a transfer starts when what it brings has been made, so that only steps need to
// have a time: eight bytes for an action instead of a hundred for it, its transfers and
// their values.
//
// Of two causes for which a step waits as long, that which Run comes to first is its
// cause. So this takes items in the order of Run, a stack of what waits for nothing.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PIPELINE_PLANRUN_H
#define MESHWRIGHT_SIMULATOR_PIPELINE_PLANRUN_H

#include "meshwright/Simulator/Pipeline/PlanActivities.h"
#include "meshwright/Simulator/Pipeline/StepGraph.h"
#include "meshwright/Simulator/PlanWorkload.h"
#include "meshwright/Simulator/Simulation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace meshwright {

class PlanRun {
public:
  /// Refers to all of them; `latency` is that of each transfer.
  PlanRun(const StepGraph &graph, const PipelineModel &model, Ticks latency);

  /// Whether causes can be numbered in this; else there are too many links.
  static bool canRun(const StepGraph &graph);

  /// Sets the times of all steps. Fails if some wait for each other, or the last one ends
  /// later than can be counted.
  bool run();
  /// What a simulation says of the run, but for single items. The activities of items on
  /// the critical path are listed in `workload`. Only once, after `run`.
  Simulation summarize(Workload &workload);

private:
  /// What a step waits for last: nothing, the step before it, or one of its links, those
  /// of a second action numbered on from those of the first.
  using Cause = uint16_t;
  static constexpr Cause kNothing = 0, kPrevious = 1, kFirstLink = 2;

  /// On the stack: a step that waits for nothing, or a transfer to one.
  struct Waiting {
    ActionId step;
    Ticks begin = 0; ///< Of the transfer.
    Cause cause = kNothing;
    bool isTransfer = false;
  };
  /// An action that reads what has been made.
  struct Reading {
    ActionId action;
    uint32_t link;
  };
  using Readings = llvm::SmallVector<Reading, 8>;

  /// What the critical path consists of: a step, or a transfer to a step.
  struct PathItem {
    ActionId action;
    bool isTransfer = false;
    uint32_t link = 0;
    ActionId maker = {};
  };

  /// Of a step.
  struct Wait {
    Cause cause = kNothing;
    uint16_t pending = 0; ///< How much it still waits for.
  };
  /// Of the actions of a mesh. Each mesh has its own, so that the same positions of all
  /// meshes are not in the same set of a cache, and the memory of the plan is used again.
  struct MeshState {
    std::vector<Ticks> starts;
    std::vector<Wait> waits;
  };

  Ticks &getStart(const ActionId &step) {
    return states[step.mesh].starts[step.index];
  }
  Ticks getDuration(const ActionId &step) const;
  Ticks getStop(const ActionId &step);
  Ticks getArrival(Ticks begin) const;
  /// On each device: what a stage keeps of a microbatch is a byte (PipelineModel::make).
  static int64_t getBytes(const StepGraph::Link &link) { return link.isKept; }
  Cause getCause(const Reading &reading) const;
  void countPending();
  void drop(const ActionId &step, Ticks time, Cause cause);
  void setTimes(const ActionId &step);

  void findPath();
  ActionId findFirstAtEnd();
  void listPath(PlanActivities &activities, Simulation &simulation);
  std::vector<uint32_t> numberPath();
  void summarizeMesh(uint32_t mesh, Simulation &simulation);
  void accountMemory(uint32_t mesh, Simulation &simulation);
  std::optional<int64_t> findHeld(const ActionId &maker, Ticks time);
  uint32_t countEnded(uint32_t mesh, Ticks time);
  void listMade(uint32_t mesh, Ticks time, llvm::StringMap<int64_t> &shares);
  void listReceived(uint32_t mesh, Ticks time,
                    llvm::StringMap<int64_t> &shares);
  Simulation::Edge &getEdge(uint32_t source, uint32_t target, uint32_t reader);
  void findEdges();

  const StepGraph &graph;
  const PipelineModel &model;
  Ticks latency;
  std::vector<Ticks> times; ///< Of each work, where microbatches are alike.
  /// Whether each step takes time, so that of two before it on its mesh, a step waits for
  /// the later one.
  bool takesTime = false;
  std::vector<MeshState> states;
  std::vector<Waiting> stack;
  std::deque<uint32_t> order; ///< The meshes, as their steps got their times.
  size_t numSteps = 0;
  Ticks makespan = 0;
  std::vector<PathItem> path; ///< From the last to the first.
  std::vector<std::string> meshNames;
  std::vector<Simulation::Edge> edges;
  /// By source and target.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> edgeNumbers;
  std::vector<uint32_t> lastEdges; ///< Of each work that reads, the last one.
};

} // namespace meshwright

#endif
