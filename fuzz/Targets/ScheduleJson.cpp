//===- ScheduleJson.cpp - schedule.json, beside its program ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// An input is a partitioned module after a line with its schedule:
//
//   // SCHEDULE: {"version": 1, "meshes": […], …}
//
//===----------------------------------------------------------------------===//

#include "Mutator/Mutator.h"
#include "Support/Context.h"
#include "Support/Programs.h"
#include "Support/Target.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Simulator/ProgramSimulation.h"
#include "meshwright/Simulator/Simulation.h"
#include "llvm/ADT/STLExtras.h"

using namespace meshwright;
using namespace meshwright::fuzz;
using llvm::StringRef;

static constexpr StringRef kSchedule = "// SCHEDULE: ";

static void expectReason(llvm::Error error) {
  if (llvm::toString(std::move(error)).empty())
    reportFinding("a schedule is rejected without an error");
}

void fuzz::takeInput(StringRef input) {
  auto [line, text] = input.split('\n');
  if (!line.consume_front(kSchedule))
    return;
  mlir::OwningOpRef<mlir::ModuleOp> module = readProgram(text);
  if (!module)
    return;
  ErrorCount errors(getContext());
  llvm::Expected<Device> device = findDevice("h100");
  if (!device)
    reportFinding("h100: " + llvm::toString(device.takeError()));
  ProgramSimulator simulator(*device, /*profile=*/std::nullopt, /*customs=*/{},
                             /*processes=*/1);
  llvm::Expected<Workload> workload = simulator.makeWorkload(*module, line);
  if (!workload)
    return expectReason(workload.takeError());
  if (auto simulated = simulate(*workload, /*withItems=*/true); !simulated)
    expectReason(simulated.takeError());
}

std::string fuzz::mutateInput(StringRef input, uint64_t seed) {
  auto [line, program] = input.split('\n');
  if (!line.consume_front(kSchedule))
    return input.str();
  std::string schedule = mutateText(line, seed);
  llvm::erase(schedule, '\n');
  return (kSchedule + schedule + "\n" + program).str();
}
