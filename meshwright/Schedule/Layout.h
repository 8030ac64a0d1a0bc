//===- Layout.h - What each stage of a model holds, as a text ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A layout lists the pieces of a model in order, with a bar between two stages:
//
//   Ett|(tt|)*2,m|L    embedding and two layers; two layers, twice; an extra
//                      prediction head; the head with the loss
//
// Parentheses group, `*n` repeats the piece, bar or group before it, commas and
// spaces mean nothing. Two bars in a row leave a stage empty.
//
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_SCHEDULE_LAYOUT_H
#define MESHWRIGHT_SCHEDULE_LAYOUT_H

#include "meshwright/Schedule/Timeline.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace meshwright {

/// The letters of the pieces of each stage. Fails, saying at which character, if
/// the text is no layout.
llvm::Expected<std::vector<std::string>> parseLayout(llvm::StringRef text);

/// Takes the actions of empty stages out of a plan for all.
void dropEmptyStages(Plan &plan, const std::vector<std::string> &stages);

/// The costs of the stages, of which each piece costs `ofPiece`.
std::vector<ActionCosts> getCosts(const std::vector<std::string> &stages,
                                  const ActionCosts &ofPiece);

} // namespace meshwright

#endif
