//===- DiagnosticId.cpp - What a diagnostic is about ----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
//
// A diagnostic with an id has it as metadata: a dictionary with the one key
// kMark, whose value is an array of the id, then names and values by turns.
//
//===----------------------------------------------------------------------===//

#include "meshwright/Text/DiagnosticId.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace meshwright;

static constexpr StringLiteral kMark = "meshwright.diagnostic";

void meshwright::identify(Diagnostic &diagnostic, StringRef id,
                          const DiagnosticArguments &arguments) {
  Builder builder(diagnostic.getLocation().getContext());
  SmallVector<Attribute> words = {builder.getStringAttr(id)};
  for (const auto &[name, value] : arguments) {
    words.push_back(builder.getStringAttr(name));
    words.push_back(builder.getStringAttr(value));
  }
  Attribute attribute = builder.getDictionaryAttr(
      builder.getNamedAttr(kMark, builder.getArrayAttr(words)));
  diagnostic.getMetadata().push_back(DiagnosticArgument(attribute));
}

InFlightDiagnostic meshwright::identify(InFlightDiagnostic &&diagnostic,
                                        StringRef id,
                                        const DiagnosticArguments &arguments) {
  if (Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic())
    identify(*underlying, id, arguments);
  return std::move(diagnostic);
}

std::optional<DiagnosticId>
meshwright::getDiagnosticId(Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata()) {
    if (argument.getKind() !=
        DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      continue;
    auto marked = dyn_cast<DictionaryAttr>(argument.getAsAttribute());
    if (!marked || !marked.getAs<ArrayAttr>(kMark))
      continue;
    auto words =
        llvm::map_to_vector(marked.getAs<ArrayAttr>(kMark), [](Attribute word) {
          return cast<StringAttr>(word).getValue();
        });
    DiagnosticId found{words.front(), {}};
    for (size_t index = 1; index < words.size(); index += 2)
      found.arguments.emplace_back(words[index], words[index + 1]);
    return found;
  }
  return std::nullopt;
}
