//===- RegularQueue.h - Whether microbatches go on alike --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// What is partitioned for a few microbatches says of the others only what one computation
// takes and gives for them. They go on as the few begin if a queue is regular:
//
//   slices of one array at [0:4], [4:8], [8:12], ..     // regular
//   the same array, or arguments 3, 5, 7, ..            // regular
//   nine times %x, then ten times %y                    // not regular
//
// So is one that is added up from the first value to the last. The first value may be of
// another number than the others have: a sum begins with two values.
//
// Cost: linear in the values, each of which is followed for a few operations; quadratic
// where they are added up or concatenated.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_PARTITIONER_REPEAT_REGULARQUEUE_H
#define MESHWRIGHT_PARTITIONER_REPEAT_REGULARQUEUE_H

#include "mlir/IR/ValueRange.h"

namespace meshwright {

/// Whether values are made by the same operations of the same values, but for bounds of
/// slices and numbers of arguments and results, which grow by the same each time.
bool areMadeAlike(mlir::ValueRange values);

/// Whether the same operations read all values, as operands whose numbers, or places in
/// what is concatenated, grow by the same each time, or one after the other in a chain of
/// one kind of operation; directly or through operations with one operand. No slice may
/// then take some of them.
bool areReadAlike(mlir::ValueRange values);

} // namespace meshwright

#endif
