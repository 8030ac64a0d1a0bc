//===- PlanSearch.h - Meshes, stages and schedule for a model ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Tries all ways to lay a model out on devices: meshes in a row, each of
// data x tensor devices, microbatches, schedules, with recomputation and
// without; cuts the layers for each by dynamic programming; draws the schedule
// with the times of its stages, and simulates the best few as programs are.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PLANNING_PLANSEARCH_H
#define MESHWRIGHT_PLANNING_PLANSEARCH_H

#include "meshwright/Planning/Stages.h"
#include "meshwright/Schedule/Schedule.h"
#include <memory>

namespace meshwright {

struct PlanInputs {
  Layers layers;
  CustomCosts customs; ///< For layers that are read from a program.
  std::vector<std::string> customTexts; ///< The same, as the user has them.
  Device device;
  std::string deviceText; ///< Its name or file, as the user has it.
  int64_t devices = 1;
  double memory = 0; ///< Of a device, in bytes.
  /// Those to try; the usual ones if empty.
  std::vector<const Schedule *> schedules;
  std::vector<int64_t> microbatches; ///< To try; all that divide the batch.
  std::vector<int64_t> meshes;       ///< To try; all that divide the devices.
};

/// One way to lay out a model.
struct Layout {
  const Schedule *schedule = nullptr;
  int64_t meshes = 1, chunks = 1, microbatches = 1;
  MeshSplit split;
  bool recomputes = false;
  bool hasPairs = false; ///< Whether its schedule overlaps actions.

  /// Where each stage ends, in layers, and on which mesh it is.
  std::vector<size_t> ends;
  std::vector<int64_t> placement;
  StageGraph graph; ///< What feeds what, if the layers have towers.

  /// Seconds of a step, and what it is made of, on the busiest mesh: sums over
  /// tensor-parallel devices that no pair hides, other work, waiting, and the end of a
  /// step.
  double seconds = 0;
  double reduces = 0, compute = 0, idle = 0, stepEnd = 0;
  double peakBytes = 0; ///< Of the fullest device.
  int64_t fullestMesh = 0;
  /// The order, if it is searched.
  std::shared_ptr<const Plan> measured;
  /// Stages of microbatches that it may keep on each mesh, if it is searched.
  std::vector<int64_t> mostLive;
};

struct PlanResult {
  Layout best;
  std::vector<Layout> others; ///< The next best first.
  size_t tried = 0;
  size_t fitting = 0; ///< Of those that were simulated.
};

/// The layout with the shortest step that fits. Fails if none fits, with the
/// smallest memory that one would, or if the inputs make no sense.
llvm::Expected<PlanResult> findLayout(const PlanInputs &inputs);

/// `4 meshes of 2 (data) x 1 (tensor), 1F1B, 16 microbatches, recomputation`.
std::string describe(const Layout &layout);

/// Why one layout takes longer than another, by parts of the step.
std::string compare(const Layout &loser, const Layout &winner);

/// Prints the result for people.
void printResult(const PlanInputs &inputs, const PlanResult &result,
                 llvm::raw_ostream &os);

/// Prints the result as JSON, with the configurations of the best `candidates`.
void printResultJson(const PlanInputs &inputs, const PlanResult &result,
                     size_t candidates, llvm::raw_ostream &os);

/// Prints the configuration of a layout, for `meshwright partition`.
void printConfig(const PlanInputs &inputs, const Layout &layout,
                 llvm::raw_ostream &os);

} // namespace meshwright

#endif
