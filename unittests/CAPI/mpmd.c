/*===- mpmd.c - The mpmd dialect from C -------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0                                        *|
\*===----------------------------------------------------------------------===*/

#include "meshwright/CAPI/Mpmd.h"
#include "check.h"
#include "mlir-c/BuiltinAttributes.h"
#include <string.h>

void testUserOrigin(void) {
  MlirContext context = mlirContextCreate();
  mlirDialectHandleRegisterDialect(mlirGetDialectHandle__mpmd__(), context);
  mlirContextGetOrLoadDialect(context, mlirStringRefCreateFromCString("mpmd"));
  MlirAttribute name =
      mlirStringAttrGet(context, mlirStringRefCreateFromCString("enc"));
  MlirAttribute origin = mpmdUserOriginAttrGet(context, name, 1);
  CHECK(mpmdAttributeIsAUserOriginAttr(origin));
  CHECK(!mpmdAttributeIsAUserOriginAttr(name));
  CHECK(mlirAttributeEqual(mpmdUserOriginAttrGetUserName(origin), name));
  CHECK(mpmdUserOriginAttrGetTransposeCount(origin) == 1);
  CHECK(mlirAttributeEqual(
      origin,
      mlirAttributeParseGet(context, mlirStringRefCreateFromCString(
                                         "#mpmd.user_origin<\"enc\"(1)>"))));
  mlirContextDestroy(context);
  mlirRegisterAllMpmdPassesAndPipelines();
}
