//===- BytecodeForm.td - Attributes of an op in bytecode ---*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_MISC_BYTECODEFORM_TD
#define MESHWRIGHT_DIALECT_STABLEHLO_MISC_BYTECODEFORM_TD

/// Defines how properties `p` are read and written. `attributes` calls for them in
/// the order of their names, as BytecodeForm.h tells.
class BytecodeForm<code attributes> {
  code definition = [{
    ::llvm::LogicalResult
    $cppClass::readProperties(::mlir::DialectBytecodeReader &reader,
                              ::mlir::OperationState &state) {
      auto &p = state.getOrAddProperties<Properties>();
      return ::mlir::stablehlo::AttributeReader(reader)}] # attributes # [{;
    }
    void $cppClass::writeProperties(::mlir::DialectBytecodeWriter &writer) {
      const Properties &p = getProperties();
      ::mlir::stablehlo::AttributeWriter(writer)}] # attributes # [{;
    }
  }];
}

#endif
