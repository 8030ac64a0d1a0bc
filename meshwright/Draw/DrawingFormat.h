//===- DrawingFormat.h - Drawings by the name of their form -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_DRAW_DRAWINGFORMAT_H
#define MESHWRIGHT_DRAW_DRAWINGFORMAT_H

#include "meshwright/Draw/Drawing.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace meshwright {

enum class DrawingFormat { Html, Svg, Pdf, Perfetto, Dot, Text };

struct DrawingFormatInfo {
  DrawingFormat format;
  llvm::StringLiteral name;
  llvm::StringLiteral description;
};
llvm::ArrayRef<DrawingFormatInfo> getDrawingFormats();

/// The format of a name; the error lists those that there are.
llvm::Expected<DrawingFormat> parseDrawingFormat(llvm::StringRef name);

/// The format that the ending of a file's name says; the error lists them.
llvm::Expected<DrawingFormat> findDrawingFormat(llvm::StringRef path);

/// Bars that a drawing may have.
inline constexpr size_t kMostBars = 1 << 22;

/// Fails if there are more bars than can be drawn.
llvm::Error checkSize(const Drawing &drawing, llvm::StringRef name,
                      size_t most = kMostBars);

/// Columns of text where the width of the terminal is unknown.
inline constexpr unsigned kUsualColumns = 100;

/// Writes a drawing. `columns` and `withColours` are for text.
llvm::Error writeDrawing(const Drawing &drawing, DrawingFormat format,
                         unsigned columns, bool withColours,
                         llvm::raw_ostream &os);

} // namespace meshwright

#endif
