//===- DrawingSource.cpp - Drawings of whatever a file has ----------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Draw/ReadDrawing.h"
#include "meshwright/Text/PlainJson.h"

using namespace meshwright;
namespace json = llvm::json;

/// Groups the meshes of a program's drawing by the towers of its stages.
static llvm::Expected<Drawing> withTowers(llvm::Expected<Drawing> drawing) {
  if (drawing)
    drawing->findTowers();
  return drawing;
}

/// The kind of file follows from the keys that it has.
llvm::Expected<Drawing> meshwright::readDrawing(llvm::StringRef text) {
  llvm::Expected<json::Value> value = parsePlainJson(text);
  if (!value)
    return value.takeError();
  if (const json::Object *object = value->getAsObject()) {
    if (object->get("makespan_s"))
      return withTowers(readSimulation(*value));
    if (object->get("makespan"))
      return readPlanJson(*value);
    if (object->get("fragments") && object->get("items"))
      return withTowers(readProgram(*value));
  }
  return llvm::createStringError(
      "neither a simulation (`meshwright simulate --json --items`), nor a plan "
      "(`meshwright schedule NAME --json`), nor a schedule.json");
}
