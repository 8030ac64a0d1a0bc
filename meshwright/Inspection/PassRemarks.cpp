//===- PassRemarks.cpp - What passes remark on, as diagnostics ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A diagnostic that came from a remark has three words as metadata: kMark, the
// kind, and the type.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Inspection/PassRemarks.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace meshwright;

static constexpr StringLiteral kMark = "meshwright.remark";
static constexpr StringLiteral kMissed = "Missed";

namespace {
struct Streamer : remark::detail::MLIRRemarkStreamerBase {
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    Location loc = remark.getLocation();
    InFlightDiagnostic diag = emitRemark(loc);
    for (const auto &arg : remark.getArgs())
      diag << arg.val;
    auto &metadata = diag.getUnderlyingDiagnostic()->getMetadata();
    // Strings of the context, because a diagnostic may wait for those of
    // earlier functions.
    for (StringRef word : {StringRef(kMark), remark.getCategoryName(),
                           remark.getRemarkTypeString()})
      metadata.push_back(
          DiagnosticArgument(StringAttr::get(loc.getContext(), word)));
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
  ArrayRef<DiagnosticArgument> metadata = diagnostic.getMetadata();
  auto word = [&](size_t index) {
    return cast<StringAttr>(metadata[index].getAsAttribute()).getValue();
  };
  auto isText = [](const DiagnosticArgument &argument) {
    return argument.getKind() ==
               DiagnosticArgument::DiagnosticArgumentKind::Attribute &&
           isa<StringAttr>(argument.getAsAttribute());
  };
  if (metadata.size() != 3 || !llvm::all_of(metadata, isText) ||
      word(0) != kMark)
    return std::nullopt;
  return RemarkInfo{word(1), word(2) == kMissed};
}
