//===- SignatureShardings.cpp - All shardings of a function ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#include "meshwright/Dialect/Sdy/SignatureShardings.h"

using namespace mlir;
using namespace mlir::sdy;

void sdy::updateSignatureShardings(
    func::FuncOp func,
    llvm::function_ref<TensorShardingAttr(const SignatureEntry &)> update) {
  auto name = StringAttr::get(func.getContext(), kShardingAttr);
  auto none = DictionaryAttr::get(func.getContext());
  auto updateList = [&](ArrayAttr list, TypeRange types, bool isResult,
                        auto setAll) {
    SmallVector<DictionaryAttr> entries;
    bool isAnyChanged = false;
    for (auto [index, type] : llvm::enumerate(types)) {
      auto entry = list ? cast<DictionaryAttr>(list[index]) : none;
      auto old = entry.getAs<TensorShardingAttr>(name);
      TensorShardingAttr sharding =
          update({isResult, static_cast<unsigned>(index), type, old});
      if (sharding != old) {
        isAnyChanged = true;
        NamedAttrList changed(entry);
        if (sharding)
          changed.set(name, sharding);
        else
          changed.erase(name);
        entry = changed.getDictionary(func.getContext());
      }
      entries.push_back(entry);
    }
    if (isAnyChanged)
      setAll(entries);
  };
  updateList(
      func.getArgAttrsAttr(), func.getArgumentTypes(), /*isResult=*/false,
      [&](ArrayRef<DictionaryAttr> entries) { func.setAllArgAttrs(entries); });
  updateList(func.getResAttrsAttr(), func.getResultTypes(), /*isResult=*/true,
             [&](ArrayRef<DictionaryAttr> entries) {
               func.setAllResultAttrs(entries);
             });
}
