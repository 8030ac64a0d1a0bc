//===- Partitioner.cpp - One program in, programs on meshes out -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Partitioner/Partitioner.h"
#include "meshwright/Cost/Device.h"
#include "meshwright/Cost/TensorBytes.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/ShardingVerification.h"
#include "meshwright/Fragments/FragmentModule.h"
#include "meshwright/Fragments/Share/Passes.h"
#include "meshwright/Import/InferMesh/Passes.h"
#include "meshwright/Import/Prepare/VerifyProgram.h"
#include "meshwright/Partitioner/IssueOrder.h"
#include "meshwright/Partitioner/Passes.h"
#include "meshwright/Partitioner/Repeat/SubstituteShardings.h"
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

using NameSet = llvm::SmallSetVector<StringRef, 16>;

static NameSet findNames(ModuleOp module) {
  NameSet names;
  module.walk([&](Operation *op) {
    if (auto named = dyn_cast<NamedComputationOp>(op))
      names.insert(named.getOrigin().getUserName().getValue());
    else if (auto tensor = dyn_cast<NamedTensorOp>(op))
      names.insert(tensor.getName());
  });
  return names;
}

std::vector<std::string> meshwright::listNames(ModuleOp module) {
  std::vector<std::string> names;
  for (StringRef name : findNames(module))
    names.push_back(name.str());
  return names;
}

IdleReason meshwright::findIdleReason(ModuleOp module) {
  bool isCounted = false, isRepeated = false;
  unsigned numCalls = 0;
  llvm::SmallDenseSet<Attribute> origins;
  module.walk([&](Operation *op) {
    isCounted |= isa<ForOp>(op) || op->hasAttr(kCallCounterAttr);
    numCalls += isa<mpmd::CallOp>(op);
    if (auto named = dyn_cast<NamedComputationOp>(op))
      isRepeated |= !origins.insert(named.getOrigin()).second;
  });
  if (isCounted)
    return origins.empty() ? IdleReason::NoStages : IdleReason::None;
  return isRepeated || numCalls > 1 ? IdleReason::NoCounters : IdleReason::None;
}

/// A name that occurs nowhere is a user's error.
static LogicalResult checkNames(ModuleOp module,
                                const PartitionConfig &config) {
  if (config.allowsUnknownNames)
    return success();
  NameSet known = findNames(module);
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

/// `topology` as the text of a pass option: what is after #mpmd.topology.
static std::string printTopology(TopologyAttr topology) {
  std::string text;
  llvm::raw_string_ostream(text) << topology;
  StringRef rest = text;
  rest.consume_front("#mpmd.topology");
  return rest.str();
}

static void addPreparation(OpPassManager &passes, func::FuncOp func,
                           TopologyAttr topology, ArrayRef<int64_t> donated) {
  ApplyConfigurationPassOptions options;
  options.function = func.getSymName().str();
  options.topology = printTopology(topology);
  llvm::append_range(options.donate, donated);
  passes.addPass(createApplyConfigurationPass(std::move(options)));
}

/// Whether the phases between import and the shard phase look at the headers of
/// fragments only.
static bool sharesFromImport(const ConfigOptions &options, PhaseSet phases) {
  const OptimizeOptions &optimizing = options.optimizing;
  const Schedule *schedule = optimizing.schedule.schedule;
  return phases.contains(Phase::Shard) && optimizing.mergeRules.empty() &&
         optimizing.scheduleRules.empty() &&
         !(schedule && schedule->isSearched);
}

/// The memory of a device is known where the user says what it is.
static ShardingPropagationOptions
getShardingOptions(const ConfigOptions &options) {
  ShardingPropagationOptions sharding = options.sharding;
  StringRef name = options.optimizing.scheduleDevice;
  if (name.empty())
    return sharding;
  llvm::Expected<Device> device = findDevice(name);
  if (!device) { // The phase that needs its times reports it.
    llvm::consumeError(device.takeError());
    return sharding;
  }
  sharding.device = name.str();
  if (sharding.deviceMemory == 0)
    sharding.deviceMemory = roundCount(device->memory);
  return sharding;
}

/// The device of the schedule is that of what is offloaded and kept, too.
static OptimizeOptions getOptimizeOptions(const ConfigOptions &options) {
  OptimizeOptions optimizing = options.optimizing;
  optimizing.othersUseDevice = !options.exporting.offloadActivations.empty() ||
                               options.sharding.hoistInvariants;
  return optimizing;
}

/// What overlapped pairs gain depends on the device.
static ExportOptions getExportOptions(const ConfigOptions &options) {
  ExportOptions exporting = options.exporting;
  exporting.device = options.optimizing.scheduleDevice;
  exporting.customCosts = options.optimizing.customCosts;
  return exporting;
}

static void addPhase(Phase phase, OpPassManager &passes,
                     const ConfigOptions &options, PhaseSet phases) {
  switch (phase) {
  case Phase::Import:
    addImportPasses(passes, options.importing,
                    sharesFromImport(options, phases));
    passes.addNestedPass<func::FuncOp>(createVerifyPlacementPass());
    return;
  case Phase::Optimize:
    return addOptimizePipeline(passes, getOptimizeOptions(options));
  case Phase::Shard:
    return addShardingPropagationPipeline(
        passes, getShardingOptions(options),
        /*keepsShared=*/phases.contains(Phase::Export));
  case Phase::Export:
    return addExportPipeline(passes, getExportOptions(options));
  }
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
  ConfigOptions options = config.resolveOptions();
  FailureOr<std::unique_ptr<PassInspection>> inspection =
      PassInspection::begin(*copy, options.inspection, "check", "");
  if (failed(inspection))
    return failure();
  PassManager passes(module.getContext());
  addImportChecks(passes, options.importing);
  return (*inspection)->run(passes, "check", *copy);
}

static LogicalResult
checkConstraints(func::FuncOp func,
                 ArrayRef<InputOutputConstraint> constraints) {
  for (const InputOutputConstraint &constraint : constraints)
    if (constraint.input >= func.getNumArguments() ||
        constraint.output >= func.getNumResults())
      return func.emitError()
             << "options.mpmd_input_output_constraints: no argument and result "
                "["
             << constraint.input << ", " << constraint.output << "]; @"
             << func.getSymName() << " has " << func.getNumArguments()
             << " arguments and " << func.getNumResults() << " results";
  return success();
}

/// What the user says about names, arguments and results is about the program
/// before import.
static LogicalResult checkForImport(ModuleOp module, func::FuncOp func,
                                    const PartitionConfig &config) {
  return failure(
      failed(checkNames(module, config)) ||
      failed(checkCount(func, "input_meshes", "arguments", config.inputMeshes,
                        func.getNumArguments())) ||
      failed(checkCount(func, "output_meshes", "results", config.outputMeshes,
                        func.getNumResults())) ||
      failed(checkConstraints(func, config.options.importing.constraints)));
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

namespace {
/// A program and what is to be done with it.
struct CompilePlan {
  func::FuncOp function;
  TopologyAttr topology;
  ArrayRef<int64_t> donated;
  ConfigOptions options;
  CustomCosts customs;
};
} // namespace

/// Emits errors about a configuration that does not fit the program.
static FailureOr<CompilePlan>
makePlan(ModuleOp module, const PartitionConfig &config, PhaseSet phases) {
  FailureOr<func::FuncOp> func = findFunction(module, config.function);
  if (failed(func))
    return failure();
  bool imports = phases.contains(Phase::Import);
  if (imports && failed(checkForImport(module, *func, config)))
    return failure();
  TopologyAttr topology = buildTopology(config, module.getLoc());
  if (!topology)
    return failure();
  ArrayRef<int64_t> donated;
  if (imports)
    donated = config.donate;
  ConfigOptions options = config.resolveOptions();
  llvm::Expected<CustomCosts> customs =
      parseCostList(options.optimizing.customCosts);
  if (!customs)
    return func->emitError() << "options.mpmd_custom_costs: "
                             << llvm::toString(customs.takeError());
  return CompilePlan{*func, topology, donated, std::move(options),
                     std::move(*customs)};
}

static std::string printPipeline(CompilePlan &plan, PhaseSet phases) {
  auto passes = PassManager::on<ModuleOp>(plan.function.getContext());
  addPreparation(passes, plan.function, plan.topology, plan.donated);
  for (const PhaseInfo &info : kPhases)
    if (phases.contains(info.phase))
      addPhase(info.phase, passes, plan.options, phases);
  std::string text;
  llvm::raw_string_ostream os(text);
  passes.printAsTextualPipeline(os);
  return text;
}

FailureOr<std::string>
meshwright::describePipeline(ModuleOp module, const PartitionConfig &config,
                             PhaseSet phases) {
  FailureOr<CompilePlan> plan = makePlan(module, config, phases);
  if (failed(plan))
    return failure();
  return printPipeline(*plan, phases);
}

/// The meshes of a program that share devices, as the configuration says.
static SharedMeshes findSharing(const ExportedProgram &program,
                                const PartitionConfig &config) {
  SharedMeshes sharing(program.meshes.size());
  auto find = [&](StringRef name) -> unsigned {
    auto mesh = llvm::find_if(program.meshes, [&](const auto &candidate) {
      return candidate.name == name;
    });
    return mesh - program.meshes.begin();
  };
  for (const auto &[name, other] : config.sharedDevices) {
    sharing[find(name)].push_back(find(other));
    sharing[find(other)].push_back(find(name));
  }
  return sharing;
}

void meshwright::orderForSharedDevices(ExportedProgram &program,
                                       const PartitionConfig &config) {
  if (!config.sharedDevices.empty())
    program.issueOrder = findIssueOrder(program, findSharing(program, config));
}

struct Partitioning::State {
  ModuleOp module;
  PartitionConfig config; ///< The plan refers to it.
  PhaseSet phases;
  PhaseListener onPhase;
  CompilePlan plan;
  std::unique_ptr<PassInspection> inspection;

  LogicalResult run(StringRef name, function_ref<void(OpPassManager &)> add) {
    auto passes = PassManager::on<ModuleOp>(module.getContext());
    add(passes);
    return inspection->run(passes, name, module);
  }
  LogicalResult runPhase(const PhaseInfo &info) {
    if (!phases.contains(info.phase))
      return success();
    auto start = std::chrono::steady_clock::now();
    if (failed(run(info.name, [&](OpPassManager &passes) {
          addPhase(info.phase, passes, plan.options, phases);
        })))
      return failure();
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    if (onPhase)
      onPhase(info, seconds.count());
    return success();
  }
  LogicalResult addRules(FragmentRules rules);
};

Partitioning::Partitioning(std::unique_ptr<State> state)
    : state(std::move(state)) {}
Partitioning::~Partitioning() = default;

FailureOr<std::unique_ptr<Partitioning>>
Partitioning::begin(ModuleOp module, PartitionConfig config, PhaseSet phases,
                    PhaseListener onPhase) {
  auto state = std::make_unique<State>(
      State{module, std::move(config), phases, std::move(onPhase), {}, {}});
  FailureOr<CompilePlan> plan = makePlan(module, state->config, phases);
  if (failed(plan))
    return failure();
  state->plan = std::move(*plan);
  FailureOr<std::unique_ptr<PassInspection>> inspection =
      PassInspection::begin(module, state->plan.options.inspection,
                            getFragmentFileStem(state->config.function),
                            printPipeline(state->plan, phases));
  if (failed(inspection))
    return failure();
  state->inspection = std::move(*inspection);
  return std::unique_ptr<Partitioning>(new Partitioning(std::move(state)));
}

LogicalResult Partitioning::import() {
  if (failed(state->run("prepare", [&](OpPassManager &passes) {
        addPreparation(passes, state->plan.function, state->plan.topology,
                       state->plan.donated);
      })))
    return failure();
  return state->runPhase(kPhases[0]);
}

/// Import has shared bodies if no rule was known that looks into them.
LogicalResult Partitioning::State::addRules(FragmentRules rules) {
  if (rules.merges.empty() && rules.schedules.empty())
    return success();
  bool shared =
      phases.contains(Phase::Import) && sharesFromImport(plan.options, phases);
  OptimizeOptions &options = plan.options.optimizing;
  llvm::append_range(options.mergeRules, std::move(rules.merges));
  llvm::append_range(options.scheduleRules, std::move(rules.schedules));
  if (failed(inspection->setPipeline(module, printPipeline(plan, phases))))
    return failure();
  if (!shared)
    return success();
  return run("unshare", [](OpPassManager &passes) {
    passes.addPass(createUnshareBodiesPass());
  });
}

FailureOr<PartitionResult> Partitioning::finish(FragmentRules rules) {
  if (failed(state->addRules(std::move(rules))))
    return failure();
  for (const PhaseInfo &info : ArrayRef(kPhases).drop_front()) {
    if (failed(state->runPhase(info)))
      return failure();
    if (info.phase == Phase::Shard)
      adoptScalarTypes(state->plan.function);
  }
  ModuleOp module = state->module;
  func::FuncOp func = state->plan.function;
  if (failed(verify(module)) || failed(verifyArguments(func)))
    return failure();
  PartitionResult result{func, std::nullopt, std::move(state->plan.customs)};
  if (state->phases.contains(Phase::Export)) {
    FailureOr<ExportedProgram> program = describeProgram(func, result.customs);
    if (failed(program))
      return failure();
    orderForSharedDevices(*program, state->config);
    result.program = std::move(*program);
  }
  state->inspection.reset();
  return result;
}

FailureOr<PartitionResult> meshwright::partition(ModuleOp module,
                                                 const PartitionConfig &config,
                                                 PhaseSet phases,
                                                 const PhaseListener &onPhase) {
  FailureOr<std::unique_ptr<Partitioning>> partitioning =
      Partitioning::begin(module, config, phases, onPhase);
  if (failed(partitioning) || failed((*partitioning)->import()))
    return failure();
  return (*partitioning)->finish();
}
