//===- Overlap.cpp - What attributes say about overlapped pairs -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Fragments/Overlap.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace mlir::mpmd;

ArrayAttr mpmd::getOverlappedAttr(MLIRContext *context,
                                  ArrayRef<OverlappedPart> parts) {
  Builder builder(context);
  return builder.getArrayAttr(
      llvm::map_to_vector(parts, [&](const OverlappedPart &part) -> Attribute {
        NamedAttrList entry;
        entry.set(kPartOriginKey, part.origin);
        if (part.stage)
          entry.set(kPartStageKey, part.stage);
        entry.set(kPartResultsKey, builder.getI64IntegerAttr(part.numResults));
        return entry.getDictionary(context);
      }));
}

static std::optional<OverlappedPart> readPart(Attribute attr) {
  auto entry = dyn_cast<DictionaryAttr>(attr);
  if (!entry)
    return std::nullopt;
  auto origin = entry.getAs<ArrayAttr>(kPartOriginKey);
  auto results = entry.getAs<IntegerAttr>(kPartResultsKey);
  if (!origin || !llvm::all_of(origin, llvm::IsaPred<UserOriginAttr>) ||
      !results || !results.getType().isSignlessInteger(64) ||
      results.getInt() < 0)
    return std::nullopt;
  return OverlappedPart{origin, entry.getAs<IntegerAttr>(kPartStageKey),
                        static_cast<unsigned>(results.getInt())};
}

FailureOr<SmallVector<OverlappedPart>> mpmd::getOverlappedParts(Operation *op) {
  SmallVector<OverlappedPart> parts;
  Attribute attr = op->getAttr(kOverlappedAttr);
  if (!attr)
    return parts;
  uint64_t numResults = 0;
  if (auto list = dyn_cast<ArrayAttr>(attr))
    for (Attribute entry : list)
      if (std::optional<OverlappedPart> part = readPart(entry)) {
        numResults += part->numResults;
        parts.push_back(*part);
      }
  if (parts.size() != 2 || numResults != op->getNumResults())
    return op->emitError()
           << kOverlappedAttr << " is " << attr
           << "; expected two dictionaries, each of the origin and the number "
              "of results of a part, together "
           << op->getNumResults();
  return parts;
}
