//===- ProgramSimulation.cpp - Programs, simulated ------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Simulator/ProgramSimulation.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Simulator/Program/SplitOverlaps.h"
#include "meshwright/Simulator/ScheduleFile.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace meshwright;

void ProgramSimulator::addNotes(const ProgramWorkload &made) {
  if (!made.missing.empty())
    notes.push_back("the profile has no time of " +
                    llvm::join(made.missing, ", ") +
                    "; what they take is estimated for " + device.name);
  if (!made.notCompiled.empty())
    notes.push_back("the compiled program has nothing of " +
                    llvm::join(made.notCompiled, ", ") +
                    "; what they take is estimated for " + device.name);
  if (!made.notTimed.empty())
    notes.push_back("the compiler has no time of " +
                    llvm::join(made.notTimed, ", ") + "; it is estimated for " +
                    device.name);
  if (!made.uncounted.empty())
    notes.push_back(
        "the work of custom calls " + llvm::join(made.uncounted, ", ") +
        " is unknown; give it with --cost 'NAME=flops:EXPRESSION' (in Python, "
        "`costs`)");
  if (made.unknownLoops)
    notes.push_back(std::to_string(made.unknownLoops) +
                    " loops with an unknown number of trips count once");
}

llvm::Expected<Workload> ProgramSimulator::makeWorkload(ModuleOp module,
                                                        StringRef schedule) {
  func::FuncOp function;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (!function && mpmd::isMpmdFunction(candidate))
      function = candidate;
  if (!function)
    return llvm::createStringError(
        "has no function over meshes; expected a program that meshwright "
        "partition wrote");
  FailureOr<ExportedProgram> program = describeProgram(function, customs);
  if (failed(program))
    return llvm::createStringError("cannot be simulated");
  if (!schedule.empty())
    if (llvm::Error error = readOrder(schedule, *program))
      return error;
  return makeWorkloadOf(module, std::move(*program));
}

llvm::Expected<Workload>
ProgramSimulator::makeWorkload(const PartitionResult &partitioned) {
  auto module = partitioned.function->getParentOfType<ModuleOp>();
  ExportedProgram program = *partitioned.program;
  estimateFlops(program, module, customs);
  return makeWorkloadOf(module, std::move(program));
}

llvm::Expected<Workload>
ProgramSimulator::makeWorkloadOf(ModuleOp module, ExportedProgram program) {
  if (processes < 1 || processes > program.meshes.size())
    return llvm::createStringError(
        "expected from 1 process to one for each of " +
        llvm::Twine(program.meshes.size()) + " meshes, but got " +
        llvm::Twine(processes));
  if (!overlaps)
    program = splitOverlaps(program).program;
  CostModel costs(module, device, customs);
  ProgramTimes times{costs, profile ? &*profile : nullptr, processes,
                     compiled ? &*compiled : nullptr};
  FailureOr<ProgramWorkload> made = meshwright::makeWorkload(program, times);
  if (failed(made))
    return llvm::createStringError(
        "the time of a fragment cannot be estimated");
  auto order = findIssueOrder(program, made->workload);
  if (!order)
    return order.takeError();
  made->workload.issueOrder = std::move(*order);
  addNotes(*made);
  return std::move(made->workload);
}

/// Whether a device is what a target such as `v5p:2x2x4` is made of.
static bool isOf(StringRef target, StringRef device) {
  target.consume_front("tpu-");
  device.consume_front("tpu-");
  return target.split(':').first == device;
}

llvm::Expected<ProgramSimulator> meshwright::makeSimulator(
    const SimulationRequest &request,
    llvm::Expected<Profile> (*readProfile)(StringRef),
    llvm::Expected<CompiledMetrics> (*readCompiled)(StringRef)) {
  llvm::Expected<Device> device = findDevice(request.device);
  if (!device)
    return device.takeError();
  std::optional<Profile> profile;
  if (!request.profile.empty()) {
    llvm::Expected<Profile> given = readProfile(request.profile);
    if (!given)
      return given.takeError();
    profile = std::move(*given);
  }
  std::optional<CompiledMetrics> compiled;
  if (!request.compiled.empty()) {
    llvm::Expected<CompiledMetrics> given = readCompiled(request.compiled);
    if (!given)
      return given.takeError();
    // The figures of a file may be of any device.
    bool isKnown = !StringRef(request.device).contains(".json");
    if (isKnown && !given->target.empty() && !isOf(given->target, device->name))
      return llvm::createStringError(
          "the program was compiled for " + given->target +
          ", and is simulated on " + device->name +
          "; give the same device, or compile for this one");
    compiled = std::move(*given);
  }
  llvm::Expected<CustomCosts> customs = parseCustomCosts(request.costs);
  if (!customs)
    return customs.takeError();
  return ProgramSimulator(std::move(*device), std::move(profile),
                          std::move(compiled), std::move(*customs),
                          request.processes, request.overlaps);
}
