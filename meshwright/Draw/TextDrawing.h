//===- TextDrawing.h - Drawings for those who do not link MLIR --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_TEXTDRAWING_H
#define MESHWRIGHT_DRAW_TEXTDRAWING_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright {

struct TextDrawingRequest {
  /// What `meshwright simulate --json --items` prints, or a schedule.json.
  std::string_view input;
  std::string format; ///< A name; empty for what the ending of `path` says.
  std::string path;   ///< Of the file to be written.
  std::string title;
  std::string_view recording; ///< A recorded run, as JSON; empty if none.
};

/// The bytes of a file; none and an error if it cannot be drawn.
std::optional<std::string> drawText(const TextDrawingRequest &request,
                                    std::string &error);

} // namespace meshwright

#endif
