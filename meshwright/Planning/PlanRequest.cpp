//===- PlanRequest.cpp - What users ask of a plan, as text ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Planning/PlanRequest.h"
#include "meshwright/Text/ByteSize.h"

using namespace meshwright;

llvm::Expected<PlanInputs> meshwright::makeInputs(const PlanRequest &request) {
  PlanInputs inputs;
  llvm::Expected<Device> device = findDevice(request.device);
  if (!device)
    return device.takeError();
  inputs.device = std::move(*device);
  inputs.deviceText = request.device;
  inputs.devices = request.devices;
  inputs.memory = inputs.device.memory;
  if (!request.memory.empty()) {
    llvm::Expected<int64_t> bytes = parseByteSize(request.memory);
    if (!bytes)
      return llvm::createStringError("memory: " +
                                     llvm::toString(bytes.takeError()));
    inputs.memory = double(*bytes);
  }
  for (llvm::StringRef name : request.schedules) {
    const Schedule *schedule = findSchedule(name);
    if (!schedule)
      return llvm::createStringError("unknown pipeline schedule '" + name +
                                     "', " + listSchedules(name));
    inputs.schedules.push_back(schedule);
  }
  for (int64_t count : request.microbatches)
    if (count < 1)
      return llvm::createStringError("microbatches: expected numbers of 1 or "
                                     "more");
  inputs.microbatches = request.microbatches;
  for (int64_t count : request.meshes)
    if (count < 1 || request.devices % count)
      return llvm::createStringError("meshes: expected divisors of the " +
                                     llvm::Twine(request.devices) +
                                     " devices, got " + llvm::Twine(count));
  inputs.meshes = request.meshes;
  llvm::Expected<CustomCosts> customs = parseCustomCosts(request.costs);
  if (!customs)
    return customs.takeError();
  inputs.customs = std::move(*customs);
  inputs.customTexts = request.costs;
  return inputs;
}
