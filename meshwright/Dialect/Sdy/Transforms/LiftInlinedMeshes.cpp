//===- LiftInlinedMeshes.cpp ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The passes that follow compare meshes by their symbols and look for them in
// one place:
//
//   <mesh<["x"=2]>, [{"x"}]>   becomes   sdy.mesh @mesh = <["x"=2]>
//                                        <@mesh, [{"x"}]>
//
// Equal mesh ops are merged first, so that a mesh has one name.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SdyDialect.h"
#include "meshwright/Dialect/Sdy/Transforms/ShardingWalk.h"
#include "meshwright/Dialect/StableHLO/StablehloDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Sequence.h"

#define GEN_PASS_DEF_LIFTINLINEDMESHESPASS
#include "meshwright/Dialect/Sdy/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::sdy;

static constexpr StringLiteral kStablehloMeshAttr = "stablehlo.mesh";
static constexpr StringLiteral kReplicaGroupsAttr = "replica_groups";

/// `{axes = [{name = "x", size = 2 : i64}], device_ids = dense<…>}`
static DictionaryAttr getStablehloForm(MeshAttr mesh) {
  Builder builder(mesh.getContext());
  auto axes =
      llvm::map_to_vector(mesh.getAxes(), [&](MeshAxisAttr axis) -> Attribute {
        return builder.getDictionaryAttr(
            {builder.getNamedAttr("name",
                                  builder.getStringAttr(axis.getName())),
             builder.getNamedAttr("size",
                                  builder.getI64IntegerAttr(axis.getSize()))});
      });
  SmallVector<NamedAttribute> fields = {
      builder.getNamedAttr("axes", builder.getArrayAttr(axes))};
  if (!mesh.getDeviceIds().empty())
    fields.push_back(builder.getNamedAttr(
        "device_ids", builder.getI64TensorAttr(mesh.getDeviceIds())));
  return builder.getDictionaryAttr(fields);
}

/// The number of a device, which no mesh takes if it is too large.
static int64_t toId(const APInt &id) { return id.trySExtValue().value_or(-1); }

/// The mesh written in the replica groups of a collective. StableHLO does not
/// check it, so an error is reported here if it is none for us.
static FailureOr<MeshAttr> fromStablehloMesh(Operation *op,
                                             stablehlo::MeshAttr mesh) {
  auto axes =
      llvm::map_to_vector(mesh.getAxes(), [&](stablehlo::MeshAxisAttr axis) {
        return MeshAxisAttr::get(mesh.getContext(), axis.getName(),
                                 axis.getSize());
      });
  SmallVector<int64_t> ids;
  if (DenseIntElementsAttr deviceIds = mesh.getDeviceIds()) {
    // A splat may be huge, and is wrong with two of them.
    if (deviceIds.isSplat() && !deviceIds.empty() && deviceIds.size() != 1)
      ids.assign(2, toId(deviceIds.getSplatValue<APInt>()));
    else
      for (const APInt &id : deviceIds.getValues<APInt>())
        ids.push_back(toId(id));
  }
  if (!axes.empty() && llvm::equal(ids, llvm::seq<int64_t>(ids.size())))
    ids.clear();
  if (failed(MeshAttr::verify(
          [&] { return op->emitOpError("replica_groups "); }, axes, ids)))
    return failure();
  return MeshAttr::get(mesh.getContext(), axes, ids);
}

static std::string getBaseName(MeshAttr mesh) {
  if (mesh.empty())
    return "empty_mesh";
  if (mesh.isMaximal())
    return "maximal_mesh_" + std::to_string(*mesh.getMaximalDeviceId());
  return "mesh";
}

namespace {

/// The meshes of a module, by value. Finds or makes a name for each mesh.
class MeshNames {
public:
  explicit MeshNames(ModuleOp module) : module(module), symbols(module) {}

  /// Erases mesh ops that equal an earlier one; their names stay known. Those that
  /// the types of values name stay.
  unsigned mergeEqualOps() {
    unsigned numMerged = 0;
    // Equal meshes are rare, and this asks all values.
    std::optional<llvm::DenseSet<StringAttr>> inTypes;
    for (MeshOp op : llvm::make_early_inc_range(module.getOps<MeshOp>())) {
      auto [known, isNew] =
          nameOf.try_emplace(op.getMesh(), op.getSymNameAttr());
      if (isNew) {
        last = op;
        continue;
      }
      firstName[op.getSymNameAttr()] = known->second;
      if (!inTypes)
        inTypes = getNamesInTypes();
      if (inTypes->contains(op.getSymNameAttr()))
        continue;
      symbols.erase(op);
      ++numMerged;
    }
    return numMerged;
  }

  /// The reference to use for a mesh or for the name of a merged one.
  FlatSymbolRefAttr getReference(Attribute meshOrRef) {
    if (auto reference = dyn_cast<FlatSymbolRefAttr>(meshOrRef)) {
      StringAttr name = firstName.lookup(reference.getAttr());
      return name ? FlatSymbolRefAttr::get(name) : reference;
    }
    StringAttr &name = nameOf[cast<MeshAttr>(meshOrRef)];
    if (!name)
      name = insertMesh(cast<MeshAttr>(meshOrRef));
    return FlatSymbolRefAttr::get(name);
  }

  unsigned getNumInserted() const { return numInserted; }

private:
  llvm::DenseSet<StringAttr> getNamesInTypes() {
    llvm::DenseSet<StringAttr> names; // Membership only: its order never shows.
    AttrTypeWalker walker;
    walker.addWalk([&](TensorShardingAttr sharding) {
      if (auto name = dyn_cast<FlatSymbolRefAttr>(sharding.getMeshOrRef()))
        names.insert(name.getAttr());
    });
    module.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        walker.walk(type);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Type type : block.getArgumentTypes())
            walker.walk(type);
    });
    return names;
  }

  StringAttr insertMesh(MeshAttr mesh) {
    OpBuilder builder(module.getBodyRegion());
    if (last)
      builder.setInsertionPointAfter(last);
    std::string base = getBaseName(mesh), name = base;
    for (unsigned counter = 0; symbols.lookup(name); ++counter)
      name = base + "_" + std::to_string(counter);
    last = MeshOp::create(builder, module.getLoc(), name, mesh);
    ++numInserted;
    return symbols.insert(last);
  }

  ModuleOp module;
  SymbolTable symbols;
  MeshOp last;
  llvm::DenseMap<MeshAttr, StringAttr> nameOf;
  llvm::DenseMap<StringAttr, StringAttr> firstName;
  unsigned numInserted = 0;
};

struct LiftInlinedMeshesPass
    : sdy::impl::LiftInlinedMeshesPassBase<LiftInlinedMeshesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshNames names(module);
    numMerged += names.mergeEqualOps();
    transformShardings(module, [&](TensorShardingAttr sharding) {
      return sharding.replaceMesh(names.getReference(sharding.getMeshOrRef()));
    });
    if (failed(liftFromReplicaGroups(names)))
      return signalPassFailure();
    numLifted += names.getNumInserted();
    for (MeshOp op : module.getOps<MeshOp>())
      if (!op->hasAttr(kStablehloMeshAttr))
        op->setAttr(kStablehloMeshAttr, getStablehloForm(op.getMesh()));
  }

private:
  LogicalResult liftFromReplicaGroups(MeshNames &names) {
    WalkResult result = walkOwnOps(getOperation(), [&](Operation *op) {
      return liftFromReplicaGroups(op, names);
    });
    return failure(result.wasInterrupted());
  }

  static WalkResult liftFromReplicaGroups(Operation *op, MeshNames &names) {
    auto groups = op->getAttrOfType<stablehlo::ReplicaGroupMeshAxesAttr>(
        kReplicaGroupsAttr);
    if (!groups)
      return WalkResult::advance();
    Attribute meshOrRef = groups.getMesh();
    if (auto inlined = dyn_cast<stablehlo::MeshAttr>(meshOrRef)) {
      FailureOr<MeshAttr> mesh = fromStablehloMesh(op, inlined);
      if (failed(mesh))
        return WalkResult::interrupt();
      meshOrRef = *mesh;
    }
    if (isa<MeshAttr, FlatSymbolRefAttr>(meshOrRef))
      op->setAttr(kReplicaGroupsAttr,
                  stablehlo::ReplicaGroupMeshAxesAttr::get(
                      op->getContext(), names.getReference(meshOrRef),
                      groups.getAxes()));
    return WalkResult::advance();
  }
};

} // namespace
