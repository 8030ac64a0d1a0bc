//===- PlainModule.h - Programs of fragments for any reader -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// The program of a fragment (FragmentModule.h) says more than what it computes: how
// its values are sharded, which buffers JAX may reuse, where the user wrote it. Each
// function here takes one of these away, for compilers that do not read it:
//
//   sdy.mesh @mesh = <["x"=1]>
//   func.func public @main(
//       %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>,
//                          tf.aliasing_output = 0 : i32}) -> tensor<8xf32> {
//     %0 = stablehlo.tanh %x : tensor<8xf32> loc("step.py":7:0)
//
// becomes, by both,
//
//   func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
//     %0 = stablehlo.tanh %x : tensor<8xf32>
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_FRAGMENTS_PLAINMODULE_H
#define MESHWRIGHT_FRAGMENTS_PLAINMODULE_H

#include "mlir/IR/BuiltinOps.h"

namespace meshwright {

/// Removes meshes, shardings, and operations that only state them or move parts of
/// values, if all meshes are of one device: there, each part is the whole value.
void dropShardingsOfOneDevice(mlir::ModuleOp module);

/// Removes locations, and what only JAX reads: attributes of dialects other than
/// Shardy (`tf.aliasing_output`, `jax.buffer_donor`, `mhlo.memory_kind`, ...), and
/// calls that say in which memory a value is.
mlir::LogicalResult dropMarksOfJax(mlir::ModuleOp module);

/// Emits an error at an operation that has no form in a portable artifact: those of
/// CHLO that the import phase leaves as they are.
mlir::LogicalResult verifyIsPortable(mlir::ModuleOp module);

} // namespace meshwright

#endif
