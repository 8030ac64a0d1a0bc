//===- SdyAttrs.td ------------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// In the order of use: meshes, axes, shardings, rules, debugging.

#ifndef MESHWRIGHT_DIALECT_SDY_ATTRS_TD
#define MESHWRIGHT_DIALECT_SDY_ATTRS_TD

include "meshwright/Dialect/Sdy/SdyDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Sdy_Attr<string name, string keyword, list<Trait> traits = []>
    : AttrDef<Sdy_Dialect, name, traits> {
  let mnemonic = keyword;
}

/// A list that is iterated over.
class Sdy_ListAttr<string name, string keyword, string element,
                   string parameter = "value", string methods = "">
    : Sdy_Attr<name, keyword> {
  let parameters =
      !dag(ins, [OptionalArrayRefParameter<element>], [parameter]);
  defvar getter = !if(!eq(parameter, "value"), "getValue()", "getShardings()");
  let extraClassDeclaration = [{
    using iterator = ::llvm::ArrayRef<}] # element # [{>::iterator;
    iterator begin() const { return }] # getter # [{.begin(); }
    iterator end() const { return }] # getter # [{.end(); }
    bool empty() const { return }] # getter # [{.empty(); }
    size_t size() const { return }] # getter # [{.size(); }
  }] # methods;
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

def Sdy_MeshAxis : Sdy_Attr<"MeshAxis", "mesh_axis"> {
  let summary = "Name and size of a mesh axis";
  let description = "Written `\"x\"=4`.";
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let assemblyFormat = "`` $name `` `=` `` $size";
}

def Sdy_Mesh : Sdy_Attr<"Mesh", "mesh"> {
  let summary = "Devices arranged along named axes";
  let description = [{
    `<["x"=2, "y"=4]>`, with another than the natural order of devices
    `<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>`. The empty mesh `<[]>` matches
    any mesh; a maximal mesh `<[], device_ids=[3]>` is that one device.
    Without explicit ids the devices are 0 up to the product of the axis sizes.
  }];
  let parameters = (ins
    ArrayRefParameter<"MeshAxisAttr">:$axes,
    OptionalArrayRefParameter<"int64_t">:$device_ids
  );
  let skipDefaultBuilders = 1;
  let builders = [
    // Drops the ids if they are in natural order.
    AttrBuilder<(ins "::llvm::ArrayRef<MeshAxisAttr>":$axes,
                     CArg<"::llvm::ArrayRef<int64_t>", "{}">:$deviceIds), [{
      return $_get($_ctxt, axes, dropNaturalOrder(axes, deviceIds));
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// No axes and no device ids.
    bool empty() const { return getAxes().empty() && getDeviceIds().empty(); }
    /// No axes and one device id.
    bool isMaximal() const {
      return getAxes().empty() && getDeviceIds().size() == 1;
    }
    /// Null unless the mesh is maximal.
    std::optional<int64_t> getMaximalDeviceId() const;
    bool hasAxis(::llvm::StringRef axisName) const {
      return findAxisSize(axisName).has_value();
    }
    /// The size of an axis of this mesh, nothing for any other name.
    std::optional<int64_t> findAxisSize(::llvm::StringRef axisName) const;
    /// The size of an axis that is known to be in the mesh.
    int64_t getAxisSize(::llvm::StringRef axisName) const;
    /// The product of all axis sizes.
    int64_t getTotalSize() const;
    /// Same axes in the same order; the device order may differ.
    bool equalsIgnoringDeviceOrder(MeshAttr other) const;
    /// Position of the axis in the mesh, the number of axes for other names.
    size_t getAxisPosition(::llvm::StringRef axisName) const;

  private:
    static ::llvm::ArrayRef<int64_t>
    dropNaturalOrder(::llvm::ArrayRef<MeshAxisAttr> axes,
                     ::llvm::ArrayRef<int64_t> deviceIds);
  public:
  }];
}

//===----------------------------------------------------------------------===//
// Axes and lists of axes
//===----------------------------------------------------------------------===//

def Sdy_SubAxisInfo : Sdy_Attr<"SubAxisInfo", "sub_axis_info"> {
  let summary = "The part of an axis that a sub-axis covers";
  let description = [{
    `(p)s` reshapes the axis to (p, s, rest) and means the middle part.
  }];
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
  let extraClassDeclaration = [{
    /// Where the next sub-axis of the same axis starts. A verifier may ask for one
    /// that is too large for any mesh.
    int64_t getNextPreSize() const;
  }];
}

def Sdy_AxisRef : Sdy_Attr<"AxisRef", "axis_ref"> {
  let summary = "An axis of a mesh, or a sub-axis of it";
  let description = "Written `\"x\"` or `\"x\":(2)4`.";
  let parameters = (ins
    StringRefParameter<"name">:$name,
    OptionalParameter<"SubAxisInfoAttr">:$sub_axis_info
  );
  let builders = [
    AttrBuilder<(ins "::llvm::StringRef":$name), [{
      return $_get($_ctxt, name, SubAxisInfoAttr());
    }]>,
    AttrBuilder<(ins "::llvm::StringRef":$name, "int64_t":$preSize,
                     "int64_t":$size), [{
      return $_get($_ctxt, name, SubAxisInfoAttr::get($_ctxt, preSize, size));
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isFullAxis() const { return !getSubAxisInfo(); }
    bool isSubAxis() const { return static_cast<bool>(getSubAxisInfo()); }
    /// The pre-size of a sub-axis, 1 for a full axis.
    int64_t getPreSize() const {
      return isSubAxis() ? getSubAxisInfo().getPreSize() : 1;
    }
    int64_t getSize(MeshAttr mesh) const {
      return isSubAxis() ? getSubAxisInfo().getSize()
                         : mesh.getAxisSize(getName());
    }
    /// The text as in a sharding, for messages.
    std::string toString() const;
  }];
}

def Sdy_AxisRefList
    : Sdy_ListAttr<"AxisRefList", "axis_ref_list", "AxisRefAttr"> {
  let summary = "Axes, major to minor";
  let description = "Written `{\"x\", \"y\":(1)2}`.";
  let assemblyFormat = "`` custom<AxisRefs>($value)";
}

def Sdy_ListOfAxisRefLists
    : Sdy_ListAttr<"ListOfAxisRefLists", "list_of_axis_ref_lists", "AxisRefListAttr"> {
  let summary = "One list of axes per dimension";
  let description = "Written `[{\"x\"}, {}]`.";
  let assemblyFormat = "`` custom<BracketedAttrs>($value)";
}

def Sdy_AllToAllParam : Sdy_Attr<"AllToAllParam", "all_to_all_param"> {
  let summary = "Axes that move from one dimension to another";
  let description = "Written `{\"x\"}: 0->1`.";
  let parameters = (ins
    OptionalArrayRefParameter<"AxisRefAttr">:$axes,
    "int64_t":$src_dim,
    "int64_t":$tgt_dim
  );
  let assemblyFormat =
      "`` custom<AxisRefs>($axes) `` `:` $src_dim `` `->` `` $tgt_dim";
}

def Sdy_AllToAllParamList
    : Sdy_ListAttr<"AllToAllParamList", "all_to_all_param_list", "AllToAllParamAttr"> {
  let summary = "The moves of an all_to_all";
  let description = "Written `[{\"x\"}: 0->1, {\"y\"}: 1->0]`.";
  let assemblyFormat = "`` custom<BracketedAttrs>($value)";
}

def Sdy_ManualAxes
    : Sdy_ListAttr<"ManualAxes", "manual_axes", "::mlir::StringAttr", "value",
                   [{
    bool contains(::llvm::StringRef axisName) const {
      return ::llvm::is_contained(getValue(), axisName);
    }
  }]> {
  let summary = "The axes a manual computation handles itself";
  let description = "Written `{\"x\", \"y\"}`.";
  let assemblyFormat = "`` custom<AxisNames>($value)";
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

def Sdy_ReductionKind : I32EnumAttr<"ReductionKind",
    "How partial values along unreduced axes combine", [
      I32EnumAttrCase<"Sum", 0, "sum">,
      I32EnumAttrCase<"Max", 1, "max">,
      I32EnumAttrCase<"Min", 2, "min">
    ]> {
  let cppNamespace = "::mlir::sdy";
}

def Sdy_DimensionSharding
    : Sdy_Attr<"DimensionSharding", "dimension_sharding"> {
  let summary = "The axes that shard one dimension";
  let description = [{
    `{"x", "y":(1)2}` is closed, `{"x", ?}` may be split further. An optional
    priority follows the brace, `{"x"}p1`.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"AxisRefAttr">:$axes,
    "bool":$is_closed,
    OptionalParameter<"std::optional<int64_t>">:$priority
  );
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<AxisRefAttr>":$axes, "bool":$isClosed), [{
      return $_get($_ctxt, axes, isClosed, std::nullopt);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static DimensionShardingAttr getOpen(::mlir::MLIRContext *context) {
      return get(context, {}, /*isClosed=*/false);
    }
    static DimensionShardingAttr getClosed(::mlir::MLIRContext *context) {
      return get(context, {}, /*isClosed=*/true);
    }

    bool emptyAxes() const { return getAxes().empty(); }
    bool isOpen() const { return !getIsClosed(); }
    /// 0 where the text has no priority.
    int64_t getPriorityOrDefault() const { return getPriority().value_or(0); }
    /// Into how many pieces the dimension is cut.
    int64_t getShardedSize(MeshAttr mesh) const;
    /// Keeps openness and priority.
    DimensionShardingAttr replaceAxes(::llvm::ArrayRef<AxisRefAttr> axes) const {
      return get(getContext(), axes, getIsClosed(), getPriority());
    }
    DimensionShardingAttr getClosedCopy() const {
      return get(getContext(), getAxes(), /*isClosed=*/true, getPriority());
    }
    DimensionShardingAttr dropPriority() const {
      return get(getContext(), getAxes(), getIsClosed());
    }
  }];
}

def Sdy_TensorSharding : Sdy_Attr<"TensorSharding", "sharding"> {
  let summary = "How a tensor is sharded over a mesh";
  let description =
      "Written `<@mesh, [{\"x\"}, {?}], replicated={\"y\":(1)2}, "
      "unreduced={\"y\":(2)2}>`: one entry per dimension, then the axes that "
      "must not split the tensor, then those along which each device holds a "
      "partial value, to be combined by sum, `max` or `min` "
      "(`unreduced=max{\"y\"}`). Instead of a symbol the mesh may be written "
      "inline, `mesh<[\"x\"=2]>`.";
  let parameters = (ins
    "::mlir::Attribute":$mesh_or_ref,
    OptionalArrayRefParameter<"DimensionShardingAttr">:$dim_shardings,
    OptionalArrayRefParameter<"AxisRefAttr">:$replicated_axes,
    OptionalArrayRefParameter<"AxisRefAttr">:$unreduced_axes,
    "ReductionKind":$reduction_kind
  );
  let builders = [
    AttrBuilder<(ins "::mlir::Attribute":$meshOrRef,
                     "::llvm::ArrayRef<DimensionShardingAttr>":$dimShardings,
                     "::llvm::ArrayRef<AxisRefAttr>":$replicatedAxes,
                     "::llvm::ArrayRef<AxisRefAttr>":$unreducedAxes), [{
      return $_get($_ctxt, meshOrRef, dimShardings, replicatedAxes,
                   unreducedAxes, ReductionKind::Sum);
    }]>,
    AttrBuilder<(ins "::llvm::StringRef":$meshName,
                     "::llvm::ArrayRef<DimensionShardingAttr>":$dimShardings,
                     CArg<"::llvm::ArrayRef<AxisRefAttr>", "{}">:$replicatedAxes,
                     CArg<"::llvm::ArrayRef<AxisRefAttr>", "{}">:$unreducedAxes), [{
      return $_get($_ctxt, ::mlir::FlatSymbolRefAttr::get($_ctxt, meshName),
                   dimShardings, replicatedAxes, unreducedAxes,
                   ReductionKind::Sum);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Every dimension open and without axes.
    static TensorShardingAttr getFullyOpen(::mlir::MLIRContext *context,
                                           int64_t rank,
                                           ::mlir::Attribute meshOrRef);
    static TensorShardingAttr getFullyOpen(::mlir::MLIRContext *context,
                                           int64_t rank,
                                           ::llvm::StringRef meshName) {
      return getFullyOpen(context, rank,
                          ::mlir::FlatSymbolRefAttr::get(context, meshName));
    }
    /// Open, on the mesh of another sharding.
    static TensorShardingAttr getFullyOpenLike(::mlir::Type type,
                                               TensorShardingAttr sharding);
    /// Every dimension closed and without axes.
    static TensorShardingAttr getFullyClosed(::mlir::MLIRContext *context,
                                             int64_t rank,
                                             ::mlir::Attribute meshOrRef);
    static TensorShardingAttr getFullyClosed(::mlir::MLIRContext *context,
                                             int64_t rank,
                                             ::llvm::StringRef meshName) {
      return getFullyClosed(context, rank,
                            ::mlir::FlatSymbolRefAttr::get(context, meshName));
    }

    int64_t getRank() const {
      return static_cast<int64_t>(getDimShardings().size());
    }
    /// Null for an inlined mesh.
    ::mlir::FlatSymbolRefAttr getMeshSymName() const {
      return ::llvm::dyn_cast<::mlir::FlatSymbolRefAttr>(getMeshOrRef());
    }
    /// Empty for an inlined mesh.
    ::llvm::StringRef getMeshName() const;
    /// The inlined mesh or the one that the symbol names; null if unknown.
    MeshAttr getMesh(const ::mlir::SymbolTable &symbolTable) const;
    MeshAttr getMesh(::mlir::Operation *from) const;

    /// No dimension has an axis.
    bool isFullyReplicated() const;
    /// No dimension, replicated or unreduced axis.
    bool emptyAxes() const;
    /// Every dimension closed, with or without axes.
    bool isFullyClosed() const;
    bool anyOfAxisRef(
        ::llvm::function_ref<bool(AxisRefAttr)> predicate) const;
    /// Calls back with every axis: dimensions, then replicated, then unreduced.
    void forEachAxisRef(::llvm::function_ref<void(AxisRefAttr)> callback) const;
    /// Splits like the other; openness, priorities and replicated axes do not
    /// count. Not symmetric: see areEquivalent for null.
    bool isEquivalent(TensorShardingAttr other) const;

    TensorShardingAttr replaceMesh(::mlir::Attribute meshOrRef) const;
    TensorShardingAttr
    replaceDimShardings(::llvm::ArrayRef<DimensionShardingAttr> dims) const;
    TensorShardingAttr
    replaceReplicatedAxes(::llvm::ArrayRef<AxisRefAttr> axes) const;
    TensorShardingAttr
    replaceUnreducedAxes(::llvm::ArrayRef<AxisRefAttr> axes) const {
      return replaceUnreducedAxes(axes, getReductionKind());
    }
    TensorShardingAttr replaceUnreducedAxes(::llvm::ArrayRef<AxisRefAttr> axes,
                                            ReductionKind kind) const;

    /// The type of one device's piece; dimensions are divided rounding up.
    ::mlir::RankedTensorType getLocalTensorType(::mlir::RankedTensorType type,
                                                MeshAttr mesh) const;
  }];
}

def Sdy_TensorShardingPerValue
    : Sdy_ListAttr<"TensorShardingPerValue", "sharding_per_value", "TensorShardingAttr",
                   "shardings"> {
  let summary = "One sharding per operand or result";
  let description = "Written `<[<@mesh, [{\"x\"}]>, <@mesh, []>]>`.";
  let assemblyFormat = "`<` custom<BracketedAttrs>($shardings) `>`";
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

def Sdy_DimMapping : Sdy_Attr<"DimMapping", "dim_mapping"> {
  let summary = "The factors of a dimension, major to minor";
  let description = "Written as symbols in a row, `ij`.";
  let parameters = (ins ArrayRefParameter<"int64_t">:$factor_indices);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isMinorMost(int64_t factorIndex) const {
      return getFactorIndices().back() == factorIndex;
    }
  }];
}

def Sdy_TensorMapping : Sdy_Attr<"TensorMapping", "tensor_mapping"> {
  let summary = "The factors of each dimension of a tensor";
  let description = "Written `[i, jk]`.";
  let parameters = (ins OptionalArrayRefParameter<"DimMappingAttr">:$dim_mappings);
  let assemblyFormat = "`` custom<BracketedAttrs>($dim_mappings)";
  let extraClassDeclaration = [{
    int64_t getRank() const {
      return static_cast<int64_t>(getDimMappings().size());
    }
    bool containsFactor(int64_t factorIndex) const;
  }];
}

def Sdy_OpShardingRule : Sdy_Attr<"OpShardingRule", "op_sharding_rule"> {
  let summary = "Which dimensions of an op's tensors are sharded together";
  let description = [{
    `<([i, k], [k, j])->([i, j]) {i=12, j=4, k=8} reduction={k}>`: equal factors
    are split alike. Factors may be marked as reduced, as needing replication,
    as needing a permutation, and as blocked in propagation. A custom rule was
    set by the user.
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"int64_t">:$factor_sizes,
    ArrayRefParameter<"TensorMappingAttr">:$operand_mappings,
    ArrayRefParameter<"TensorMappingAttr">:$result_mappings,
    OptionalArrayRefParameter<"int64_t">:$reduction_factors,
    OptionalArrayRefParameter<"int64_t">:$need_replication_factors,
    OptionalArrayRefParameter<"int64_t">:$permutation_factors,
    OptionalArrayRefParameter<"int64_t">:$blocked_propagation_factors,
    "bool":$is_custom_rule
  );
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    bool isCustom() const { return getIsCustomRule(); }
    int64_t getNumFactors() const {
      return static_cast<int64_t>(getFactorSizes().size());
    }
    int64_t getFactorSize(int64_t factorIndex) const {
      return getFactorSizes()[factorIndex];
    }
    bool isReductionFactor(int64_t factorIndex) const {
      return ::llvm::is_contained(getReductionFactors(), factorIndex);
    }
    bool isNeedReplicationFactor(int64_t factorIndex) const {
      return ::llvm::is_contained(getNeedReplicationFactors(), factorIndex);
    }
    bool isPermutationFactor(int64_t factorIndex) const {
      return ::llvm::is_contained(getPermutationFactors(), factorIndex);
    }
    bool isBlockedPropagationFactor(int64_t factorIndex) const {
      return ::llvm::is_contained(getBlockedPropagationFactors(), factorIndex);
    }
    /// In none of the three special lists that say how it is computed.
    bool isPassThroughFactor(int64_t factorIndex) const {
      return !isReductionFactor(factorIndex) &&
             !isNeedReplicationFactor(factorIndex) &&
             !isPermutationFactor(factorIndex);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Debugging
//===----------------------------------------------------------------------===//

def Sdy_EdgeNodeType : I32EnumAttr<"EdgeNodeType",
    "Side of an op that a value is on", [
      I32EnumAttrCase<"Operand", 0, "operand">,
      I32EnumAttrCase<"Result", 1, "result">
    ]> {
  let cppNamespace = "::mlir::sdy";
}

def Sdy_EdgeValueRef : Sdy_Attr<"EdgeValueRef", "edge_value_ref"> {
  let summary = "An operand or result of an op";
  let description = "Written `operand-0` or `result-1`.";
  let parameters = (ins "EdgeNodeType":$type, "int64_t":$index);
  let hasCustomAssemblyFormat = 1;
}

def Sdy_AxisToPropagationDetails
    : Sdy_Attr<"AxisToPropagationDetails", "axis_to_propagation_details"> {
  let summary = "Where an axis came from and where it went";
  let description = "Written `\"x\" = operand-1 -> [operand-0, result-0]`.";
  let parameters = (ins
    "AxisRefAttr":$axis_name,
    "EdgeValueRefAttr":$source,
    OptionalArrayRefParameter<"EdgeValueRefAttr">:$targets
  );
  let assemblyFormat = [{
    `` $axis_name `=` $source `->` custom<BracketedAttrs>($targets)
  }];
  let genVerifyDecl = 1;
}

def Sdy_PropagationOneStep
    : Sdy_Attr<"PropagationOneStep", "propagation_one_step"> {
  let summary = "What one step of propagation did at an op";
  let description = "Written `step-2 = [{…}]`.";
  let parameters = (ins
    "int64_t":$step_index,
    OptionalArrayRefParameter<"AxisToPropagationDetailsAttr">:$axis_entries
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sdy_PropagationEdges : Sdy_Attr<"PropagationEdges", "propagation_edges"> {
  let summary = "How shardings reached an op, step by step";
  let description = "Written "
      "`<[{step-2 = [{\"x\" = operand-1 -> [operand-0, result-0]}]}]>`.";
  let parameters =
      (ins OptionalArrayRefParameter<"PropagationOneStepAttr">:$value);
  let assemblyFormat = "`<` custom<BracedAttrs>($value) `>`";
  let genVerifyDecl = 1;
}

#endif
