//===- DrawSvg.cpp - A drawing as an image, or a PDF ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/Lanes.h"
#include "meshwright/Draw/WriteDrawing.h"
#include "meshwright/Schedule/RowsSvg.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace meshwright;

namespace {
class RowMaker {
public:
  RowMaker(const Drawing &drawing, SvgImage &image)
      : drawing(drawing), image(image), lowestStages(drawing.meshes.size(), -1),
        withStage(drawing.hasSeveralStages()) {
    for (const Drawing::Bar &bar : drawing.bars) {
      int32_t &lowest = lowestStages[bar.mesh];
      if (bar.stage >= 0 && !bar.isTransfer() &&
          (lowest < 0 || bar.stage < lowest))
        lowest = bar.stage;
    }
  }

  void addRows();

private:
  /// The bars of each mesh and lane, and the slots that they are in.
  struct Source {
    llvm::ArrayRef<Drawing::Bar> bars;
    Lanes lanes;
    llvm::StringRef suffix;
    std::vector<std::array<std::vector<uint32_t>, 2>> byMesh;
  };
  Source makeSource(llvm::ArrayRef<Drawing::Bar> bars, llvm::StringRef suffix);
  void addRow(const Source &source, uint32_t mesh, unsigned lane);
  SvgBox makeBox(const Drawing::Bar &bar);

  const Drawing &drawing;
  SvgImage &image;
  std::vector<int32_t> lowestStages;
  bool withStage;
};
} // namespace

SvgBox RowMaker::makeBox(const Drawing::Bar &bar) {
  const BarStyle &style = getStyle(bar.kind);
  bool isLater = bar.stage >= 0 && bar.stage != lowestStages[bar.mesh];
  std::string label = drawing.getLabel(bar);
  if (withStage && bar.stage >= 0 && !bar.isTransfer())
    label = std::to_string(bar.stage) + label;
  std::string tooltip =
      llvm::formatv("{0}, {1} to {2}", drawing.names.get(bar.name),
                    drawing.printTime(bar.start), drawing.printTime(bar.stop))
          .str();
  if (bar.microbatch >= 0)
    tooltip += llvm::formatv(", microbatch {0}", bar.microbatch);
  if (bar.bytes > 0)
    tooltip += ", " + printBytes(bar.bytes);
  return {label, tooltip, isLater ? style.later : style.colour, bar.start,
          bar.stop};
}

RowMaker::Source RowMaker::makeSource(llvm::ArrayRef<Drawing::Bar> bars,
                                      llvm::StringRef suffix) {
  Source source{bars, findLanes(bars, drawing.meshes.size()), suffix, {}};
  source.byMesh.resize(drawing.meshes.size());
  for (auto [index, bar] : llvm::enumerate(bars))
    source.byMesh[bar.mesh][Lanes::getLane(bar)].push_back(index);
  return source;
}

void RowMaker::addRow(const Source &source, uint32_t mesh, unsigned lane) {
  const std::vector<uint32_t> &ids = source.byMesh[mesh][lane];
  if (ids.empty() && lane == Lanes::kReceive)
    return;
  SvgRow &row = image.rows.emplace_back();
  row.isLow = lane == Lanes::kReceive;
  row.name = row.isLow ? "received"
                       : drawing.meshes[mesh].getLabel() + source.suffix.str();
  for (uint32_t id : ids) {
    SvgBox box = makeBox(source.bars[id]);
    box.slot = source.lanes.slot[id];
    box.slots = source.lanes.slots[id];
    row.boxes.push_back(std::move(box));
  }
}

void RowMaker::addRows() {
  std::vector<Source> sources;
  bool isBeside = !drawing.recorded.empty();
  sources.push_back(makeSource(drawing.bars, isBeside ? ", simulated" : ""));
  if (isBeside)
    sources.push_back(makeSource(drawing.recorded, ", recorded"));
  for (uint32_t mesh = 0; mesh < drawing.meshes.size(); ++mesh)
    for (const Source &source : sources)
      for (unsigned lane : {Lanes::kCompute, Lanes::kReceive})
        addRow(source, mesh, lane);
}

static std::vector<SvgLegendEntry> makeLegend(const Drawing &drawing) {
  std::array<bool, kNumItemKinds> isThere{};
  for (llvm::ArrayRef<Drawing::Bar> bars :
       {llvm::ArrayRef(drawing.bars), llvm::ArrayRef(drawing.recorded)})
    for (const Drawing::Bar &bar : bars)
      isThere[static_cast<unsigned>(bar.kind)] = true;
  std::vector<SvgLegendEntry> legend;
  for (unsigned kind = 0; kind < kNumItemKinds; ++kind)
    if (isThere[kind]) {
      const BarStyle &style = getStyle(static_cast<ItemKind>(kind));
      legend.push_back({style.text, style.colour});
    }
  legend.push_back({"idle", "#f2f2f2"});
  return legend;
}

void meshwright::printSvg(const Drawing &drawing, llvm::raw_ostream &os) {
  SvgImage image;
  image.title = drawing.title + ": " + drawing.summarize();
  image.makespan = std::max(drawing.makespan, drawing.recordedMakespan);
  RowMaker(drawing, image).addRows();
  image.legend = makeLegend(drawing);
  // Of a plan a unit is as wide as ever; seconds fill a page.
  if (drawing.inSeconds)
    image.mostUnit = 1400 / (image.makespan > 0 ? image.makespan : 1);
  double mostBars = 0;
  for (const SvgRow &row : image.rows)
    mostBars = std::max(mostBars, double(row.boxes.size()));
  if (drawing.inSeconds && image.makespan > 0)
    image.mostUnit = std::max(image.mostUnit, 24 * mostBars / image.makespan);
  printSvg(image, os);
}

llvm::Error meshwright::printPdf(const Drawing &drawing,
                                 llvm::raw_ostream &os) {
  llvm::ErrorOr<std::string> program =
      llvm::sys::findProgramByName("rsvg-convert");
  if (!program)
    return llvm::createStringError(
        "PDF is made by rsvg-convert, which is not installed; on Debian, "
        "`apt-get install librsvg2-bin`, or take --format svg");
  llvm::SmallString<128> svgPath, pdfPath, logPath;
  for (auto [path, suffix] :
       {std::make_pair(&svgPath, "svg"), std::make_pair(&pdfPath, "pdf"),
        std::make_pair(&logPath, "log")})
    if (std::error_code code =
            llvm::sys::fs::createTemporaryFile("meshwright", suffix, *path))
      return llvm::createStringError("cannot make a temporary file: " +
                                     code.message());
  llvm::FileRemover removeSvg(svgPath), removePdf(pdfPath), removeLog(logPath);
  {
    std::error_code code;
    llvm::raw_fd_ostream svg(svgPath, code);
    if (!code)
      printSvg(drawing, svg);
    svg.close();
    if (code || svg.has_error()) {
      code = code ? code : svg.error();
      svg.clear_error();
      return llvm::createStringError("cannot write a temporary file: " +
                                     code.message());
    }
  }
  std::string message;
  std::optional<llvm::StringRef> redirects[] = {"", "", logPath.str()};
  int status = llvm::sys::ExecuteAndWait(
      *program,
      {*program, "--format=pdf", "--unlimited", "--output", pdfPath, svgPath},
      std::nullopt, redirects, 0, 0, &message);
  if (status != 0) {
    if (auto log = llvm::MemoryBuffer::getFile(logPath); log && message.empty())
      message = (*log)->getBuffer().rtrim().str();
    return llvm::createStringError("rsvg-convert failed: " + message);
  }
  auto pdf = llvm::MemoryBuffer::getFile(pdfPath, /*IsText=*/false,
                                         /*RequiresNullTerminator=*/false);
  if (!pdf)
    return llvm::createStringError("cannot read what rsvg-convert wrote: " +
                                   pdf.getError().message());
  os << (*pdf)->getBuffer();
  return llvm::Error::success();
}
