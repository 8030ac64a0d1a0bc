//===- ForkLoop.cpp - Fuzzing in processes of their own -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// Takes mutations of seeds, each in a forked process with limits of time and
// memory, and keeps those that end it. It goes on after a finding, needs no
// instrumented code, and says what was found in which function how often.
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Target.h"
#include "meshwright/Files/DeepStack.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fcntl.h>
#include <map>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace meshwright;
using namespace meshwright::fuzz;

static cl::list<std::string> seedPaths(cl::Positional, cl::OneOrMore,
                                       cl::desc("<seeds or folders of them>"));
static cl::opt<unsigned> seconds("seconds", cl::init(60),
                                 cl::desc("How long to go on"));
static cl::opt<uint64_t> firstSeed("seed", cl::init(1),
                                   cl::desc("Of the first mutation"));
static cl::opt<unsigned> timeLimit("time-limit", cl::init(10),
                                   cl::desc("Seconds of processor time that an "
                                            "input may take"));
static cl::opt<unsigned> memoryLimit("memory-limit", cl::init(2048),
                                     cl::desc("MiB that an input may take"));
static cl::opt<unsigned> sizeLimit("size-limit", cl::init(100000),
                                   cl::desc("Bytes of an input"));
static cl::opt<unsigned> perFinding("keep", cl::init(3),
                                    cl::desc("How many inputs of each finding "
                                             "to keep"));
static cl::opt<std::string> findingsFolder("findings", cl::init("findings"),
                                           cl::desc("Where they go"));
static cl::opt<bool> asIs("as-is",
                          cl::desc("Take each seed once, as it is, and "
                                   "in this process if it is one"));

static std::string read(StringRef path) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer =
      MemoryBuffer::getFile(path, /*IsText=*/false,
                            /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static std::vector<std::string> readSeeds(std::vector<std::string> &paths) {
  for (const std::string &path : seedPaths) {
    std::error_code error;
    if (!sys::fs::is_directory(path)) {
      paths.push_back(path);
      continue;
    }
    for (sys::fs::recursive_directory_iterator it(path, error), end;
         it != end && !error; it.increment(error))
      if (it->type() == sys::fs::file_type::regular_file)
        paths.push_back(it->path());
  }
  llvm::sort(paths);
  std::vector<std::string> seeds;
  for (const std::string &path : paths)
    seeds.push_back(read(path));
  return seeds;
}

static void write(StringRef path, StringRef text) {
  std::error_code error;
  raw_fd_ostream(path, error) << text;
}

static void limitItself() {
  rlimit memory = {(rlim_t(memoryLimit) << 20) + 3 * rlim_t(kDeepStackSize),
                   RLIM_INFINITY};
  setrlimit(RLIMIT_AS, &memory);
  rlimit time = {timeLimit, timeLimit + 2};
  setrlimit(RLIMIT_CPU, &time);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

/// Programs that differ in a type have the same mistake.
static std::string dropTypes(StringRef text) {
  std::string result;
  unsigned depth = 0;
  for (char c : text) {
    depth += c == '<';
    if (depth == 0)
      result += c;
    depth -= depth > 0 && c == '>';
  }
  return result;
}

/// What makes two findings the same: the message of an assertion or ours, else
/// the innermost functions of the compiler.
static std::string describe(int status, StringRef errors) {
  std::string text;
  if (WIFEXITED(status))
    text = "exit code " + itostr(WEXITSTATUS(status));
  else if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
    text = "timeout";
  else
    text = std::string("signal ") + strsignal(WTERMSIG(status));
  SmallVector<StringRef> lines;
  errors.split(lines, '\n');
  unsigned numFrames = 0;
  for (StringRef line : lines) {
    if (line.contains("FINDING: ") || line.contains("Assertion") ||
        line.contains("LLVM ERROR") || line.contains("runtime error:") ||
        line.contains("ERROR: AddressSanitizer")) {
      text += " | " + dropTypes(line.take_front(250));
      if (line.contains("FINDING: "))
        return text;
    }
    line = line.ltrim();
    if (!line.consume_front("#"))
      continue;
    StringRef function = line.drop_while(isDigit).ltrim();
    if (function.consume_front("0x"))
      function = function.drop_while(isHexDigit).ltrim();
    for (StringRef part : {"mpmd::", "sdy::", "stablehlo::", "chlo::",
                           "meshwright::", "/meshwright/"})
      if (function.contains(part) && !function.contains("fuzz::") &&
          numFrames < 4) {
        ++numFrames;
        text += " < " + function.take_until([](char c) { return c == '('; })
                            .take_front(120)
                            .str();
        break;
      }
  }
  return text;
}

/// Runs one input in a process of its own, which leaves the mutation and what
/// it says in files.
static int runInChild(StringRef seed, uint64_t number, StringRef mutantPath,
                      StringRef errorPath) {
  pid_t child = fork();
  if (child == 0) {
    int errors =
        open(errorPath.str().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(errors, STDERR_FILENO);
    dup2(errors, STDOUT_FILENO);
    limitItself();
    runOnDeepStack([&] {
      std::string input = asIs ? seed.str() : mutateInput(seed, number);
      write(mutantPath, input);
      if (input.size() <= sizeLimit)
        takeInput(input);
      _exit(0);
    });
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Takes mutations of seeds\n");
  std::vector<std::string> paths;
  std::vector<std::string> seeds = readSeeds(paths);
  if (seeds.empty()) {
    errs() << "no seeds there; fuzz/seeds.py makes them\n";
    return 1;
  }
  if (asIs && seeds.size() == 1) {
    limitItself();
    runOnDeepStack([&] { takeInput(seeds.front()); });
    return 0;
  }
  sys::fs::create_directories(findingsFolder);
  (void)getContext();
  takeInput(""); // What is set up once is set up for all.
  SmallString<128> mutantPath(findingsFolder), errorPath(findingsFolder);
  sys::path::append(mutantPath, formatv("current-{0}", getpid()).str());
  sys::path::append(errorPath, formatv("errors-{0}", getpid()).str());
  std::map<std::string, unsigned> findings;
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  std::mt19937_64 random(firstSeed);
  uint64_t count = 0, numMutants = asIs ? seeds.size() : ~0ull;
  for (; count < numMutants && elapsed() < seconds; ++count) {
    size_t index = asIs ? count : random() % seeds.size();
    int status = runInChild(seeds[index], random(), mutantPath, errorPath);
    if (status == 0)
      continue;
    std::string errors = read(errorPath);
    if (StringRef(errors).contains("fuzz::mutate"))
      continue; // Our own mistake: there is no input.
    std::string what = describe(status, errors);
    unsigned &times = findings[what];
    if (times++ == 0)
      outs() << formatv("[{0} of {1:F0} s] NEW: {2}\n", count, elapsed(), what);
    if (times > perFinding)
      continue;
    SmallString<128> path(findingsFolder);
    sys::path::append(path,
                      formatv("{0:x-16}-{1}", hash_value(what), times).str());
    sys::fs::copy_file(mutantPath, path + ".input");
    write((path + ".txt").str(), paths[index] + "\n" + what + "\n" + errors);
    outs() << "  " << path << ".input from " << paths[index] << "\n";
    outs().flush();
  }
  sys::fs::remove(mutantPath);
  sys::fs::remove(errorPath);
  for (const auto &[what, times] : findings)
    outs() << formatv("{0,6} {1}\n", times, what);
  outs() << formatv("{0} inputs in {1:F0} s, {2} findings\n", count, elapsed(),
                    findings.size());
  return findings.empty() ? 0 : 1;
}
