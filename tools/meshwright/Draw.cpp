//===- Draw.cpp - meshwright draw -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "SimulateProgram.h"
#include "Support/ModuleFile.h"
#include "meshwright/Draw/DrawingFormat.h"
#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Schedule/PlanFile.h"
#include "meshwright/Text/PlainJson.h"
#include "meshwright/Text/Utf8.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace meshwright;
namespace cl = llvm::cl;
namespace json = llvm::json;

static cl::SubCommand
    subCommand("draw", "Draw the timeline of a step, as a page or an image");
static cl::opt<std::string>
    input(cl::Positional, cl::Required, cl::sub(subCommand),
          cl::desc("<a folder of `partition`, its schedule.json, or what "
                   "`simulate --json --items` or `schedule --json` prints; a "
                   "plan.csv; or - for stdin>"));
static cl::opt<std::string> output("o", cl::desc("Output file, - for stdout"),
                                   cl::value_desc("file"), cl::init("-"),
                                   cl::sub(subCommand));
namespace {
/// The values of --format.
struct FormatValues {
  template <typename Option> void apply(Option &option) const {
    for (const DrawingFormatInfo &info : getDrawingFormats())
      option.getParser().addLiteralOption(info.name, info.format,
                                          info.description);
  }
};
} // namespace

static cl::opt<DrawingFormat>
    format("format", cl::sub(subCommand),
           cl::desc("What to write (by the ending of -o, else text)"),
           FormatValues());
static cl::opt<std::string>
    recorded("recorded", cl::sub(subCommand), cl::value_desc("trace.json"),
             cl::desc("What meshwright.profile recorded of a run, to be drawn "
                      "beside the simulated one"));
static cl::opt<int64_t> run("run", cl::init(-1), cl::sub(subCommand),
                            cl::desc("Which run of the recording, from 0 (the "
                                     "last)"));
static cl::opt<std::string>
    device("device", cl::sub(subCommand), cl::value_desc("name|file.json"),
           cl::desc("Simulate the program on these devices, as `simulate` "
                    "does; without, its fragments take a unit each"));
static cl::opt<std::string>
    profile("profile", cl::sub(subCommand), cl::value_desc("file.json"),
            cl::desc("With --device: times that meshwright.profile recorded"));
static cl::list<std::string>
    costs("cost", cl::sub(subCommand), cl::value_desc("name=flops:expression"),
          cl::desc("With --device: cost of a custom call; may be repeated"));
static cl::opt<std::string> title("title", cl::sub(subCommand),
                                  cl::desc("Title (the default is the name of "
                                           "the file)"));
static cl::opt<unsigned> columns("columns", cl::init(0), cl::sub(subCommand),
                                 cl::desc("Width of the text timeline, in "
                                          "characters (the width of the "
                                          "terminal, else 100)"));

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  return std::move(*buffer);
}

static llvm::Error addPath(llvm::StringRef path, llvm::Error error) {
  return llvm::createStringError(path + ": " +
                                 llvm::toString(std::move(error)));
}

static llvm::Expected<Drawing> readCsv(llvm::StringRef text) {
  llvm::Expected<Plan> plan = parsePlan(text);
  if (!plan)
    return plan.takeError();
  llvm::Expected<Timeline> timeline = simulatePlan(*plan);
  if (!timeline)
    return timeline.takeError();
  return makeDrawing(*plan, *timeline);
}

/// A folder of `meshwright partition` has its program in a file.
static std::string findFile() {
  SmallString<128> path(input);
  if (input != "-" && llvm::sys::fs::is_directory(input))
    llvm::sys::path::append(path, "schedule.json");
  return std::string(path);
}

static llvm::Error addRecording(Drawing &drawing) {
  if (recorded.empty()) {
    if (run.getNumOccurrences() > 0)
      return llvm::createStringError("--run chooses a run of --recorded; give "
                                     "that as well");
    return llvm::Error::success();
  }
  auto buffer = readText(recorded);
  if (!buffer)
    return buffer.takeError();
  llvm::Expected<json::Value> value = parsePlainJson((*buffer)->getBuffer());
  if (!value)
    return addPath(recorded, value.takeError());
  std::optional<int64_t> chosen;
  if (run.getNumOccurrences() > 0)
    chosen = run;
  if (llvm::Error error = addRecording(*value, chosen, drawing))
    return addPath(recorded, std::move(error));
  return llvm::Error::success();
}

/// What `simulate --json --items` would print, drawn. What is wrong with the
/// program has been printed then.
static FailureOr<Drawing> simulateProgram() {
  FailureOr<Workload> workload =
      readWorkload(input, {{}, device, profile, costs, /*processes=*/1});
  if (failed(workload))
    return failure();
  llvm::Expected<Simulation> simulation =
      simulate(*workload, /*withLevels=*/true);
  if (!simulation)
    return reportError(llvm::toString(simulation.takeError()));
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(*workload, *simulation, os, /*withItems=*/true);
  llvm::Expected<Drawing> drawing = readDrawing(text);
  if (!drawing)
    return reportError(llvm::toString(drawing.takeError()));
  return std::move(*drawing);
}

static FailureOr<Drawing> readInput() {
  if (!device.empty())
    return simulateProgram();
  if (!profile.empty() || !costs.empty())
    return reportError("--profile and --cost change what --device says; give "
                       "that as well");
  std::string path = findFile();
  auto buffer = readText(path);
  if (!buffer)
    return reportError(llvm::toString(buffer.takeError()));
  StringRef text = (*buffer)->getBuffer();
  llvm::Expected<Drawing> drawing =
      StringRef(path).ends_with(".csv") ? readCsv(text) : readDrawing(text);
  if (!drawing)
    return reportError(path + ": " + llvm::toString(drawing.takeError()));
  return std::move(*drawing);
}

static FailureOr<Drawing> makeDrawing() {
  FailureOr<Drawing> drawing = readInput();
  if (failed(drawing))
    return failure();
  StringRef name = title.empty() ? StringRef(input) : StringRef(title);
  drawing->title = name == "-" ? "stdin" : name.rtrim('/').str();
  if (title.empty())
    drawing->title = llvm::sys::path::filename(drawing->title).str();
  drawing->title = toUtf8(drawing->title);
  if (llvm::Error error = checkSize(*drawing, input))
    return reportError(llvm::toString(std::move(error)));
  if (llvm::Error error = addRecording(*drawing))
    return reportError(llvm::toString(std::move(error)));
  return drawing;
}

static llvm::Expected<DrawingFormat> findFormat() {
  if (format.getNumOccurrences() > 0)
    return format;
  if (output == "-")
    return DrawingFormat::Text;
  return findDrawingFormat(output);
}

/// Next to the names and figures of each line.
static unsigned findColumns() {
  if (columns > 0)
    return columns;
  unsigned all = output == "-" ? llvm::sys::Process::StandardOutColumns() : 0;
  constexpr unsigned kBeside = 45, kLeast = 40;
  return all == 0 ? kUsualColumns
                  : std::max(kLeast, all - std::min(all, kBeside));
}

static LogicalResult runDraw() {
  llvm::Expected<DrawingFormat> chosen = findFormat();
  if (!chosen)
    return reportError(llvm::toString(chosen.takeError()));
  if (columns > 10000)
    return reportError("--columns is at most 10000, got " +
                       Twine(columns.getValue()));
  FailureOr<Drawing> drawing = makeDrawing();
  if (failed(drawing))
    return failure();
  bool withColours =
      output == "-" && llvm::WithColor(llvm::outs()).colorsEnabled();
  return writeFile(output, [&](raw_ostream &os) {
    return writeDrawing(*drawing, *chosen, findColumns(), withColours, os);
  });
}

const Command meshwright::drawCommand = {subCommand, runDraw};
