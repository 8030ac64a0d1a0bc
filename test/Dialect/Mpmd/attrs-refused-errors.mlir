// RUN: not mpmd-opt %s 2>&1 | FileCheck %s --implicit-check-not="module {"

// An error that is expected says nothing of whether the attribute is read all the same.
// CHECK: attrs-refused-errors.mlir:[[@LINE+1]]:{{[0-9]+}}: error: expected '<'
func.func private @a_list_that_is_not_there() attributes {a = #mpmd.meshes_with_origins}
