//===- FragmentCost.h - What one run of a fragment takes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// From the operations of a fragment, its mesh and its shardings: operations
// and bytes of one device, collectives between devices, time and memory.
// Formulas are closed: nothing depends on the size of a tensor.
// docs/cost-model.md has all of them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_COST_FRAGMENTCOST_H
#define MESHWRIGHT_COST_FRAGMENTCOST_H

#include "meshwright/Cost/Collective.h"
#include "meshwright/Cost/CustomCost.h"
#include "meshwright/Cost/Flops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <set>

namespace meshwright {

/// Kernels that run one after the other, or collectives that do.
struct ChainStep {
  double seconds;
  bool isCollective;
};

/// Everything is of one device, but `total`.
struct FragmentCost {
  Work total;                 ///< Of the whole mesh, in global shapes.
  double matrixFlops = 0;     ///< Of matrix products and convolutions.
  double vectorFlops = 0;     ///< Of the rest.
  double transcendentals = 0; ///< Results; each takes several operations.
  double bytes = 0;           ///< From and to device memory.
  double kernels = 0;         ///< Launched.
  std::vector<Collective> collectives;
  double computeSeconds = 0;    ///< All kernels.
  double collectiveSeconds = 0; ///< All collectives.
  /// Kernels and collectives in the order of the program, neighbours of one kind
  /// as one; long ones are coarser.
  std::vector<ChainStep> steps;
  /// Kernels that no collective waits for, not even through other kernels: a TPU hides
  /// exchanges beside these. They are part of `computeSeconds`. Other devices: 0.
  double freeSeconds = 0;
  /// Most bytes at once, beside operands and results.
  double temporaryBytes = 0;
  /// Custom calls of unknown work, by name.
  std::set<std::string> uncounted;
  /// Loops whose number of trips is not known; one was counted.
  unsigned unknownLoops = 0;

  double getSeconds() const { return computeSeconds + collectiveSeconds; }
  /// Adds times and steps of what runs afterwards.
  void addTimes(const FragmentCost &next);
};

/// Adds a step after others.
void addStep(std::vector<ChainStep> &steps, ChainStep step);
/// Adds steps that are repeated so often.
void addSteps(std::vector<ChainStep> &steps,
              const std::vector<ChainStep> &repeated, double times);

/// Seconds of its exchanges that a fragment hides beside its own kernels, in a program
/// with overlapped pairs, whose compiler is asked for that. On a TPU all, if it has the
/// kernels for that, as the whole backward of a stage has; else 0.
double getHiddenSeconds(const FragmentCost &cost, const Device &device);

/// Seconds of two fragments that run as one program and need nothing of each other:
/// a kernel of one runs beside a collective of the other, but not beside a kernel.
/// Each time, what can start first does. On a TPU exchanges run beside kernels that no
/// collective waits for, of either fragment, and beside no others.
double getOverlappedSeconds(const FragmentCost &first,
                            const FragmentCost &second, const Device &device);

/// Estimates the programs of fragments: functions with a `mesh_shape`, as the
/// export phase leaves them. Each is estimated once.
class CostModel {
public:
  CostModel(mlir::ModuleOp module, Device device, CustomCosts customs = {});

  /// Emits an error if the function is not the program of a fragment.
  mlir::FailureOr<FragmentCost> estimate(mlir::func::FuncOp fragment);

  const Device &getDevice() const { return device; }

private:
  mlir::FailureOr<FragmentCost> compute(mlir::func::FuncOp fragment);

  mlir::SymbolTable symbols;
  Device device;
  CustomCosts customs;
  llvm::DenseMap<mlir::Operation *, FragmentCost> known;
};

} // namespace meshwright

#endif
