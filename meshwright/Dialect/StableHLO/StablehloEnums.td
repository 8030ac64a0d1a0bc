//===- StablehloEnums.td - All enumerations ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_ENUMS_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_ENUMS_TD

include "meshwright/Dialect/StableHLO/StablehloDialect.td"
include "mlir/IR/EnumAttr.td"

class Stablehlo_Enum<string name, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, text, cases> {
  let cppNamespace = "::mlir::stablehlo";
  let genSpecializedAttr = 0;
}
// Prints as `#stablehlo<mnemonic VALUE>`.
class Stablehlo_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<Stablehlo_Dialect, info, mnemonic>;

def Stablehlo_Precision
    : Stablehlo_Enum<"Precision", "How exactly a contraction computes", [
        I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGH", 1>,
        I32EnumAttrCase<"HIGHEST", 2>]>;
def Stablehlo_PrecisionAttr
    : Stablehlo_EnumAttr<Stablehlo_Precision, "precision">;

def Stablehlo_ComparisonDirection
    : Stablehlo_Enum<"ComparisonDirection", "Which comparison to perform", [
        I32EnumAttrCase<"EQ", 0>, I32EnumAttrCase<"NE", 1>,
        I32EnumAttrCase<"GE", 2>, I32EnumAttrCase<"GT", 3>,
        I32EnumAttrCase<"LE", 4>, I32EnumAttrCase<"LT", 5>]>;
def Stablehlo_ComparisonDirectionAttr
    : Stablehlo_EnumAttr<Stablehlo_ComparisonDirection, "comparison_direction">;

def Stablehlo_ComparisonType
    : Stablehlo_Enum<"ComparisonType", "How to read the compared elements", [
        I32EnumAttrCase<"NOTYPE", 0>, I32EnumAttrCase<"FLOAT", 1>,
        I32EnumAttrCase<"TOTALORDER", 2>, I32EnumAttrCase<"SIGNED", 3>,
        I32EnumAttrCase<"UNSIGNED", 4>]>;
def Stablehlo_ComparisonTypeAttr
    : Stablehlo_EnumAttr<Stablehlo_ComparisonType, "comparison_type">;

def Stablehlo_FftType
    : Stablehlo_Enum<"FftType", "Which Fourier transform to perform", [
        I32EnumAttrCase<"FFT", 0>, I32EnumAttrCase<"IFFT", 1>,
        I32EnumAttrCase<"RFFT", 2>, I32EnumAttrCase<"IRFFT", 3>]>;
def Stablehlo_FftTypeAttr : Stablehlo_EnumAttr<Stablehlo_FftType, "fft_type">;

def Stablehlo_Transpose
    : Stablehlo_Enum<"Transpose", "How to read a triangular matrix", [
        I32EnumAttrCase<"TRANSPOSE_INVALID", 0>,
        I32EnumAttrCase<"NO_TRANSPOSE", 1>, I32EnumAttrCase<"TRANSPOSE", 2>,
        I32EnumAttrCase<"ADJOINT", 3>]>;
def Stablehlo_TransposeAttr
    : Stablehlo_EnumAttr<Stablehlo_Transpose, "transpose">;

def Stablehlo_RngDistribution
    : Stablehlo_Enum<"RngDistribution", "Distribution of random numbers", [
        I32EnumAttrCase<"UNIFORM", 1>, I32EnumAttrCase<"NORMAL", 2>]>;
def Stablehlo_RngDistributionAttr
    : Stablehlo_EnumAttr<Stablehlo_RngDistribution, "rng_distribution">;

def Stablehlo_RngAlgorithm
    : Stablehlo_Enum<"RngAlgorithm", "Generator of random bits", [
        I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"THREE_FRY", 1>,
        I32EnumAttrCase<"PHILOX", 2>]>;
def Stablehlo_RngAlgorithmAttr
    : Stablehlo_EnumAttr<Stablehlo_RngAlgorithm, "rng_algorithm">;

def Stablehlo_ResultAccuracyMode
    : Stablehlo_Enum<"ResultAccuracyMode", "How a result may deviate", [
        I32EnumAttrCase<"DEFAULT", 0>, I32EnumAttrCase<"HIGHEST", 1>,
        I32EnumAttrCase<"TOLERANCE", 2>]>;
// Unlike the others in angle form: `#stablehlo.result_accuracy_mode<DEFAULT>`.
def Stablehlo_ResultAccuracyModeAttr
    : Stablehlo_EnumAttr<Stablehlo_ResultAccuracyMode, "result_accuracy_mode"> {
  let assemblyFormat = "`<` $value `>`";
}

// A plain i32 in the IR.
def Stablehlo_CustomCallApiVersion
    : I32EnumAttr<"CustomCallApiVersion", "Calling convention of a custom call",
                  [I32EnumAttrCase<"API_VERSION_UNSPECIFIED", 0>,
                   I32EnumAttrCase<"API_VERSION_ORIGINAL", 1>,
                   I32EnumAttrCase<"API_VERSION_STATUS_RETURNING", 2>,
                   I32EnumAttrCase<"API_VERSION_STATUS_RETURNING_UNIFIED", 3>,
                   I32EnumAttrCase<"API_VERSION_TYPED_FFI", 4>]> {
  let cppNamespace = "::mlir::stablehlo";
}

#endif
