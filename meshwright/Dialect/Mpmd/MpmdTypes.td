//===- MpmdTypes.td -------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDTYPES_TD
#define MESHWRIGHT_DIALECT_MPMD_MPMDTYPES_TD

include "meshwright/Dialect/Mpmd/MpmdDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

def Mpmd_MeshTensor
    : TypeDef<Mpmd_Dialect, "MeshTensor", [ShapedTypeInterface]> {
  let mnemonic = "mesh_tensor";
  let summary = "mesh tensor type";
  let description = [{
    A tensor on one mesh of the topology.
    The tensor type is the global one. Without a sharding every device of the
    mesh holds all of it; without a memory kind it is in device memory.

    ```mlir
    !mpmd.mesh_tensor<"m1", tensor<8x4xf32>>
    !mpmd.mesh_tensor<"m1", tensor<8x4xf32>, memory_kind="pinned_host">
    ```
  }];
  let parameters = (ins
    StringRefParameter<"name of the mesh">:$mesh_name,
    "::mlir::RankedTensorType":$ranked_tensor_type,
    OptionalParameter<"::mlir::sdy::TensorShardingAttr">:$sharding,
    OptionalParameter<"::mlir::StringAttr">:$memory_kind);
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilder<(ins "::llvm::StringRef":$meshName,
                     "::mlir::RankedTensorType":$tensorType,
                     CArg<"::mlir::sdy::TensorShardingAttr", "{}">:$sharding,
                     CArg<"::mlir::StringAttr", "{}">:$memoryKind), [{
      return $_get($_ctxt, meshName, tensorType, sharding, memoryKind);
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// The type of a tensor that every device of the mesh holds whole.
    static MeshTensorType getFullyReplicated(::mlir::MLIRContext *context,
                                             ::llvm::StringRef meshName,
                                             ::mlir::RankedTensorType type) {
      return get(context, meshName, type);
    }

    /// The same as getRankedTensorType().
    ::mlir::RankedTensorType getGlobalTensorType() const {
      return getRankedTensorType();
    }

    /// The type of the part that one device holds.
    ::mlir::RankedTensorType getLocalTensorType(::mlir::sdy::MeshAttr mesh) const;

    /// Whether no axis shards any dimension.
    bool isFullyReplicated() const;

    /// Whether the value is in the host's memory.
    bool isOnHost() const;

    MeshTensorType replaceSharding(::mlir::sdy::TensorShardingAttr sharding) const;

    /// Reports on `op` a mesh that is not in the topology of its function, or a
    /// sharding that does not fit the mesh and the global type.
    ::llvm::LogicalResult verifyForTopology(::mlir::Operation *op) const;

    /// The same, for a type whose mesh is known.
    ::llvm::LogicalResult verifyForMesh(::mlir::Operation *op,
                                        ::mlir::sdy::MeshAttr mesh) const;

    /// What ShapedTypeInterface asks for.
    ::mlir::Type getElementType() const {
      return getRankedTensorType().getElementType();
    }
    bool hasRank() const { return true; }
    ::llvm::ArrayRef<int64_t> getShape() const {
      return getRankedTensorType().getShape();
    }
    MeshTensorType cloneWith(std::optional<::llvm::ArrayRef<int64_t>> shape,
                             ::mlir::Type elementType) const;
  }];
}

def Mpmd_Token
    : Type<CPred<"::llvm::isa<::mlir::stablehlo::TokenType>($_self)">, "token",
           "::mlir::stablehlo::TokenType">;

#endif
