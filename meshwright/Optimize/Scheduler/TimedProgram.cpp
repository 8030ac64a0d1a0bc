//===- TimedProgram.cpp - Seconds of what a program runs ------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Optimize/Scheduler/TimedProgram.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Fragments/ControlDependencies.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Sharding/Pipeline.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::mpmd;
using meshwright::DeviceRange;

LogicalResult TimedProgram::read(const TimeSource &source) {
  auto report = [&](StringRef option, llvm::Error error) {
    return original.emitError()
           << option << ": " << llvm::toString(std::move(error));
  };
  llvm::Expected<meshwright::CustomCosts> read =
      meshwright::parseCostList(source.customCosts);
  if (!read)
    return report("mpmd_custom_costs", read.takeError());
  customs = std::move(*read);
  if (!source.device.empty()) {
    llvm::Expected<meshwright::Device> found =
        meshwright::findDevice(source.device);
    if (!found)
      return report("mpmd_schedule_device", found.takeError());
    device = std::move(*found);
  }
  if (!source.profile.empty()) {
    llvm::Expected<meshwright::Profile> found =
        meshwright::readProfile(source.profile);
    if (!found)
      return report("mpmd_schedule_profile", found.takeError());
    profile = std::move(*found);
  }
  return success();
}

LogicalResult TimedProgram::shardCopy() {
  auto whole = original->getParentOfType<ModuleOp>();
  SymbolTable symbols(whole);
  module = ModuleOp::create(whole.getLoc(), whole.getSymName());
  auto builder = OpBuilder::atBlockEnd(module->getBody());
  for (Operation *symbol : meshwright::collectSymbols(original, symbols))
    builder.clone(*symbol);
  copy = cast<func::FuncOp>(builder.clone(*original));
  removeControlDependencies(copy);
  // The shard phase will say the same of the program itself.
  ScopedDiagnosticHandler quiet(
      module->getContext(), [](Diagnostic &diagnostic) {
        return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
      });
  auto passes = PassManager::on<ModuleOp>(module->getContext());
  passes.enableVerifier(false);
  addShardingPropagationPipeline(passes, {});
  return passes.run(*module);
}

FailureOr<std::unique_ptr<TimedProgram>>
TimedProgram::make(func::FuncOp func, const TimeSource &source) {
  std::unique_ptr<TimedProgram> program(new TimedProgram(func));
  if (failed(program->read(source)) || failed(program->shardCopy()))
    return failure();
  program->units =
      collectUnits(program->copy, BlockGraph(program->copy.front()));
  program->symbols.emplace(*program->module);
  program->works.emplace(*program->module, program->customs);
  if (program->device)
    program->costs.emplace(*program->module, *program->device,
                           program->customs);
  int64_t first = 0;
  for (NamedMeshAttr mesh : getTopology(func).getMeshes()) {
    int64_t count = std::max<int64_t>(1, mesh.getMesh().getTotalSize());
    program->devices[mesh.getName()] = {first, count};
    first += count;
  }
  return program;
}

/// As profiles have them.
static std::vector<std::string> getOrigins(FragmentOp fragment) {
  std::vector<std::string> origins;
  for (auto origin : fragment.getOrigin().getAsRange<UserOriginAttr>()) {
    std::string &text = origins.emplace_back(origin.getUserName().str());
    if (int64_t count = origin.getTransposeCount())
      text += "(" + std::to_string(count) + ")";
  }
  return origins;
}

FailureOr<UnitSeconds> TimedProgram::measure(FragmentOp unit) {
  if (profile) {
    std::vector<std::string> origins = getOrigins(unit);
    double flops = works->estimate(unit.getRegion()).flops;
    if (std::optional<double> seconds =
            profile->findSeconds("", unit.getMeshName(), origins, flops))
      return UnitSeconds{*seconds};
    missing.insert(llvm::join(origins, ", ") + " on mesh " +
                   unit.getMeshName().str());
    if (!costs)
      return UnitSeconds();
  }
  FailureOr<sdy::MeshAttr> mesh = getMeshOrError(unit, unit.getMeshName());
  if (failed(mesh))
    return failure();
  OwningOpRef<FragmentOp> own = cast<FragmentOp>(unit->clone());
  func::FuncOp function =
      meshwright::makeFragmentFunction(*own, "measured", *mesh);
  // Has another name if something of the program has this one.
  symbols->insert(function);
  FailureOr<meshwright::FragmentCost> cost = costs->estimate(function);
  if (failed(cost))
    return failure();
  uncounted.insert(cost->uncounted.begin(), cost->uncounted.end());
  return UnitSeconds{cost->getSeconds(), cost->collectiveSeconds};
}

double TimedProgram::getTransferSeconds(TransferOp transfer) const {
  auto from = cast<MeshTensorType>(transfer.getTensor().getType());
  auto to = cast<MeshTensorType>(transfer.getType());
  double bytes = meshwright::countBytes(to.getRankedTensorType());
  if (profile)
    if (std::optional<double> seconds = profile->findTransferSeconds(
            from.getMeshName(), to.getMeshName(), bytes))
      return *seconds;
  if (!device)
    return 0;
  DeviceRange source = devices.lookup(from.getMeshName());
  DeviceRange target = devices.lookup(to.getMeshName());
  FailureOr<sdy::MeshAttr> mesh = getMeshOrError(transfer, to.getMeshName());
  double shard = meshwright::countBytes(to.getLocalTensorType(*mesh));
  return meshwright::getTransferTime(
      meshwright::countTransferBytes(shard, source.count, target.count),
      *device, meshwright::getRoute(source, target, *device));
}

double TimedProgram::findLongestTransfer() {
  // What a unit sends to one mesh goes over the same links.
  llvm::MapVector<std::pair<Operation *, StringRef>, double> sums;
  DenseSet<Operation *> senders;
  for (const MeshUnits &mesh : units)
    if (mesh.isInPipeline())
      senders.insert(mesh.fragments.begin(), mesh.fragments.end());
  for (auto transfer : copy.front().getOps<TransferOp>()) {
    StringRef target = cast<MeshTensorType>(transfer.getType()).getMeshName();
    // A change of sharding may come first.
    Operation *sender = transfer;
    while (auto before = dyn_cast_or_null<TransferOp>(sender))
      sender = before.getTensor().getDefiningOp();
    if (senders.contains(sender) &&
        cast<FragmentOp>(sender).getMeshName() != target)
      sums[{sender, target}] += getTransferSeconds(transfer);
  }
  double longest = 0;
  for (auto &[edge, seconds] : sums)
    longest = std::max(longest, seconds);
  return longest;
}

LogicalResult TimedProgram::reportUnknown() {
  if (!missing.empty() && !device)
    return original.emitError()
           << "mpmd_schedule_profile has no time of "
           << llvm::join(missing, "; ")
           << "; record a run that has these fragments, or say with "
              "mpmd_schedule_device what they run on, so that they can be "
              "estimated";
  if (!missing.empty())
    original.emitWarning() << "mpmd_schedule_profile has no time of "
                           << llvm::join(missing, "; ")
                           << "; what they take is estimated for "
                           << device->name;
  warnOfUncounted(original, uncounted);
  return success();
}

void mlir::mpmd::warnOfUncounted(func::FuncOp func,
                                 const std::set<std::string> &uncounted) {
  if (!uncounted.empty())
    func.emitWarning() << "the work of custom calls "
                       << llvm::join(uncounted, ", ")
                       << " is unknown; give it with mpmd_custom_costs, as "
                          "NAME=flops:EXPRESSION";
}
