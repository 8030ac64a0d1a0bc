//===- MergeRemarks.cpp - What was merged, and what was not ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Merge/MergeRemarks.h"
#include "meshwright/Dialect/Mpmd/Fragments.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::mpmd;

std::string mpmd::describe(FragmentOp fragment) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isInferredFragment(fragment)) {
    os << "an inferred fragment";
  } else {
    os << "fragment [";
    llvm::interleaveComma(fragment.getOrigin().getAsRange<UserOriginAttr>(), os,
                          [&](UserOriginAttr origin) {
                            os << '"' << origin.getUserName().getValue() << '"';
                            if (int64_t count = origin.getTransposeCount())
                              os << '(' << count << ')';
                          });
    os << "]";
  }
  return text;
}

void mpmd::remarkMerged(StringRef category, FragmentOp fragment,
                        FragmentOp partner) {
  if (!fragment.getContext()->getRemarkEngine())
    return;
  remark::passed(fragment.getLoc(),
                 remark::RemarkOpts::name("merged").category(category))
      << describe(fragment) << " and " << describe(partner) << " on mesh \""
      << remark::metric("mesh", fragment.getMeshName())
      << "\" were merged into one";
}

void mpmd::remarkNotMerged(StringRef category, FragmentOp fragment,
                           StringRef why) {
  if (!fragment.getContext()->getRemarkEngine())
    return;
  remark::missed(fragment.getLoc(),
                 remark::RemarkOpts::name("not merged").category(category))
      << describe(fragment) << " on mesh \""
      << remark::metric("mesh", fragment.getMeshName())
      << "\" is not merged: " << why;
}
