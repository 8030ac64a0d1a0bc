//===- MpmdAttrs.td -------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_MPMDATTRS_TD
#define MESHWRIGHT_DIALECT_MPMD_MPMDATTRS_TD

include "meshwright/Dialect/Mpmd/MpmdDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Mpmd_Attr<string name, string attrMnemonic>
    : AttrDef<Mpmd_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Mpmd_NamedMesh : Mpmd_Attr<"NamedMesh", "named_mesh"> {
  let summary = "A mesh and the name by which a program refers to it";
  let description = [{
    ```mlir
    #mpmd.named_mesh<"m1" : <["x"=4, "y"=2]>>
    ```
  }];
  let parameters = (ins StringRefParameter<"name of the mesh">:$name,
                        "::mlir::sdy::MeshAttr":$mesh);
  let assemblyFormat = "`<` $name `:` $mesh `>`";
}

def Mpmd_Topology : Mpmd_Attr<"Topology", "topology"> {
  let summary = "All meshes a program runs on";
  let description = [{
    At least one mesh. A name that occurs twice means the first of them.

    ```mlir
    #mpmd.topology<<"m1" : <["x"=4]>>, <"m2" : <["x"=4]>>>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"NamedMeshAttr">:$meshes);
  let assemblyFormat = "`<` $meshes `>`";
  let genVerifyDecl = 1;
}

def Mpmd_UserOrigin : Mpmd_Attr<"UserOrigin", "user_origin"> {
  let summary = "The user's name of a computation and how often it was transposed";
  let description = [{
    The transpose count is 0 for a forward computation, 1 for the one that
    reverse-mode differentiation made of it, and so on.

    ```mlir
    #mpmd.user_origin<"layer3">
    #mpmd.user_origin<"layer3"(1)>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$userName,
                        DefaultValuedParameter<"int64_t", "0">:$transposeCount);
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$userName,
                     CArg<"int64_t", "0">:$transposeCount), [{
      return $_get($_ctxt, ::mlir::StringAttr::get($_ctxt, userName),
                   transposeCount);
    }]>,
  ];
  let assemblyFormat = "`<` $userName `` custom<TransposeCount>($transposeCount) `>`";
}

def Mpmd_UserOriginArrayAttr
    : TypedArrayAttrBase<Mpmd_UserOrigin, "array of user origins">;

def Mpmd_Origin : Mpmd_Attr<"Origin", "origin"> {
  let summary = "Why a value is needed or produced on a mesh";
  let description = [{
    A label, either a user's name or one of the compiler's. It only occurs
    inside other attributes.
  }];
  let parameters = (ins StringRefParameter<"label">:$origin_label);
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::StringAttr":$label), [{
      return $_get(label.getContext(), label.getValue());
    }]>,
  ];
  let assemblyFormat = "`` $origin_label";
}

def Mpmd_MeshWithOrigins : Mpmd_Attr<"MeshWithOrigins", "mesh_with_origins"> {
  let summary = "A mesh name and why a value is on that mesh";
  let description = [{
    Only occurs inside `#mpmd.meshes_with_origins`.
  }];
  let parameters = (ins StringRefParameter<"name of the mesh">:$mesh_name,
                        OptionalArrayRefParameter<"OriginAttr">:$origins);
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$meshName), [{
      return $_get($_ctxt, meshName, ::llvm::ArrayRef<OriginAttr>());
    }]>,
    AttrBuilder<(ins "::llvm::StringRef":$meshName, "OriginAttr":$origin), [{
      return $_get($_ctxt, meshName, ::llvm::ArrayRef<OriginAttr>(origin));
    }]>,
  ];
  let assemblyFormat = "`` $mesh_name `` (`[` $origins^ `]`)?";
}

def Mpmd_MeshesWithOrigins
    : Mpmd_Attr<"MeshesWithOrigins", "meshes_with_origins"> {
  let summary = "The meshes a value may be on or is needed on, and why";
  let description = [{
    ```mlir
    #mpmd.meshes_with_origins<"m1"["f", "g"], "m2">
    ```
  }];
  let parameters = (ins OptionalArrayRefParameter<"MeshWithOriginsAttr">:$value);
  let builders = [
    AttrBuilder<(ins "MeshWithOriginsAttr":$element), [{
      return $_get($_ctxt, ::llvm::ArrayRef<MeshWithOriginsAttr>(element));
    }]>,
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    auto begin() const { return getValue().begin(); }
    auto end() const { return getValue().end(); }
    size_t size() const { return getValue().size(); }
    bool empty() const { return getValue().empty(); }
  }];
}

def Mpmd_ReductionType
    : I32EnumAttr<"ReductionType", "How values of several meshes are combined", [
        I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Add", 1, "add">,
        I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
        I32EnumAttrCase<"Mul", 4, "mul">, I32EnumAttrCase<"Or", 5, "or">,
        I32EnumAttrCase<"And", 6, "and">,
      ]> {
  let cppNamespace = "::mlir::mpmd";
  let genSpecializedAttr = 0;
}

def Mpmd_Reduction
    : EnumAttr<Mpmd_Dialect, Mpmd_ReductionType, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
  let cppClassName = "ReductionAttr";
}

#endif
