//===- PassDumps.h - The program after each pass, in files ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#ifndef MESHWRIGHT_INSPECTION_PASSDUMPS_H
#define MESHWRIGHT_INSPECTION_PASSDUMPS_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace meshwright {

/// Writes what passes leave into files of a folder, as MLIR's own tree of files
/// does, but whole ones, and with an error where the disk is full:
///
///   builtin_module_no-symbol-name/2_inline.mlir
///   builtin_module_no-symbol-name/func_func_main/2_0_cse.mlir
///
/// The numbers are those of the last files of the ops around, and of its own.
class PassDumps {
public:
  explicit PassDumps(std::string folder) : folder(std::move(folder)) {}

  /// Lets passes write; what is unchanged as well, if that is wanted.
  static void watch(std::shared_ptr<PassDumps> dumps, mlir::PassManager &passes,
                    bool writesUnchanged);

  /// The time that looking for changes, printing and writing took, in all threads.
  double getSeconds() const {
    return std::chrono::duration<double>(spent).count();
  }

  /// The first error; nothing was written after it. Empty without one.
  const std::string &getError() const { return error; }

private:
  class Failures;
  class Printer;
  class Watch;

  void write(mlir::Pass *pass, mlir::Operation *op, const std::string &text);

  std::string folder;
  std::mutex mutex; ///< Functions may be worked on at the same time.
  llvm::StringMap<unsigned> numFiles; ///< By folder.
  std::chrono::steady_clock::duration spent = {};
  std::string error;
};

} // namespace meshwright

#endif
