//===- InterfaceQueries.cpp - Queries of interfaces without assertions ----===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// With assertions, each query of an interface first asks whether a dialect has promised it
// and not kept that, with a text that is made of the name of its class: a fifteenth of the
// instructions of a partition (`gpt_32_8_32`). No dialect promises the interfaces below.
// This file is compiled without assertions, and comes first: of several definitions of an
// inline function a linker takes the first. They differ in assertions only; what a compiler
// inlined elsewhere keeps its own.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

#ifndef NDEBUG
#error "compile this with -DNDEBUG"
#endif

#define QUERY(KIND, OBJECT, INTERFACE)                                         \
  template detail::INTERFACE##InterfaceTraits::Concept                         \
      *KIND<INTERFACE, detail::INTERFACE##InterfaceTraits>::getInterfaceFor(   \
          OBJECT);

QUERY(OpInterface, Operation *, CallOpInterface)
QUERY(OpInterface, Operation *, FunctionOpInterface)
QUERY(OpInterface, Operation *, MemoryEffectOpInterface)
QUERY(OpInterface, Operation *, SymbolOpInterface)
QUERY(OpInterface, Operation *, SymbolUserOpInterface)
QUERY(TypeInterface, Type, FloatType)
QUERY(TypeInterface, Type, ShapedType)
QUERY(AttributeInterface, Attribute, ElementsAttr)
QUERY(AttributeInterface, Attribute, TypedAttr)
