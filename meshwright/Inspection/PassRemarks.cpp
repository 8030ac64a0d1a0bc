//===- PassRemarks.cpp - What passes remark on, as diagnostics ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A diagnostic that came from a remark has the id kRemark, with the kind and the
// type as arguments.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/PassRemarks.h"
#include "meshwright/Text/DiagnosticId.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace meshwright;

static constexpr StringLiteral kRemark = "remark";
static constexpr StringLiteral kMissed = "Missed";
/// The key that MLIR gives to plain text.
static constexpr StringLiteral kText = "Remark";

namespace {
struct Streamer : remark::detail::MLIRRemarkStreamerBase {
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    InFlightDiagnostic diag = emitRemark(remark.getLocation());
    DiagnosticArguments arguments = {
        {"kind", remark.getCategoryName().str()},
        {"type", remark.getRemarkTypeString().str()}};
    for (const auto &arg : remark.getArgs()) {
      diag << arg.val;
      if (arg.key != kText)
        arguments.emplace_back(arg.key, arg.val);
    }
    identify(*diag.getUnderlyingDiagnostic(), kRemark, arguments);
  }
};
} // namespace

PassRemarks::PassRemarks(MLIRContext *context, StringRef kinds) {
  if (context->getRemarkEngine())
    return;
  // What is said of `all` counts only beside the others.
  std::string wanted = kinds.str();
  remark::RemarkCategories categories{std::nullopt, wanted, wanted, wanted,
                                      wanted};
  if (succeeded(remark::enableOptimizationRemarks(
          *context, std::make_unique<Streamer>(),
          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories)))
    this->context = context;
}

PassRemarks::~PassRemarks() {
  if (context)
    context->setRemarkEngine(nullptr);
}

std::optional<RemarkInfo> meshwright::getRemarkInfo(Diagnostic &diagnostic) {
  std::optional<DiagnosticId> found = getDiagnosticId(diagnostic);
  if (!found || found->id != kRemark)
    return std::nullopt;
  return RemarkInfo{found->arguments[0].second,
                    found->arguments[1].second == kMissed};
}
