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
// A plan without some of its rounds (PlanRounds.h) says how the whole one runs if the run
// comes to the same state again some rounds later, with all times later by as much: then
// the rounds that are left out bring it there as often. A state is
//
//   the next step of each mesh     what later steps wait for, and since when     the stack
//
// but for arrivals before the last step of a mesh, which its later steps cannot wait for.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SIMULATOR_PIPELINE_PLANRUN_H
#define MESHWRIGHT_SIMULATOR_PIPELINE_PLANRUN_H

#include "meshwright/Simulator/Pipeline/PlanActivities.h"
#include "meshwright/Simulator/Pipeline/PlanRounds.h"
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
  /// Refers to all of them; `latency` is that of each transfer. Of a plan without some of
  /// its rounds, if these are given.
  PlanRun(const StepGraph &graph, const PipelineModel &model, Ticks latency,
          const PlanRounds *rounds = nullptr);

  /// Whether causes can be numbered in this; else there are too many links.
  static bool canRun(const StepGraph &graph);

  /// Sets the times of all steps. Fails if some wait for each other, the last one ends
  /// later than can be counted, or rounds are left out and none repeats.
  bool run();
  /// What a simulation says of the run, but for single items. The activities of items on
  /// the critical path are listed in `workload`. Only once, after `run`. None if rounds
  /// that are left out would matter to more than counts.
  std::optional<Simulation> summarize(Workload &workload);

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
    uint32_t later; ///< As in a place.
    Ticks start;
    bool isTransfer = false;
    uint32_t link = 0;
    ActionId maker = {};
  };
  /// A step of the whole plan: one of the graph, or the like after as many repetitions.
  struct Place {
    ActionId step;
    uint32_t later = 0;
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
    uint32_t next = 0;    ///< The first step that has no times.
    uint32_t reached = 0; ///< After the last one that something is known of.
  };
  /// What the run depends on from some step on.
  struct State {
    struct Mesh {
      uint32_t next;
      Ticks lastStop = 0;
      /// Of the steps from the next on.
      std::vector<Ticks> starts;
      std::vector<Wait> waits;
    };
    std::vector<Mesh> meshes;
    std::vector<Waiting> stack;
  };
  /// Rounds that come again and again.
  struct Repeated {
    uint32_t rounds;               ///< As many of the plan.
    std::vector<uint32_t> begins;  ///< In the list of each mesh.
    std::vector<uint32_t> reached; ///< When it has run.
    Ticks time = 0;                ///< From one to the next.
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

  // Rounds that are left out (RunRounds.cpp)
  bool canRepeat();
  void watchRounds();
  State takeState();
  bool isInRounds() const;
  bool isLater(const State &before, uint32_t numRounds) const;
  bool isRepeated(const State &before, const State &after,
                  uint32_t numRounds) const;
  bool isRepeated(uint32_t mesh, const State::Mesh &before,
                  const State::Mesh &after, Ticks time) const;
  bool isSlackRepeated();
  Ticks findFirstAfter();
  /// How often what repeats is left out.
  uint32_t getRemoved() const {
    return repeated ? rounds->removed / repeated->rounds : 0;
  }
  /// How many actions of a mesh repeat.
  uint32_t getLength(uint32_t mesh) const {
    return repeated->rounds * rounds->meshes[mesh].length;
  }
  /// How often the whole plan has an action or the like.
  uint32_t countRepeats(const ActionId &action) const {
    if (!repeated || action.index < repeated->begins[action.mesh] ||
        action.index - repeated->begins[action.mesh] >= getLength(action.mesh))
      return 1;
    return 1 + getRemoved();
  }
  /// The place of the step that is that many repetitions after an action.
  Place findPlace(const ActionId &action, uint32_t later) const;
  /// That of the step that makes what an action reads, as many after it.
  Place findMaker(const StepGraph::Link &link, const ActionId &reader,
                  uint32_t later) const;

  void findPath();
  ActionId findFirstAtEnd();
  void listPath(PlanActivities &activities, Simulation &simulation);
  std::vector<uint32_t> numberPath();
  void summarizeMesh(uint32_t mesh, Simulation &simulation);
  void accountMemory(uint32_t mesh, Simulation::Mesh &found);
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
  const PlanRounds *rounds;
  uint32_t watched = 0; ///< A mesh whose rounds are counted,
  uint32_t nextWatch =
      0; ///< and the place in its list where the next one ends.
  uint32_t numRounds = 0;
  /// After how many rounds, and what was the state then.
  std::vector<std::pair<uint32_t, State>> known;
  std::optional<Repeated> repeated;
  Ticks removedTime = 0;    ///< Of the rounds that are left out.
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
