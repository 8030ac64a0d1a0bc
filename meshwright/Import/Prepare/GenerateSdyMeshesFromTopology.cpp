//===- GenerateSdyMeshesFromTopology.cpp ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// In a heterogeneous program the user shards over axes of several meshes and
// distinguishes them by prefix. Afterwards there is one sdy.mesh per mesh of the
// topology, and each sharding refers to its own:
//
//   sdy.mesh @all = <["gpu_x"=2, "cpu_y"=4]>   sdy.mesh @gpu = <["gpu_x"=2]>
//                                              sdy.mesh @cpu = <["cpu_y"=4]>
//   <@all, [{"gpu_x"}]>                        <@gpu, [{"gpu_x"}]>
//   <@all, [{}]>                               <@empty_mesh, [{}]>
//
// All shardings are looked up first, each distinct one once, which finds every
// error and whether @empty_mesh is needed; only then the module changes.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Mpmd/Functions.h"
#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#define GEN_PASS_DEF_GENERATESDYMESHESFROMTOPOLOGYPASS
#include "meshwright/Import/Prepare/Passes.h"

using namespace mlir;
using namespace mlir::mpmd;

using sdy::MeshAttr;
using sdy::MeshOp;
using sdy::TensorShardingAttr;

static constexpr StringLiteral kEmptyMesh = "empty_mesh";

/// Empty meshes fit any tensor and maximal ones name a device: neither has axes
/// that the topology could explain.
static bool isEmptyOrMaximal(MeshAttr mesh) { return mesh.getAxes().empty(); }

namespace {
/// Which sharding becomes which.
struct Plan {
  llvm::MapVector<TensorShardingAttr, TensorShardingAttr> shardings;
  /// Those that have shardings, in program order.
  SmallVector<Operation *> ops;
  bool usesEmptyMesh = false;
};

/// Reads a module and plans; never changes it.
class Planner {
public:
  explicit Planner(ModuleOp module) : module(module), symbols(module) {}

  FailureOr<Plan> run() {
    WalkResult result = module.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { return planOp(op); });
    if (result.wasInterrupted())
      return failure();
    return std::move(plan);
  }

private:
  WalkResult planOp(Operation *op) {
    AttrTypeWalker walker;
    walker.addWalk([](Type) { return WalkResult::skip(); });
    walker.addWalk([&](TensorShardingAttr sharding) {
      if (plan.ops.empty() || plan.ops.back() != op)
        plan.ops.push_back(op);
      return plan.shardings.contains(sharding) ||
                     succeeded(planSharding(sharding, op))
                 ? WalkResult::skip()
                 : WalkResult::interrupt();
    });
    return walker.walk(op->getAttrDictionary()).wasInterrupted()
               ? WalkResult::interrupt()
               : WalkResult::advance();
  }

  LogicalResult planSharding(TensorShardingAttr sharding, Operation *op) {
    TensorShardingAttr &target = plan.shardings[sharding];
    target = sharding;
    if (llvm::all_of(sharding.getDimShardings(),
                     [](auto dim) { return dim.getAxes().empty(); })) {
      MeshAttr mesh = sharding.getMesh(symbols);
      if (mesh && isEmptyOrMaximal(mesh))
        return success();
      plan.usesEmptyMesh = true;
      target = sharding.replaceMesh(
          FlatSymbolRefAttr::get(op->getContext(), kEmptyMesh));
      return verifyEmptyMesh(op);
    }

    FailureOr<StringRef> name = getMeshName(sharding, op);
    if (failed(name))
      return failure();
    if (auto old = symbols.lookup<MeshOp>(*name))
      return op->emitError()
             << "sharding " << sharding << " belongs to mesh \"" << *name
             << "\" of the topology, but the module already has a mesh @"
             << *name << " = " << old.getMesh()
             << "; rename it and the shardings that use it";
    target =
        sharding.replaceMesh(FlatSymbolRefAttr::get(op->getContext(), *name));
    return success();
  }

  /// Returns the common prefix of all axes, which names the mesh.
  FailureOr<StringRef> getMeshName(TensorShardingAttr sharding, Operation *op) {
    StringRef name;
    bool ok = true;
    sharding.forEachAxisRef([&](sdy::AxisRefAttr axis) {
      if (!ok)
        return;
      auto [prefix, rest] = axis.getName().split('_');
      if (rest.empty()) {
        ok = false;
        op->emitError()
            << "axis \"" << axis.getName() << "\" of sharding " << sharding
            << " does not tell its mesh; expected a name of the form MESH_AXIS";
      } else if (!name.empty() && prefix != name) {
        ok = false;
        op->emitError() << "sharding " << sharding << " has axes of meshes \""
                        << name << "\" and \"" << prefix
                        << "\"; a tensor can be sharded over one mesh only";
      }
      name = prefix;
    });
    if (!ok)
      return failure();
    return name;
  }

  LogicalResult verifyEmptyMesh(Operation *op) {
    Operation *symbol = symbols.lookup(kEmptyMesh);
    auto mesh = dyn_cast_if_present<MeshOp>(symbol);
    if (!symbol || (mesh && mesh.getMesh().empty()))
      return success();
    InFlightDiagnostic diag = op->emitError()
                              << "sharding without axes needs the empty mesh @"
                              << kEmptyMesh
                              << ", but the symbol means something else";
    diag.attachNote(symbol->getLoc()) << "rename this symbol";
    return diag;
  }

  ModuleOp module;
  SymbolTable symbols;
  Plan plan;
};
} // namespace

/// Rewrites all shardings in attributes, none in types.
static void applyPlan(ModuleOp module, const Plan &plan) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [](Type type) { return std::make_pair(type, WalkResult::skip()); });
  replacer.addReplacement([&](TensorShardingAttr sharding) {
    return std::make_pair(Attribute(plan.shardings.lookup(sharding)),
                          WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(module);
}

/// Creates the meshes of the topology at the start of the module. A mesh that
/// stays and is the same serves as it is; reports one that is not.
static LogicalResult insertMeshes(ModuleOp module, TopologyAttr topology,
                                  ArrayRef<MeshOp> kept) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SymbolTable symbols(module);
  llvm::SmallDenseSet<StringRef> names;
  for (NamedMeshAttr mesh : topology.getMeshes()) {
    // COMPAT(repeated-mesh): The first one is meant.
    if (!names.insert(mesh.getName()).second)
      continue;
    Operation *symbol = symbols.lookup(mesh.getName());
    if (symbol && !isa<MeshOp>(symbol))
      return symbol->emitError() << "has the name of mesh \"" << mesh.getName()
                                 << "\" of the topology; rename one of them";
    const auto *same = llvm::find_if(
        kept, [&](MeshOp op) { return op.getSymName() == mesh.getName(); });
    if (same == kept.end()) {
      MeshOp::create(builder, module.getLoc(), mesh.getName(), mesh.getMesh());
      continue;
    }
    MeshOp existing = *same;
    if (existing.getMesh() != mesh.getMesh())
      return existing.emitError()
             << "mesh @" << mesh.getName() << " differs from mesh \""
             << mesh.getName() << "\" of the topology, " << mesh.getMesh()
             << "; rename one of them";
  }
  return success();
}

/// Creates @empty_mesh as first op of the module and last mesh of the topology.
static void insertEmptyMesh(ModuleOp module, func::FuncOp main) {
  MLIRContext *context = module.getContext();
  auto empty = MeshAttr::get(context, /*axes=*/{});
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), kEmptyMesh, empty);

  SmallVector<NamedMeshAttr> meshes =
      llvm::to_vector(getTopology(main).getMeshes());
  meshes.push_back(NamedMeshAttr::get(context, kEmptyMesh, empty));
  setTopology(main, TopologyAttr::get(context, meshes));
}

namespace {
struct GenerateSdyMeshesFromTopologyPass
    : mpmd::impl::GenerateSdyMeshesFromTopologyPassBase<
          GenerateSdyMeshesFromTopologyPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto functions = module.getOps<func::FuncOp>();
    auto main = llvm::find_if(functions, isMpmdFunction);
    if (main == functions.end()) {
      module.emitError()
          << "no function has a topology, whose meshes the shardings could "
             "refer to; give the entry function a topology attribute";
      return signalPassFailure();
    }

    FailureOr<Plan> plan = Planner(module).run();
    if (failed(plan))
      return signalPassFailure();
    SmallVector<MeshOp> replaced, kept;
    for (auto mesh : module.getOps<MeshOp>())
      (isEmptyOrMaximal(mesh.getMesh()) ? kept : replaced).push_back(mesh);

    applyPlan(module, *plan);
    numShardings += llvm::count_if(plan->shardings, [](const auto &entry) {
      return entry.first != entry.second;
    });
    if (failed(insertMeshes(module, getTopology(*main), kept)))
      return signalPassFailure();
    if (plan->usesEmptyMesh && !module.lookupSymbol(kEmptyMesh))
      insertEmptyMesh(module, *main);
    for (MeshOp mesh : replaced)
      mesh.erase();
    if (failed(verifyOps(plan->ops)))
      signalPassFailure();
  }

private:
  /// The meshes need not have the axes that the shardings have.
  static LogicalResult verifyOps(ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      if (failed(verify(op, /*verifyRecursively=*/false)))
        return op->emitError()
               << "does not verify with its shardings on the meshes of the "
                  "topology, which own the axes that start with their names";
    return success();
  }
};
} // namespace
