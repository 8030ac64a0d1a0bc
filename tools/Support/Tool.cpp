//===- Tool.cpp -----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "Tool.h"
#include "meshwright/Files/CrashGuard.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;
using namespace meshwright;

namespace {
enum class Colours { Auto, Always, Never };
} // namespace

/// LLVM's own `--color` is no option of subcommands, and yields to the terminal.
static cl::opt<Colours> &getColours() {
  static const bool isReplaced = [] {
    if (cl::Option *other = cl::getRegisteredOptions().lookup("color"))
      other->removeArgument();
    return true;
  }();
  (void)isReplaced;
  static cl::opt<Colours> option(
      "color", cl::sub(cl::SubCommand::getAll()), cl::init(Colours::Auto),
      cl::desc("Colours in the output"),
      cl::values(clEnumValN(Colours::Auto, "auto",
                            "on terminals, unless NO_COLOR is set"),
                 clEnumValN(Colours::Always, "always", "also into files"),
                 clEnumValN(Colours::Never, "never", "none")));
  return option;
}

static bool isColourWanted(const raw_ostream &os) {
  if (getColours() != Colours::Auto)
    return getColours() == Colours::Always;
  std::optional<std::string> refusal = sys::Process::GetEnv("NO_COLOR");
  return (!refusal || refusal->empty()) && os.has_colors();
}

/// A file below the folder of a folder, or nothing.
static std::optional<std::string> findBelow(StringRef folder, StringRef path) {
  SmallString<128> file(folder);
  sys::path::append(file, path);
  if (!sys::fs::can_execute(file) && !sys::fs::exists(file))
    return std::nullopt;
  return std::string(file);
}

std::optional<PythonInstallation> meshwright::findPython() {
  if (std::optional<std::string> chosen =
          sys::Process::GetEnv("MESHWRIGHT_PYTHON"))
    return PythonInstallation{*chosen, ""};
  static int anchor;
  SmallString<128> folder(sys::fs::getMainExecutable(nullptr, &anchor));
  sys::path::remove_filename(folder);
  if (std::optional<std::string> beside = findBelow(folder, "python3"))
    return PythonInstallation{*beside, ""};
  // <checkout>/build/bin
  StringRef build = sys::path::parent_path(folder);
  StringRef checkout = sys::path::parent_path(build);
  if (findBelow(checkout, "python/meshwright/__init__.py"))
    if (std::optional<std::string> python =
            findBelow(checkout, ".venv/bin/python"))
      return PythonInstallation{*python, (checkout + "/python" +
                                          Twine(sys::EnvPathSeparator) + build +
                                          "/python")
                                             .str()};
  if (std::optional<std::string> active = sys::Process::GetEnv("VIRTUAL_ENV"))
    if (std::optional<std::string> python = findBelow(*active, "bin/python3"))
      return PythonInstallation{*python, ""};
  if (ErrorOr<std::string> python = sys::findProgramByName("python3"))
    return PythonInstallation{*python, ""};
  return std::nullopt;
}

/// What a Python prints on standard output, or nothing where it fails.
static std::optional<std::string> askPython(StringRef python, StringRef code) {
  SmallString<128> answer;
  if (sys::fs::createTemporaryFile("meshwright", "txt", answer))
    return std::nullopt;
  FileRemover remover(answer);
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(answer),
                                          StringRef("")};
  if (sys::ExecuteAndWait(python, {python, "-c", code}, std::nullopt,
                          redirects) != 0)
    return std::nullopt;
  ErrorOr<std::unique_ptr<MemoryBuffer>> text = MemoryBuffer::getFile(answer);
  if (!text)
    return std::nullopt;
  return (*text)->getBuffer().trim().str();
}

/// Whether the binary that contains this contains LLVM, too.
static bool isLLVMLinkedIn() {
  Dl_info tool, llvm;
  return dladdr(reinterpret_cast<void *>(&prepareTool), &tool) &&
         dladdr(reinterpret_cast<void *>(&sys::getProcessTriple), &llvm) &&
         tool.dli_fbase == llvm.dli_fbase;
}

static void printVersion(raw_ostream &os) {
  os << "meshwright " MESHWRIGHT_VERSION "\nLLVM " LLVM_VERSION_STRING
     << (isLLVMLinkedIn() ? ", linked in\n" : ", a shared library\n");
  std::optional<PythonInstallation> python = findPython();
  if (!python) {
    os << "no Python\n";
    return;
  }
  std::optional<std::string> jax = askPython(
      python->program, "from importlib.metadata import version as v; "
                       "print('jax', v('jax') + ', jaxlib', v('jaxlib'))");
  os << jax.value_or("no jax") << " (" << python->program << ")\n";
}

void meshwright::prepareTool() {
  (void)getColours();
  WithColor::setAutoDetectFunction(isColourWanted);
  cl::SetVersionPrinter(printVersion);
}

int meshwright::runTool(llvm::function_ref<LogicalResult()> body) {
  int code = 1;
  std::optional<std::string> crash = runGuarded([&] { code = failed(body()); });
  if (!crash)
    return code;
  sys::RunInterruptHandlers(); // Removes files that are half written.
  outs().flush();
  WithColor::error(errs())
      << "the compiler " << *crash
      << "; this is a bug in Meshwright, not in the program: please report "
         "it together with the program\n";
  std::_Exit(1); // What is left of the session cannot be destroyed.
}

void meshwright::endTool() {
#if !LLVM_ADDRESS_SANITIZER_BUILD
  outs().flush();
  errs().flush();
  if (!outs().has_error()) // Which is reported when it is taken apart.
    std::_Exit(0);
#endif
}
