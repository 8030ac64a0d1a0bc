//===- DrawingFormat.cpp - Drawings by the name of their form -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/DrawingFormat.h"
#include "meshwright/Draw/WriteDrawing.h"
#include "meshwright/Text/NearestName.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/Path.h"
#include <string>
#include <utility>

using namespace meshwright;
using llvm::StringRef;

static constexpr DrawingFormatInfo kFormats[] = {
    {DrawingFormat::Html, "html", "an interactive page in one file"},
    {DrawingFormat::Svg, "svg", "an image"},
    {DrawingFormat::Pdf, "pdf", "the same, by rsvg-convert"},
    {DrawingFormat::Perfetto, "perfetto",
     "a trace for Perfetto and chrome://tracing"},
    {DrawingFormat::Dot, "dot", "the graph of the fragments, for Graphviz"},
    {DrawingFormat::Text, "text", "a line for each mesh, and tables"}};

llvm::ArrayRef<DrawingFormatInfo> meshwright::getDrawingFormats() {
  return kFormats;
}

llvm::Expected<DrawingFormat> meshwright::parseDrawingFormat(StringRef name) {
  for (const DrawingFormatInfo &info : kFormats)
    if (info.name == name)
      return info.format;
  auto known = llvm::map_to_vector(kFormats, [](const DrawingFormatInfo &info) {
    return StringRef(info.name);
  });
  return llvm::createStringError("unknown format \"" + name + "\", " +
                                 listKnown(name, known));
}

llvm::Expected<DrawingFormat> meshwright::findDrawingFormat(StringRef path) {
  static constexpr std::pair<llvm::StringLiteral, DrawingFormat> kEndings[] = {
      {".html", DrawingFormat::Html},     {".htm", DrawingFormat::Html},
      {".svg", DrawingFormat::Svg},       {".pdf", DrawingFormat::Pdf},
      {".json", DrawingFormat::Perfetto}, {".dot", DrawingFormat::Dot},
      {".gv", DrawingFormat::Dot},        {".txt", DrawingFormat::Text}};
  std::string name = llvm::sys::path::filename(path).lower();
  for (const auto &[ending, format] : kEndings)
    if (StringRef(name).ends_with(ending))
      return format;
  return llvm::createStringError(
      "the name " + path +
      " does not give a format; end it in .html, .svg, .pdf, .json "
      "(Perfetto), .dot or .txt, or give --format");
}

llvm::Error meshwright::checkSize(const Drawing &drawing, StringRef name,
                                  size_t most) {
  if (drawing.bars.size() <= most)
    return llvm::Error::success();
  return llvm::createStringError(
      name + " has " + llvm::Twine(drawing.bars.size()) +
      " items, too many to be drawn; at most " + llvm::Twine(most) +
      " are: take fewer microbatches or meshes");
}

llvm::Error meshwright::writeDrawing(const Drawing &drawing,
                                     DrawingFormat format, unsigned columns,
                                     bool withColours, llvm::raw_ostream &os) {
  switch (format) {
  case DrawingFormat::Html:
    return printPage(drawing, os);
  case DrawingFormat::Pdf:
    return printPdf(drawing, os);
  case DrawingFormat::Svg:
    printSvg(drawing, os);
    break;
  case DrawingFormat::Perfetto:
    printTrace(drawing, os);
    break;
  case DrawingFormat::Dot:
    printDot(drawing, os);
    break;
  case DrawingFormat::Text:
    printText(drawing, columns, withColours, os);
    break;
  }
  return llvm::Error::success();
}
