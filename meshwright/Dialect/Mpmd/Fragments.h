//===- Fragments.h - What attributes say about fragments --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DIALECT_MPMD_FRAGMENTS_H
#define MESHWRIGHT_DIALECT_MPMD_FRAGMENTS_H

#include "meshwright/Dialect/Mpmd/MpmdDialect.h"
#include "llvm/ADT/BitVector.h"
#include <optional>

namespace mlir::mpmd {

/// The microbatch of a call or fragment, `ui32`.
inline constexpr StringLiteral kCallCounterAttr = "call_counter";
/// Of a function: calls of its fragments keep their counters when it is lowered.
inline constexpr StringLiteral kKeepsCountersAttr = "mpmd.keeps_call_counters";
/// The iteration an op was unrolled from, `ui32`.
inline constexpr StringLiteral kUnrollCounterAttr = "unroll_counter";
/// The passes that made an inferred fragment, strings.
inline constexpr StringLiteral kInferredByAttr = "mpmd.inferred_by";
/// Marks a rematerialized forward computation.
inline constexpr StringLiteral kRematAttr = "remat";
/// Mark the halves of a split fragment: with and without transferred results.
inline constexpr StringLiteral kSplitKeepTransferredAttr =
    "split_keep_transferred";
inline constexpr StringLiteral kSplitDropTransferredAttr =
    "split_drop_transferred";
/// Operands from here on only order the fragment after others.
inline constexpr StringLiteral kControlOperandStartIdxAttr =
    "mpmd.control_operand_start_idx";
/// Attributes of operands and results, as functions have them.
inline constexpr StringLiteral kArgAttrsAttr = "arg_attrs";
inline constexpr StringLiteral kResAttrsAttr = "res_attrs";

/// A user fragment has an origin, an inferred one has none.
bool isUserFragment(FragmentOp fragment);
bool isInferredFragment(FragmentOp fragment);
/// All origins have the transpose count 0, respectively 1.
bool isForwardFragment(FragmentOp fragment);
bool isBackwardFragment(FragmentOp fragment);
/// A user fragment with a call counter that is forward or backward.
bool isSchedulingUnit(FragmentOp fragment);

/// The transpose count that all origins have; none if they differ or there are
/// no origins.
std::optional<int64_t> getSingleTransposeCount(FragmentOp fragment);
/// The largest transpose count; none if there are no origins.
std::optional<int64_t> getMaxTransposeCount(FragmentOp fragment);
/// The single count, or the largest if the fragment is rematerialized.
std::optional<int64_t> getStageTransposeCount(FragmentOp fragment);

/// The call counter of an op; none if it is absent or not `ui32`.
std::optional<uint32_t> getCallCounter(Operation *op);
void setCallCounter(Operation *op, uint32_t counter);

/// Stages are consistent if equal or one is undefined.
bool hasConsistentStages(FragmentOp a, FragmentOp b);

/// Whether no fragment of its mesh runs between `first` and `second`, which
/// are in one block in this order.
bool isExecutedImmediatelyAfter(FragmentOp first, FragmentOp second);

/// No operands, one result, no effects: cheap to repeat wherever it is needed.
bool isNegligibleOp(Operation *op);

void setInferredBy(Operation *op, ArrayRef<StringRef> passes);

/// The entry of `arg_attrs` or `res_attrs`; null if the list is absent or
/// short.
DictionaryAttr getArgAttrs(Operation *op, unsigned index);
DictionaryAttr getResAttrs(Operation *op, unsigned index);
/// Sets one attribute of an entry. Makes the list, of `size` entries, if it is
/// absent; a null value removes.
void setArgAttr(Operation *op, unsigned index, unsigned size, StringRef name,
                Attribute value);
void setResAttr(Operation *op, unsigned index, unsigned size, StringRef name,
                Attribute value);

/// DEPARTURE(moved-entries): Takes the entries of operands, or of results, that
/// go out of the list, if there is one. `dropped` has a bit for each that there
/// was; entries after those belong to none, and go as well. What operands are
/// aliased with is renumbered.
void dropArgAttrs(Operation *op, const BitVector &dropped);
void dropResAttrs(Operation *op, const BitVector &dropped);

/// An entry of an operand, with the new number of the result that it aliases;
/// without the alias if there is no such result any more.
DictionaryAttr
renumberAlias(DictionaryAttr entry,
              function_ref<std::optional<unsigned>(uint64_t)> getNewNumber);

} // namespace mlir::mpmd

#endif
