//===- PassDumps.cpp - The program after each pass, in files --------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/PassDumps.h"
#include "meshwright/Inspection/ProgramState.h"
#include "meshwright/Text/WholeFile.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace meshwright;

/// Adds the time that it lives to that of the dumps.
class PassDumps::Watch {
public:
  explicit Watch(PassDumps &dumps) : dumps(dumps) {}
  ~Watch() {
    auto taken = std::chrono::steady_clock::now() - begin;
    std::lock_guard<std::mutex> lock(dumps.mutex);
    dumps.spent += taken;
  }

private:
  PassDumps &dumps;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

class PassDumps::Printer : public PassManager::IRPrinterConfig {
public:
  Printer(std::shared_ptr<PassDumps> dumps, bool writesUnchanged)
      : IRPrinterConfig(/*printModuleScope=*/false,
                        /*printAfterOnlyOnChange=*/false),
        dumps(std::move(dumps)), writesUnchanged(writesUnchanged) {}

  void printBeforeIfEnabled(Pass *pass, Operation *op,
                            PrintCallbackFn) override {
    if (writesUnchanged)
      return;
    Watch watch(*dumps);
    llvm::hash_code state = hashState(op);
    std::lock_guard<std::mutex> lock(mutex);
    before.insert_or_assign(pass, state);
  }
  void printAfterIfEnabled(Pass *pass, Operation *op,
                           PrintCallbackFn print) override {
    Watch watch(*dumps);
    if (!writesUnchanged && !isChanged(pass, op))
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    print(os);
    dumps->write(pass, op, text);
  }
  /// What a pass that fails leaves is written in any case.
  void forgetState(Pass *pass) {
    std::lock_guard<std::mutex> lock(mutex);
    before.erase(pass);
  }

private:
  bool isChanged(Pass *pass, Operation *op) {
    llvm::hash_code state = hashState(op);
    std::lock_guard<std::mutex> lock(mutex);
    auto found = before.find(pass);
    return found == before.end() || found->second != state;
  }

  std::shared_ptr<PassDumps> dumps;
  bool writesUnchanged;
  std::mutex mutex; ///< Each thread has passes of its own.
  llvm::DenseMap<Pass *, llvm::hash_code> before;
};

/// Tells the printer of passes that have failed, for which it is asked to print as for
/// others.
class PassDumps::Failures : public PassInstrumentation {
public:
  explicit Failures(Printer &printer) : printer(printer) {}

  void runAfterPassFailed(Pass *pass, Operation *) override {
    printer.forgetState(pass);
  }

private:
  Printer &printer;
};

void PassDumps::watch(std::shared_ptr<PassDumps> dumps, PassManager &passes,
                      bool writesUnchanged) {
  auto printer = std::make_unique<Printer>(std::move(dumps), writesUnchanged);
  auto failures = std::make_unique<Failures>(*printer);
  passes.enableIRPrinting(std::move(printer));
  // After a pass, those that were added last are called first.
  passes.addInstrumentation(std::move(failures));
}

/// The folder of an op; a name may hold anything.
static std::string getFolderName(Operation *op) {
  StringAttr symbol =
      op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  std::string name = op->getName().getStringRef().str() + "_" +
                     (symbol ? symbol.str() : "no-symbol-name");
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_' && c != '-')
      c = '_';
  return name.substr(0, 200); // Of the 255 that most file systems allow.
}

void PassDumps::write(Pass *pass, Operation *op, const std::string &text) {
  SmallVector<Operation *> around;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    around.push_back(parent);
  std::lock_guard<std::mutex> lock(mutex);
  if (!error.empty())
    return;
  SmallString<128> path(folder);
  std::string name;
  for (Operation *parent : llvm::reverse(around)) {
    llvm::sys::path::append(path, getFolderName(parent));
    unsigned count = numFiles.lookup(path);
    name += std::to_string(count == 0 ? 0 : count - 1) + "_";
  }
  llvm::sys::path::append(path, getFolderName(op));
  if (std::error_code code = llvm::sys::fs::create_directories(path)) {
    error = (path + ": cannot be made: " + code.message()).str();
    return;
  }
  StringRef flag = pass->getArgument();
  name += std::to_string(numFiles[path]++) + "_" +
          (flag.empty() ? pass->getName() : flag).str() + ".mlir";
  llvm::sys::path::append(path, name);
  if (llvm::Error failed = writeWholeText(path, text))
    error = llvm::toString(std::move(failed));
}
