//===- Partitioner.h - One program in, programs on meshes out ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The library's front door:
//
//   FailureOr<PartitionConfig> config = parsePartitionConfig(json, name, ctx);
//   FailureOr<PartitionResult> result = partition(module, *config);
//   printTable(summarize(result->function), llvm::outs());
//   writeJson(*result->program, llvm::outs());
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_PARTITIONER_H
#define MESHWRIGHT_PARTITIONER_PARTITIONER_H

#include "meshwright/Partitioner/ExportedProgram.h"
#include "meshwright/Partitioner/PartitionConfig.h"
#include "meshwright/Partitioner/ProgramSummary.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>

namespace meshwright {

/// The phases of a compile, in order.
enum class Phase { Import, Optimize, Shard, Export };

struct PhaseInfo {
  Phase phase;
  llvm::StringRef name;
  llvm::StringRef description;
};
llvm::ArrayRef<PhaseInfo> getPhases();

/// Which phases to run. A program that others have imported may be taken on
/// from there.
class PhaseSet {
public:
  static PhaseSet none() { return PhaseSet(0); }
  static PhaseSet all() { return between(Phase::Import, Phase::Export); }
  /// From the first to the last; none if they are in the other order.
  static PhaseSet between(Phase first, Phase last) {
    return PhaseSet((2 * bit(last) - 1) & ~(bit(first) - 1));
  }

  bool contains(Phase phase) const { return bits & bit(phase); }
  PhaseSet &insert(Phase phase) {
    bits |= bit(phase);
    return *this;
  }

private:
  explicit PhaseSet(unsigned bits) : bits(bits) {}
  static unsigned bit(Phase phase) {
    return 1u << static_cast<unsigned>(phase);
  }
  unsigned bits;
};

struct PartitionResult {
  /// The partitioned function, in the module that was given.
  mlir::func::FuncOp function;
  /// What a runtime has to do; only after the export phase.
  std::optional<ExportedProgram> program;
  /// What the configuration says of custom calls.
  CustomCosts customs;
};

/// Called after each phase with the seconds it took.
using PhaseListener = std::function<void(const PhaseInfo &, double)>;

/// Partitions the configured function of `module` in place. The function is the
/// symbol `config.function`, or `@main` if the module is called
/// `jit_<config.function>`, as JAX calls it.
///
/// Emits a diagnostic and fails if the function does not exist or is
/// empty, if the configuration does not fit it (unknown names, wrong counts of
/// meshes, indices out of range), or if a phase fails; the module is then in
/// an unspecified, though valid, state.
mlir::FailureOr<PartitionResult> partition(mlir::ModuleOp module,
                                           const PartitionConfig &config,
                                           PhaseSet phases = PhaseSet::all(),
                                           const PhaseListener &onPhase = {});

/// Rules that come apart from the configuration, after those of it.
struct FragmentRules {
  std::vector<mlir::mpmd::FragmentMergeRule> merges;
  std::vector<mlir::mpmd::FragmentScheduleRule> schedules;
};

/// `partition` in two steps, for rules that are made from the fragments that
/// import has made: begin, import, finish. The module must outlive it.
class Partitioning {
public:
  /// Fails as `partition` does if the configuration does not fit the program.
  static mlir::FailureOr<std::unique_ptr<Partitioning>>
  begin(mlir::ModuleOp module, PartitionConfig config,
        PhaseSet phases = PhaseSet::all(), PhaseListener onPhase = {});
  ~Partitioning();

  /// Runs the import phase, if it is among the phases.
  mlir::LogicalResult import();
  /// Runs the other phases, once.
  mlir::FailureOr<PartitionResult> finish(FragmentRules rules = {});

private:
  struct State;
  explicit Partitioning(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Lets meshes that share devices, as the configuration says, take turns when the program
/// is issued.
void orderForSharedDevices(ExportedProgram &program,
                           const PartitionConfig &config);

/// The names of all computations and tensors of a program, in its order.
std::vector<std::string> listNames(mlir::ModuleOp module);

/// Why a schedule will find nothing to order in a program, though something in
/// it is repeated.
enum class IdleReason {
  None,
  NoStages,   ///< Loops or counters, but no names.
  NoCounters, ///< Calls or names that are repeated, but no counters.
};

/// Tells that of a program before import.
IdleReason findIdleReason(mlir::ModuleOp module);

/// The passes that `partition` runs, as text: with it, mpmd-opt makes the same
/// module of the same program. Fails as `partition` does if the configuration
/// does not fit the program.
mlir::FailureOr<std::string>
describePipeline(mlir::ModuleOp module, const PartitionConfig &config,
                 PhaseSet phases = PhaseSet::all());

/// Reports what `partition` would report of the function `main` whatever else
/// the configuration says, and changes nothing. Of a program without `main`, or
/// one that was imported before, only what is wrong with calls is reported.
mlir::LogicalResult checkProgram(mlir::ModuleOp module);

} // namespace meshwright

#endif
