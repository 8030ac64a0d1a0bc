//===- BufferAttributes.h - What attributes say about buffers ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Attributes of function arguments and results and, until fragments become
// functions, of the entries of `arg_attrs` and `res_attrs`; and of transfers.
// Executors read them.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_BUFFERATTRIBUTES_H
#define MESHWRIGHT_DIALECT_MPMD_BUFFERATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::mpmd {

/// `i32`: the result that takes over the buffer of the argument.
inline constexpr llvm::StringLiteral kAliasingOutputAttr = "tf.aliasing_output";
/// `bool`: the buffer of the argument may be used for anything.
inline constexpr llvm::StringLiteral kBufferDonorAttr = "jax.buffer_donor";
/// Where the value is: `"device"`, `"pinned_host"` or `"unpinned_host"`.
inline constexpr llvm::StringLiteral kMemoryKindAttr = "mhlo.memory_kind";
/// The layout in memory: `"auto"`, `"default"` or text for the executor.
inline constexpr llvm::StringLiteral kLayoutModeAttr = "mhlo.layout_mode";
/// `i64`, on fragments and their functions: memory to be left to others.
inline constexpr llvm::StringLiteral kReservedHbmBytesAttr =
    "reserved_hbm_bytes";
/// Unit, on transfers: where it is in the order of its mesh counts. It starts when the
/// fragments before it have ended, so that its result takes no memory earlier.
inline constexpr llvm::StringLiteral kDelayedAttr = "mpmd.delayed";
/// `i64`, on transfers to the host: how many fragments of its mesh run before its operand's
/// memory is free, because it runs beside them.
inline constexpr llvm::StringLiteral kBesideAttr = "mpmd.beside";
/// Unit, on transfers to the host: the fragment after those that run beside it starts only
/// when its result is there.
inline constexpr llvm::StringLiteral kAwaitedAttr = "mpmd.awaited";
/// Unit, on functions: ops are in the order in which they start, and are issued in it.
inline constexpr llvm::StringLiteral kStartOrderAttr = "mpmd.start_order";

} // namespace mlir::mpmd

#endif
