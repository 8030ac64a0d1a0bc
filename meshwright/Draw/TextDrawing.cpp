//===- TextDrawing.cpp - Drawings for those who do not link MLIR ----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/TextDrawing.h"
#include "meshwright/Draw/DrawingFormat.h"
#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Files/CrashGuard.h"
#include "meshwright/Text/PlainJson.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace meshwright;

static llvm::Expected<std::string> run(const TextDrawingRequest &request) {
  llvm::Expected<DrawingFormat> format =
      request.format.empty() ? findDrawingFormat(request.path)
                             : parseDrawingFormat(request.format);
  if (!format)
    return format.takeError();
  llvm::Expected<Drawing> drawing = readDrawing(request.input);
  if (!drawing)
    return drawing.takeError();
  drawing->title = request.title;
  if (llvm::Error error = checkSize(*drawing, "the program"))
    return error;
  if (!request.recording.empty()) {
    llvm::Expected<llvm::json::Value> recording =
        parsePlainJson(request.recording);
    if (!recording)
      return recording.takeError();
    if (llvm::Error error = addRecording(*recording, std::nullopt, *drawing))
      return error;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = writeDrawing(*drawing, *format, kUsualColumns,
                                       /*withColours=*/false, os))
    return error;
  return text;
}

std::optional<std::string>
meshwright::drawText(const TextDrawingRequest &request, std::string &error) {
  std::optional<std::string> result;
  std::optional<std::string> crash = runGuarded([&] {
    llvm::Expected<std::string> text = run(request);
    if (text)
      result = std::move(*text);
    else
      error = llvm::toString(text.takeError());
  });
  if (crash)
    error = "the drawing " + *crash + "; this is a bug in Meshwright";
  return result;
}
