//===- Partitioner.cpp - One program in, programs on meshes out -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Dialect/Mpmd/BufferAttributes.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Export/Pipeline.h"
#include "meshwright/Import/InferMesh/Passes.h"
#include "meshwright/Import/Pipeline.h"
#include "meshwright/Import/Prepare/VerifyProgram.h"
#include "meshwright/Optimize/Pipeline.h"
#include "meshwright/Sharding/Pipeline.h"
#include "meshwright/Text/NearestName.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <chrono>

using namespace mlir;
using namespace mlir::mpmd;
using namespace meshwright;

static const PhaseInfo kPhases[] = {
    {Phase::Import, "import", "names to meshes, mesh inference, transfers"},
    {Phase::Optimize, "optimize", "schedule, merges, rematerialization"},
    {Phase::Shard, "shard", "shardings inside each mesh"},
    {Phase::Export, "export", "one function per distinct fragment"},
};

ArrayRef<PhaseInfo> meshwright::getPhases() { return kPhases; }

static FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name) {
  SmallVector<StringRef> known;
  func::FuncOp main;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.getSymName() == name && !func.isExternal())
      return func;
    if (func.isPublic())
      known.push_back(func.getSymName());
    if (func.getSymName() == "main" && !func.isExternal())
      main = func;
  }
  // JAX lowers `def step` to a module @jit_step whose function is @main.
  std::optional<StringRef> moduleName = module.getSymName();
  if (main && moduleName && moduleName->consume_front("jit_") &&
      *moduleName == name)
    return main;
  return module.emitError()
         << "function: no function @" << name
         << " with a body in this program, " << listKnown(name, known);
}

/// Null, and an error, if some mesh is none.
static TopologyAttr buildTopology(const PartitionConfig &config,
                                  Location location) {
  MLIRContext *context = location.getContext();
  // Parsing loads what a program uses, and a plain one uses neither.
  context->loadDialect<MpmdDialect, sdy::SdyDialect>();
  auto reportTopology = [&] { return emitError(location) << "topology: "; };
  function_ref<InFlightDiagnostic()> report = reportTopology;
  SmallVector<NamedMeshAttr> meshes;
  for (const PartitionConfig::Mesh &mesh : config.topology) {
    auto axes =
        llvm::map_to_vector(mesh.axes, [&](const PartitionConfig::Axis &axis) {
          return sdy::MeshAxisAttr::get(context, axis.name, axis.size);
        });
    auto shape = sdy::MeshAttr::getChecked(report, context,
                                           ArrayRef<sdy::MeshAxisAttr>(axes));
    if (!shape)
      return {};
    meshes.push_back(NamedMeshAttr::get(context, mesh.name, shape));
  }
  return TopologyAttr::getChecked(report, context,
                                  ArrayRef<NamedMeshAttr>(meshes));
}

/// A name that nothing bears is a slip of the user's.
static LogicalResult checkNames(ModuleOp module,
                                const PartitionConfig &config) {
  llvm::SmallSetVector<StringRef, 16> known;
  module.walk([&](Operation *op) {
    if (auto named = dyn_cast<NamedComputationOp>(op))
      known.insert(named.getOrigin().getUserName().getValue());
    else if (auto tensor = dyn_cast<NamedTensorOp>(op))
      known.insert(tensor.getName());
  });
  for (const PartitionConfig::Assignment &entry : config.assignment)
    if (!known.contains(entry.name))
      return module.emitError()
             << "assignment: no computation or tensor is named \"" << entry.name
             << "\", " << listKnown(entry.name, known.getArrayRef());
  return success();
}

static LogicalResult checkCount(func::FuncOp func, StringRef key,
                                StringRef what,
                                ArrayRef<std::optional<std::string>> meshes,
                                unsigned expected) {
  if (meshes.empty() || meshes.size() == expected)
    return success();
  return func.emitError() << key << ": expected one entry for each of the "
                          << expected << " " << what << " of @"
                          << func.getSymName() << ", but got " << meshes.size();
}

/// Marks what the configuration donates. An argument that the program itself
/// donates must be among it, if it says anything about donation.
static LogicalResult markDonation(func::FuncOp func,
                                  const PartitionConfig &config) {
  unsigned count = func.getNumArguments();
  llvm::SmallDenseSet<int64_t> donated;
  for (int64_t index : config.donate) {
    if (index >= count)
      return func.emitError()
             << "donate: argument " << index << " does not exist; @"
             << func.getSymName() << " has " << count << " arguments";
    donated.insert(index);
  }
  for (unsigned i = 0; i < count; ++i) {
    bool isMarked = static_cast<bool>(func.getArgAttr(i, kAliasingOutputAttr));
    if (auto donor = func.getArgAttrOfType<BoolAttr>(i, kBufferDonorAttr))
      isMarked |= donor.getValue();
    if (!isMarked && donated.contains(i))
      func.setArgAttr(i, kBufferDonorAttr,
                      BoolAttr::get(func.getContext(), true));
    if (isMarked && !donated.empty() && !donated.contains(i))
      return emitError(func.getArgument(i).getLoc())
             << "argument " << i << " of @" << func.getSymName()
             << " is donated by the program, but \"donate\" does not list it";
  }
  return success();
}

static ImportOptions makeImportOptions(const PartitionConfig &config) {
  ImportOptions options;
  for (const PartitionConfig::Assignment &entry : config.assignment)
    options.nameAssignment.entries[entry.name] = {entry.mesh, entry.stage};
  options.inputAssignment = IndexAssignment(config.inputMeshes);
  options.outputAssignment = IndexAssignment(config.outputMeshes);
  options.mergeAfterScheduling = config.options.mergesInferredAfterScheduling();
  options.absorbInferredFragmentsOnEntryPoint =
      config.options.absorbInferredFragmentsOnEntryPoint;
  options.splitBwdFragments = config.options.splitsBwdFragments();
  options.inferTransfers = config.options.inferTransfers;
  options.copyBetweenMemories = true;
  options.inferCrossMeshReductions = config.options.inferCrossMeshReductions;
  options.reportPlacement = true;
  options.maxInlinedOps = config.options.maxInlinedOps;
  return options;
}

static OptimizeOptions makeOptimizeOptions(const PartitionConfig &config) {
  OptimizeOptions options;
  options.mergeRules = config.mergeRules;
  options.scheduleRules = config.scheduleRules;
  options.schedule = config.options.schedule;
  options.completeByPlan = config.options.completeSchedule;
  options.reportMisfits = true;
  options.mergeAfterScheduling = config.options.mergesInferredAfterScheduling();
  options.applyRemat = config.options.fragmentRemat;
  options.mergeRematFragments = config.options.mergeRematFragments;
  options.absorbOnEntryPoint =
      config.options.absorbInferredFragmentsOnEntryPoint;
  return options;
}

static ExportOptions makeExportOptions(const PartitionConfig &config) {
  ExportOptions options;
  options.copyConstantsFromProducerToConsumer = config.options.copyConstants;
  options.applyMergeTransfers = config.options.applyMergeTransfers;
  options.failOnBackwardDeps = config.options.failOnBackwardDeps;
  options.ignorePassThrough = true;
  return options;
}

static void addPhase(Phase phase, OpPassManager &passes,
                     const PartitionConfig &config) {
  switch (phase) {
  case Phase::Import:
    addImportPasses(passes, makeImportOptions(config));
    passes.addNestedPass<func::FuncOp>(createVerifyPlacementPass());
    return;
  case Phase::Optimize:
    return addOptimizePipeline(passes, makeOptimizeOptions(config));
  case Phase::Shard: {
    ShardingPropagationOptions options;
    options.retarget = true;
    return addShardingPropagationPipeline(passes, options);
  }
  case Phase::Export:
    return addExportPipeline(passes, makeExportOptions(config));
  }
}

/// Some passes report an error and go on, so that one run shows as many as
/// possible; that is a failure here.
static LogicalResult runPasses(PassManager &passes, ModuleOp module) {
  // Verified once, behind the last phase; mpmd-opt verifies after each pass.
  passes.enableVerifier(false);
  bool hasError = false;
  DiagnosticEngine &engine = module.getContext()->getDiagEngine();
  DiagnosticEngine::HandlerID watcher =
      engine.registerHandler([&](Diagnostic &diagnostic) {
        hasError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return failure();
      });
  LogicalResult result = passes.run(module);
  engine.eraseHandler(watcher);
  return failure(hasError || failed(result));
}

static LogicalResult runPhase(Phase phase, ModuleOp module,
                              const PartitionConfig &config) {
  PassManager passes(module.getContext());
  addPhase(phase, passes, config);
  return runPasses(passes, module);
}

LogicalResult meshwright::checkProgram(ModuleOp module) {
  if (failed(verifyProgram(module)))
    return failure();
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || mpmd::getTopology(module))
    return success();
  PartitionConfig config;
  config.topology = {{"mesh", {{"axis", 1}}}};
  TopologyAttr topology = buildTopology(config, module.getLoc());
  OwningOpRef<ModuleOp> copy = module.clone();
  setTopology(copy->lookupSymbol<func::FuncOp>("main"), topology);
  PassManager passes(module.getContext());
  addImportChecks(passes, makeImportOptions(config));
  return runPasses(passes, *copy);
}

/// What the user says about names, arguments and results is about the program
/// before import.
static LogicalResult prepareForImport(ModuleOp module, func::FuncOp func,
                                      const PartitionConfig &config) {
  if (failed(checkNames(module, config)) ||
      failed(checkCount(func, "input_meshes", "arguments", config.inputMeshes,
                        func.getNumArguments())) ||
      failed(checkCount(func, "output_meshes", "results", config.outputMeshes,
                        func.getNumResults())))
    return failure();
  return markDonation(func, config);
}

/// Nothing else looks at the type of an argument that nothing reads.
static LogicalResult verifyArguments(func::FuncOp func) {
  for (BlockArgument argument : func.getArguments()) {
    auto type = dyn_cast<MeshTensorType>(argument.getType());
    if (!type || !type.getSharding())
      continue;
    FailureOr<sdy::MeshAttr> mesh = getMeshOrError(func, type.getMeshName());
    if (failed(mesh) ||
        failed(sdy::verifySharding(
            type.getRankedTensorType(), type.getSharding(), *mesh,
            [&] {
              return emitError(argument.getLoc())
                     << "argument " << argument.getArgNumber() << ": ";
            },
            /*checkDivisibility=*/true)))
      return failure();
  }
  return success();
}

FailureOr<PartitionResult> meshwright::partition(ModuleOp module,
                                                 const PartitionConfig &config,
                                                 PhaseSet phases,
                                                 const PhaseListener &onPhase) {
  FailureOr<func::FuncOp> func = findFunction(module, config.function);
  if (failed(func))
    return failure();
  if (phases.contains(Phase::Import) &&
      failed(prepareForImport(module, *func, config)))
    return failure();
  TopologyAttr topology = buildTopology(config, module.getLoc());
  if (!topology)
    return failure();
  setTopology(*func, topology);
  // Passes take a private function that nobody calls for unused. One that says
  // "public" goes on saying so.
  if (!func->isPublic())
    func->setPublic();

  for (const PhaseInfo &info : kPhases) {
    if (!phases.contains(info.phase))
      continue;
    auto start = std::chrono::steady_clock::now();
    if (failed(runPhase(info.phase, module, config)))
      return failure();
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    if (onPhase)
      onPhase(info, seconds.count());
  }
  if (failed(verify(module)) || failed(verifyArguments(*func)))
    return failure();
  PartitionResult result{*func, std::nullopt};
  if (phases.contains(Phase::Export)) {
    FailureOr<ExportedProgram> program = describeProgram(*func);
    if (failed(program))
      return failure();
    result.program = std::move(*program);
  }
  return result;
}
