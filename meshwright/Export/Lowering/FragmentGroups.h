//===- FragmentGroups.h - Fragments that are one program --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_EXPORT_LOWERING_FRAGMENTGROUPS_H
#define MESHWRIGHT_EXPORT_LOWERING_FRAGMENTGROUPS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"

namespace mlir::mpmd {

/// The fragments of a program in program order. Those in modules within this one
/// are of other programs.
SmallVector<FragmentOp> getFragments(ModuleOp module);

/// Puts fragments together that can share a function: the same mesh,
/// `arg_attrs` and `res_attrs`, and bodies that differ in nothing but
/// locations. Groups and their members keep the order of the list. Linear in
/// the size of the bodies. The first member of a group gets a body of its own
/// where they share one.
SmallVector<SmallVector<FragmentOp>>
groupFragments(ArrayRef<FragmentOp> fragments);

} // namespace mlir::mpmd

#endif
