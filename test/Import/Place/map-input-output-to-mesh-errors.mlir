// RUN: split-file %s %t
// RUN: mpmd-opt %t/range.mlir -mpmd-map-input-output-to-mesh='input-assignment=1@p' -verify-diagnostics
// RUN: mpmd-opt %t/type.mlir -mpmd-map-input-output-to-mesh='output-assignment=0@p' -verify-diagnostics
// RUN: mpmd-opt %t/mesh.mlir -verify-each=false -verify-diagnostics -mpmd-map-input-output-to-mesh='input-assignment=0@"p 1#pinned_host"'
// RUN: mpmd-opt %t/called.mlir -mpmd-map-input-output-to-mesh='input-assignment=0@p' -verify-diagnostics

//--- range.mlir
// expected-error@+1 {{input index 1 of assignment "1@p" is out of range; the function has 1 inputs}}
func.func @reports_index_out_of_range(%x: tensor<7xf32>) -> tensor<7xf32>
    attributes {topology = #mpmd.topology<<"p": <["d"=7]>>>} {
  return %x : tensor<7xf32>
}

//--- mesh.mlir
// expected-error@+1 {{input 0 cannot be assigned to mesh "p 1", which is not in the topology of @reports_unknown_mesh; expected one of its meshes}}
func.func @reports_unknown_mesh(%x: tensor<7xf32>) -> tensor<7xf32>
    attributes {topology = #mpmd.topology<<"p": <["d"=7]>>>} {
  return %x : tensor<7xf32>
}

//--- type.mlir
!p = !mpmd.mesh_tensor<"p", tensor<7xf32>>
// expected-error@+1 {{output 0 cannot be assigned to mesh "p", it is not a ranked tensor but '!mpmd.mesh_tensor}}
func.func @reports_value_that_is_no_tensor(%x: !p) -> !p
    attributes {topology = #mpmd.topology<<"p": <["d"=7]>>>} {
  return %x : !p
}

//--- called.mlir
func.func @main(%x: tensor<7xf32>) -> tensor<7xf32> attributes {topology = #mpmd.topology<<"p": <["d"=7]>>>} {
  return %x : tensor<7xf32>
}
func.func @reports_call(%x: tensor<7xf32>) -> tensor<7xf32> {
  // expected-error@+1 {{names @main, whose inputs and outputs are assigned to meshes; expected that nothing in the module calls it}}
  %0 = func.call @main(%x) : (tensor<7xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}
