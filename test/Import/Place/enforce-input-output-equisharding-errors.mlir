// RUN: split-file %s %t
// RUN: mpmd-opt %t/input.mlir -mpmd-enforce-input-output-equisharding=constraints=2:0 -verify-diagnostics
// RUN: mpmd-opt %t/output.mlir -mpmd-enforce-input-output-equisharding=constraints=0:1 -verify-diagnostics
// RUN: mpmd-opt %t/types.mlir -mpmd-enforce-input-output-equisharding=constraints=0:0 -verify-diagnostics
// RUN: mpmd-opt %t/transfers.mlir -mpmd-enforce-input-output-equisharding=constraints=0:1,1:0,2:0 -verify-diagnostics

//--- input.mlir
!p = !mpmd.mesh_tensor<"p", tensor<4xf32>>
// expected-error@+1 {{constraint 2:0 names an input index out of range; the function has 1 arguments}}
func.func @reports_input_out_of_range(%x: !p) -> !p attributes {topology = #mpmd.topology<<"p": <["d"=2]>>>} {
  return %x : !p
}

//--- output.mlir
!p = !mpmd.mesh_tensor<"p", tensor<4xf32>>
// expected-error@+1 {{constraint 0:1 names an output index out of range; the function has 1 results}}
func.func @reports_output_out_of_range(%x: !p) -> !p attributes {topology = #mpmd.topology<<"p": <["d"=2]>>>} {
  return %x : !p
}

//--- types.mlir
!p = !mpmd.mesh_tensor<"p", tensor<4xf32>>
!q = !mpmd.mesh_tensor<"q", tensor<5xf32>>
// expected-error@+1 {{constraint 0:0 needs two mesh tensors of one global type, but the input is}}
func.func @reports_types_that_no_transfer_connects(%x: !p, %y: !q) -> !q attributes {topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>} {
  return %y : !q
}

//--- transfers.mlir
!p = !mpmd.mesh_tensor<"p", tensor<4xf32>>
!q = !mpmd.mesh_tensor<"q", tensor<4xf32>>
!r = !mpmd.mesh_tensor<"r", tensor<4xf32>>
!other = !mpmd.mesh_tensor<"p", tensor<4xf32>, memory_kind="unpinned_host">
func.func @reports_transfers_that_cannot_be(%x: !p, %y: !r, %z: !other,
    // expected-error@+1 {{Transfers from host with attributes are not allowed}}
    %h: !q {mhlo.memory_kind = "pinned_host"},
    // expected-error@+1 {{mesh "r" is not in the topology of function @reports_transfers_that_cannot_be}}
    %q: !q) -> (!q, !q) attributes {topology = #mpmd.topology<<"p": <["d"=2]>>, <"q": <["d"=2]>>>} {
  return %q, %h : !q, !q
}
