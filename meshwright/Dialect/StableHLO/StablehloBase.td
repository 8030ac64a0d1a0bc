//===- StablehloBase.td - Kinds, traits and base classes ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_BASE_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_BASE_TD

include "meshwright/Dialect/StableHLO/StablehloDialect.td"
include "meshwright/Dialect/StableHLO/StablehloTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Element kinds
//===----------------------------------------------------------------------===//

// A class of element types; `flag` is its bit in ElementKinds.h.
class Stablehlo_Kind<int value, string description> {
  int flag = value;
  string text = description;
}
def Stablehlo_KindF : Stablehlo_Kind<1, "floating-point">;
def Stablehlo_KindP : Stablehlo_Kind<2, "boolean">;
def Stablehlo_KindS : Stablehlo_Kind<4, "signless integer">;
def Stablehlo_KindI : Stablehlo_Kind<12, "integer">; // signless or unsigned
def Stablehlo_KindC : Stablehlo_Kind<16, "complex">;
def Stablehlo_KindQ : Stablehlo_Kind<32, "per-tensor quantized">;
def Stablehlo_KindA : Stablehlo_Kind<64, "per-axis quantized">;
def Stablehlo_KindIndex : Stablehlo_Kind<128, "index">;

class Stablehlo_KindSet<list<Stablehlo_Kind> kinds> {
  int mask = !foldl(0, kinds, set, kind, !or(set, kind.flag));
  string text = !interleave(!foreach(kind, kinds, kind.text), " or ");
}
def Stablehlo_F : Stablehlo_KindSet<[Stablehlo_KindF]>;
def Stablehlo_P : Stablehlo_KindSet<[Stablehlo_KindP]>;
def Stablehlo_I : Stablehlo_KindSet<[Stablehlo_KindI]>;
def Stablehlo_C : Stablehlo_KindSet<[Stablehlo_KindC]>;
def Stablehlo_PI : Stablehlo_KindSet<[Stablehlo_KindP, Stablehlo_KindI]>;
def Stablehlo_FI : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindI]>;
def Stablehlo_FC : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindC]>;
def Stablehlo_FQ : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindQ]>;
def Stablehlo_QA : Stablehlo_KindSet<[Stablehlo_KindQ, Stablehlo_KindA]>;
def Stablehlo_PIF
    : Stablehlo_KindSet<[Stablehlo_KindP, Stablehlo_KindI, Stablehlo_KindF]>;
def Stablehlo_FQA
    : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindQ, Stablehlo_KindA]>;
def Stablehlo_FCQ
    : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindC, Stablehlo_KindQ]>;
def Stablehlo_SFQ
    : Stablehlo_KindSet<[Stablehlo_KindS, Stablehlo_KindF, Stablehlo_KindQ]>;
def Stablehlo_SFCQ
    : Stablehlo_KindSet<[Stablehlo_KindS, Stablehlo_KindF, Stablehlo_KindC,
                         Stablehlo_KindQ]>;
def Stablehlo_IFCQ
    : Stablehlo_KindSet<[Stablehlo_KindI, Stablehlo_KindF, Stablehlo_KindC,
                         Stablehlo_KindQ]>;
def Stablehlo_FPIC
    : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindP, Stablehlo_KindI,
                         Stablehlo_KindC]>;
def Stablehlo_FPICQ
    : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindP, Stablehlo_KindI,
                         Stablehlo_KindC, Stablehlo_KindQ]>;
def Stablehlo_FPICQA
    : Stablehlo_KindSet<[Stablehlo_KindF, Stablehlo_KindP, Stablehlo_KindI,
                         Stablehlo_KindC, Stablehlo_KindQ, Stablehlo_KindA]>;
def Stablehlo_IndexI : Stablehlo_KindSet<[Stablehlo_KindIndex, Stablehlo_KindI]>;

//===----------------------------------------------------------------------===//
// Operand and result kinds
//===----------------------------------------------------------------------===//

// T[..]: a ranked tensor of some element kinds.
class Stablehlo_Tensor<Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isTensorOf($_self, " # kinds.mask # ")">,
           "ranked tensor of " # kinds.text # " values",
           "::mlir::RankedTensorType">;

// T0[..], T1[..], T2[..]: of a fixed rank.
class Stablehlo_TensorOfRank<int rank, Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isTensorOf($_self, " # kinds.mask # ", "
                 # rank # ")">,
           rank # "D tensor of " # kinds.text # " values",
           "::mlir::RankedTensorType">;

class Stablehlo_StaticTensor<Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isStaticTensorOf($_self, "
                 # kinds.mask # ")">,
           "statically shaped tensor of " # kinds.text # " values",
           "::mlir::RankedTensorType">;

class Stablehlo_StaticTensorOfRank<int rank, Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isStaticTensorOf($_self, " # kinds.mask
                 # ", " # rank # ")">,
           "statically shaped " # rank # "D tensor of " # kinds.text
               # " values",
           "::mlir::RankedTensorType">;

// Static, or with exactly one dynamic dimension, which has a bound.
class Stablehlo_StaticOrBoundedTensor<Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isStaticOrBoundedTensorOf($_self, "
                 # kinds.mask # ")">,
           "statically shaped or single bounded dimension tensor of "
               # kinds.text # " values",
           "::mlir::RankedTensorType">;

// X[..]: a ranked or unranked tensor.
class Stablehlo_AnyRankTensor<Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isAnyRankTensorOf($_self, " # kinds.mask
                 # ")">,
           "tensor of " # kinds.text # " values", "::mlir::TensorType">;

def Stablehlo_PredTensor : Stablehlo_Tensor<Stablehlo_P>;
def Stablehlo_IntTensor : Stablehlo_Tensor<Stablehlo_I>;
def Stablehlo_FPICQTensor : Stablehlo_Tensor<Stablehlo_FPICQ>;
def Stablehlo_FPICQATensor : Stablehlo_Tensor<Stablehlo_FPICQA>;
def Stablehlo_AxisQuantizedTensor
    : Stablehlo_Tensor<Stablehlo_KindSet<[Stablehlo_KindA]>>;
def Stablehlo_ScalarIntTensor : Stablehlo_TensorOfRank<0, Stablehlo_I>;

// T[i32], T[ui32]: of exactly one element type.
def Stablehlo_I32Tensor
    : Type<CPred<"::mlir::stablehlo::isTensorOfInt($_self, 32, "
                 "::mlir::IntegerType::Signless)">,
           "ranked tensor of 32-bit signless integer values",
           "::mlir::RankedTensorType">;
def Stablehlo_UI32Tensor
    : Type<CPred<"::mlir::stablehlo::isTensorOfInt($_self, 32, "
                 "::mlir::IntegerType::Unsigned)">,
           "ranked tensor of 32-bit unsigned integer values",
           "::mlir::RankedTensorType">;
// T[f32,f64]: what a complex number is made of.
def Stablehlo_F32OrF64Tensor
    : Type<CPred<"::mlir::stablehlo::isTensorOfF32OrF64($_self)">,
           "ranked tensor of 32-bit float or 64-bit float values",
           "::mlir::RankedTensorType">;
// Shapes, offsets and sizes that are computed: static 1-D tensors.
def Stablehlo_ShapeTensor : Stablehlo_StaticTensorOfRank<1, Stablehlo_IndexI>;
def Stablehlo_IndexVectorTensor : Stablehlo_TensorOfRank<1, Stablehlo_IndexI>;

def Stablehlo_Token
    : Type<CPred<"::llvm::isa<::mlir::stablehlo::TokenType>($_self)">, "token",
           "::mlir::stablehlo::TokenType">,
      BuildableType<"$_builder.getType<::mlir::stablehlo::TokenType>()">;
def Stablehlo_Future
    : Type<CPred<"::llvm::isa<::mlir::stablehlo::FutureType>($_self)">,
           "future", "::mlir::stablehlo::FutureType">;
class Stablehlo_MemRefOf<Stablehlo_KindSet kinds>
    : Type<CPred<"::mlir::stablehlo::isMemRefOf($_self, " # kinds.mask # ")">,
           "memref of " # kinds.text # " values", "::mlir::MemRefType">;
def Stablehlo_MemRef : Stablehlo_MemRefOf<Stablehlo_FPICQ>;
// Nested tuples of tensors, memrefs and tokens.
def Stablehlo_Tuple
    : Type<CPred<"::mlir::stablehlo::isTupleOfValues($_self)">,
           "nested tuple of ranked tensors, memrefs or tokens",
           "::mlir::TupleType">;

def Stablehlo_TensorOrToken
    : AnyTypeOf<[Stablehlo_FPICQTensor, Stablehlo_Token]>;
def Stablehlo_StaticTensorOrToken
    : AnyTypeOf<[Stablehlo_StaticTensor<Stablehlo_FPICQA>, Stablehlo_Token]>;
def Stablehlo_TensorOrAxisQuantizedOrToken
    : AnyTypeOf<[Stablehlo_FPICQTensor, Stablehlo_AxisQuantizedTensor,
                 Stablehlo_Token]>;
def Stablehlo_TensorOrTokenOrMemRef
    : AnyTypeOf<[Stablehlo_FPICQTensor, Stablehlo_AxisQuantizedTensor,
                 Stablehlo_Token, Stablehlo_MemRef]>;
def Stablehlo_TensorOrTokenOrTuple
    : AnyTypeOf<[Stablehlo_FPICQTensor, Stablehlo_AxisQuantizedTensor,
                 Stablehlo_Token, Stablehlo_Tuple]>;
def Stablehlo_TensorOrTokenOrTupleOrMemRef
    : AnyTypeOf<[Stablehlo_FPICQTensor, Stablehlo_AxisQuantizedTensor,
                 Stablehlo_Token, Stablehlo_Tuple, Stablehlo_MemRef]>;
def Stablehlo_CustomCallValue
    : AnyTypeOf<[Stablehlo_AnyRankTensor<Stablehlo_FPICQA>, Stablehlo_MemRef,
                 Stablehlo_Token, Stablehlo_Tuple, Stablehlo_Future]>;

//===----------------------------------------------------------------------===//
// Attribute kinds
//===----------------------------------------------------------------------===//

def Stablehlo_DimensionAttr : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Stablehlo_PositiveAttr : ConfinedAttr<I64Attr, [IntPositive]>;
def Stablehlo_OptionalFalse : DefaultValuedOptionalAttr<BoolAttr, "false">;

def Stablehlo_SymbolArrayAttr
    : TypedArrayAttrBase<FlatSymbolRefAttr, "flat symbol ref array attribute">;

// Layouts: one permutation of the dimensions per value.
def Stablehlo_LayoutAttr
    : Attr<CPred<"::mlir::stablehlo::isLayout($_self)">,
           "A 1D tensor of index type (layout)"> {
  let storageType = "::mlir::DenseIntElementsAttr";
  let returnType = "::mlir::DenseIntElementsAttr";
  let convertFromStorage = "$_self";
}
def Stablehlo_LayoutArrayAttr
    : TypedArrayAttrBase<Stablehlo_LayoutAttr,
                         "Array of layout (1D tensor of index type) attributes">;
def Stablehlo_TilingArrayAttr
    : TypedArrayAttrBase<Stablehlo_LayoutArrayAttr,
                         "Array of arrays of tile (1D tensor of index type) "
                         "attributes">;

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

class Stablehlo_NativeTrait<string name, code declaration = [{}],
                            code definition = [{}]>
    : NativeOpTrait<name, [], declaration, definition> {
  let cppNamespace = "::mlir::stablehlo";
}

// Operands may be swapped. Private to this dialect: it enables the short form
// of `reduce`, while upstream's trait would let canonicalization reorder.
def Stablehlo_Commutative : Stablehlo_NativeTrait<"IsCommutative">;

// All operand and result types are compatible (see TypeCompatibility.h).
def Stablehlo_CompatibleTypes : Stablehlo_NativeTrait<"CompatibleTypes">;
// The element types of all operands and results are compatible.
def Stablehlo_CompatibleElementTypes
    : Stablehlo_NativeTrait<"CompatibleElementTypes">;

// Implements result type inference from the adaptor of the operation; written
// result types need only be compatible with the inferred ones.
class Stablehlo_InferenceBase<code declaration = [{}], code definition = [{}]>
    : TraitList<[
        InferTypeOpAdaptor,
        Stablehlo_NativeTrait<"RelaxedInference", [{
          static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                              ::mlir::TypeRange written);
        }] # declaration, [{
          bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                                  ::mlir::TypeRange written) {
            return ::mlir::stablehlo::areTypesCompatible(inferred, written);
          }
        }] # definition>
      ]>;

// In a function of location and adaptor that returns `types` or fails.
class Stablehlo_InferenceBy<string function, string types,
                            code definition = [{}]>
    : Stablehlo_InferenceBase<"static ::mlir::FailureOr<" # types # "> "
        # function # [{(
            ::std::optional<::mlir::Location> location, Adaptor adaptor);
      }], [{
        ::llvm::LogicalResult $cppClass::inferReturnTypes(
            ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location,
            Adaptor adaptor,
            ::llvm::SmallVectorImpl<::mlir::Type> &inferred) {
          auto types = }] # function # [{(location, adaptor);
          if (failed(types))
            return ::mlir::failure();
          ::llvm::append_range(inferred, ::llvm::ArrayRef<::mlir::Type>(*types));
          return ::mlir::success();
        }
      }] # definition>;

// Any number of results, in `inferTypes(location, adaptor)`.
class Stablehlo_ManyInferenceBase<code definition = [{}]>
    : Stablehlo_InferenceBy<"inferTypes", "::llvm::SmallVector<::mlir::Type>",
                            definition>;
def Stablehlo_Inferred : Stablehlo_ManyInferenceBase;

// As many results as operands, of their types.
def Stablehlo_InferredAsOperands
    : Stablehlo_ManyInferenceBase<[{
        ::mlir::FailureOr<::llvm::SmallVector<::mlir::Type>>
        $cppClass::inferTypes(::std::optional<::mlir::Location>,
                              Adaptor adaptor) {
          return ::llvm::to_vector(adaptor.getOperands().getTypes());
        }
      }]>;

// One result, in `inferType(location, adaptor)`.
class Stablehlo_OneInferenceBase<code definition = [{}]>
    : Stablehlo_InferenceBy<"inferType", "::mlir::Type", definition>;
def Stablehlo_OneInferred : Stablehlo_OneInferenceBase;

// One result, whose type is this expression over `location` and `adaptor`.
class Stablehlo_InferredAs<code type>
    : Stablehlo_OneInferenceBase<[{
        ::mlir::FailureOr<::mlir::Type> $cppClass::inferType(
            ::std::optional<::mlir::Location> location, Adaptor adaptor) {
          return }] # type # [{;
        }
      }]>;

// The result has the most specific type that all operands agree on.
def Stablehlo_InferredFromOperands
    : Stablehlo_InferredAs<[{::mlir::stablehlo::inferMostSpecificType(
          location, adaptor.getOperands().getTypes())}]>;

// Speculatable where every operand is statically shaped.
def Stablehlo_SpeculatableIfStaticOperands
    : TraitList<[ConditionallySpeculatable,
                 Stablehlo_NativeTrait<"SpeculatableIfStaticOperands">]>;

// No effects, and speculatable where every operand is statically shaped.
def Stablehlo_PureIfStaticOperands
    : TraitList<[NoMemoryEffect, Stablehlo_SpeculatableIfStaticOperands]>;

// No effects, and speculatable where every operand is statically shaped and those
// that the getters return are constants.
class Stablehlo_PureIfConstant<list<string> getters>
    : TraitList<[NoMemoryEffect, ConditionallySpeculatable,
                 Stablehlo_NativeTrait<"SpeculatableIfConstant", [{
                   ::mlir::Speculation::Speculatability getSpeculatability();
                 }], [{
                   ::mlir::Speculation::Speculatability
                   $cppClass::getSpeculatability() {
                     for (::mlir::Value operand : {}]
                         # !interleave(getters, ", ") # [{})
                       if (!isConstantOperand(operand))
                         return ::mlir::Speculation::NotSpeculatable;
                     return detail::speculateIfStaticOperands(*this);
                   }
                 }]>]>;

// No effects, and speculatable unless a dimension is static in the result but
// dynamic in the operand (the first one).
def Stablehlo_PureIfStaticDimsCarry
    : TraitList<[NoMemoryEffect, ConditionallySpeculatable,
                 Stablehlo_NativeTrait<"SpeculatableIfStaticDimsCarry">]>;

// Implements getSpeculatability itself.
def Stablehlo_OwnSpeculatability
    : TraitList<[DeclareOpInterfaceMethods<ConditionallySpeculatable>]>;

//===----------------------------------------------------------------------===//
// Base class
//===----------------------------------------------------------------------===//

class Stablehlo_Op<string mnemonic, list<Trait> traits = []>
    : Op<Stablehlo_Dialect, mnemonic, traits>;

#endif
