//===- Passes.td ----------------------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
// Entries in alphabetical order of the flag.

#ifndef MESHWRIGHT_IMPORT_PASSES_TD
#define MESHWRIGHT_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif
