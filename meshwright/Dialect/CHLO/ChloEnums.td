//===- ChloEnums.td - All enumerations ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_CHLO_ENUMS_TD
#define MESHWRIGHT_DIALECT_CHLO_ENUMS_TD

include "meshwright/Dialect/CHLO/ChloDialect.td"
include "mlir/IR/EnumAttr.td"

class Chlo_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::mlir::chlo";
  let genSpecializedAttr = 0;
}
// Prints as `#chlo<mnemonic VALUE>`.
class Chlo_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<Chlo_Dialect, info, mnemonic>;

def Chlo_Precision
    : Chlo_Enum<"Precision", "How exactly a contraction computes", [
        I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>,
        I32EnumAttrCase<"HIGHEST", 2>]>;
def Chlo_PrecisionAttr : Chlo_EnumAttr<Chlo_Precision, "precision">;

def Chlo_ComparisonDirection
    : Chlo_Enum<"ComparisonDirection", "Which comparison to perform", [
        I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>,
        I32EnumAttrCase<"GE", 2>, I32EnumAttrCase<"GT", 3>,
        I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Chlo_ComparisonDirectionAttr
    : Chlo_EnumAttr<Chlo_ComparisonDirection, "comparison_direction">;

def Chlo_ComparisonType
    : Chlo_Enum<"ComparisonType", "How to read the compared elements", [
        I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>,
        I32EnumAttrCase<"TOTALORDER", 2>, I32EnumAttrCase<"SIGNED", 3>,
        I32EnumAttrCase<"UNSIGNED", 4>]>;
def Chlo_ComparisonTypeAttr
    : Chlo_EnumAttr<Chlo_ComparisonType, "comparison_type">;

#endif
