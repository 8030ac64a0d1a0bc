//===- NearestName.h - "known are ...; did you mean ...?" -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_TEXT_NEARESTNAME_H
#define MESHWRIGHT_TEXT_NEARESTNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace meshwright {

/// The known name that is nearest to an unknown one, if it is close enough to
/// be a typing error; else empty.
llvm::StringRef findNearest(llvm::StringRef unknown,
                            llvm::ArrayRef<llvm::StringRef> known);

/// The end of a message about an unknown name: lists the known ones, in the
/// order given, and the nearest if it is close enough to be a typing error: first
/// if there are many.
std::string listKnown(llvm::StringRef unknown,
                      llvm::ArrayRef<llvm::StringRef> known);

} // namespace meshwright

#endif
