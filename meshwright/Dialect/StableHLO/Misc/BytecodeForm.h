//===- BytecodeForm.h - Which attributes an op has in bytecode --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Bytecode has the attributes of an op one after the other, in the order of their
// names and without them. So what wrote it and what reads it must know the same ones,
// and an op that got one more in a later release reads an older bytecode wrongly, and
// then beyond its end.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_STABLEHLO_MISC_BYTECODEFORM_H
#define MESHWRIGHT_DIALECT_STABLEHLO_MISC_BYTECODEFORM_H

#include "mlir/Bytecode/BytecodeImplementation.h"

namespace mlir::stablehlo {

/// The first release of JAX that wrote a form; what is written here is the last.
enum class BytecodeForm { Jax0_10, Jax0_11_0, Jax0_11_2 };

/// While it lives, this thread reads the attributes of ops in a form.
class BytecodeFormScope {
public:
  explicit BytecodeFormScope(BytecodeForm form);
  ~BytecodeFormScope();
  BytecodeFormScope(const BytecodeFormScope &) = delete;
  BytecodeFormScope &operator=(const BytecodeFormScope &) = delete;

  static BytecodeForm current();

private:
  BytecodeForm outer;
};

/// Reads attributes of an op in the order in which they are called for.
/// BytecodeForm.td has one list of these for reading and writing.
class AttributeReader {
public:
  explicit AttributeReader(DialectBytecodeReader &reader) : reader(reader) {}

  template <typename AttrT> AttributeReader &required(AttrT &attribute) {
    isGood = isGood && succeeded(reader.readAttribute(attribute));
    return *this;
  }
  template <typename AttrT> AttributeReader &optional(AttrT &attribute) {
    isGood = isGood && succeeded(reader.readOptionalAttribute(attribute));
    return *this;
  }
  /// One that is there since a form.
  template <typename AttrT>
  AttributeReader &since(BytecodeForm form, AttrT &attribute) {
    return BytecodeFormScope::current() < form ? *this : optional(attribute);
  }
  operator LogicalResult() const { return success(isGood); }

private:
  DialectBytecodeReader &reader;
  bool isGood = true;
};

/// Writes attributes of an op in the order in which they are called for.
class AttributeWriter {
public:
  explicit AttributeWriter(DialectBytecodeWriter &writer) : writer(writer) {}

  AttributeWriter &required(Attribute attribute) {
    writer.writeAttribute(attribute);
    return *this;
  }
  AttributeWriter &optional(Attribute attribute) {
    writer.writeOptionalAttribute(attribute);
    return *this;
  }
  AttributeWriter &since(BytecodeForm, Attribute attribute) {
    return optional(attribute);
  }

private:
  DialectBytecodeWriter &writer;
};

} // namespace mlir::stablehlo

#endif
