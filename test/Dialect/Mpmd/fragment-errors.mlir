// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

func.func @origin_is_required() {
  // expected-error@+1 {{expected ','}}
  mpmd.fragment<mesh="m1"> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @nothing_after_out_shardings() {
  // expected-error@+1 {{expected '>'}}
  mpmd.fragment<mesh="m1", origin=[], out_shardings=[],> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @origin_comes_after_mesh() {
  // expected-error@+1 {{expected 'mesh'}}
  mpmd.fragment<origin=[], mesh="m1"> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @shardings_come_after_stage() {
  // expected-error@+1 {{expected '>'}}
  mpmd.fragment<mesh="m1", origin=[], in_shardings=[], stage=1> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @in_shardings_come_before_out_shardings() {
  // expected-error@+1 {{expected '>'}}
  mpmd.fragment<mesh="m1", origin=[], out_shardings=[], in_shardings=[]> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @parts_are_separated_by_commas() {
  // expected-error@+1 {{expected '>'}}
  mpmd.fragment<mesh="m1", origin=[] stage=1> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @only_one_trailing_comma() {
  // expected-error@+1 {{expected '>'}}
  mpmd.fragment<mesh="m1", origin=[],,> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @stage_is_i64() {
  // expected-error@+1 {{attribute 'stage_id' failed to satisfy constraint: 64-bit signless integer attribute}}
  mpmd.fragment<mesh="m1", origin=[], stage=1 : i32> () () { mpmd.return } : () -> ()
  return
}

// -----

func.func @shardings_are_checked_in_the_dictionary_too() {
  // expected-error@+1 {{attribute 'in_shardings' failed to satisfy constraint: one tensor sharding per value}}
  mpmd.fragment<mesh="m1", origin=[]> () {in_shardings = 1 : i32} () { mpmd.return } : () -> ()
  return
}

// -----

func.func @terminator_is_required() {
  // expected-error@+1 {{region with 1 blocks}}
  mpmd.fragment<mesh="m1", origin=[]> () () { } : () -> ()
  return
}

// -----

func.func @parent_is_function_or_loop() {
  mpmd.named_computation<"f"> () () {
    // expected-error@+1 {{'mpmd.fragment' op expects parent op to be one of 'func.func, mpmd.for'}}
    mpmd.fragment<mesh="m1", origin=[]> () () { mpmd.return } : () -> ()
    mpmd.return
  } : () -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @operands_are_mesh_tensors_or_tokens(%x: tensor<4xf32>) {
  // expected-error@+1 {{operand #0 must be variadic of}}
  mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return } : (tensor<4xf32>) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @reads_no_outer_value(%x: !m1, %y: tensor<4xf32>) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-note@+1 {{required by region isolation constraints}}
  "mpmd.fragment"(%x) <{mesh_name = "m1", origin = []}> ({
  ^bb0(%a: tensor<4xf32>):
    // expected-error@+1 {{using value defined outside the region}}
    %0 = "stablehlo.add"(%a, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "mpmd.return"() : () -> ()
  }) : (!m1) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c1_number_of_arguments(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}number of body arguments and operands must match: 0 vs 1}}
  mpmd.fragment<mesh="m1", origin=[]> (%x) () { mpmd.return } : (!m1) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c1_number_of_results(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}number of returned values and results must match: 1 vs 2}}
  %0:2 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (!m1) -> (!m1, !m1)
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c2_topology_is_missing(%x: !m1) {
  // expected-error-re@+1 {{{{^}}mesh "m1" cannot be looked up without a `topology` attribute on function @c2_topology_is_missing}}
  mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return } : (!m1) -> ()
  return
}

// -----

!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @c2_mesh_is_missing(%x: !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}mesh "m2" is not in the topology of function @c2_mesh_is_missing}}
  mpmd.fragment<mesh="m2", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return } : (!m2) -> ()
  return
}

// -----

func.func @c3_token_is_no_tensor_inside(%x: !stablehlo.token) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}operand #0 has type '!stablehlo.token' outside but 'tensor<4xf32>' inside}}
  mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return } : (!stablehlo.token) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @c4_operand_on_another_mesh(%x: !m1, %y: !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}operand #1 is on mesh "m2", but the fragment's mesh name is "m1"}}
  mpmd.fragment<mesh="m1", origin=[]> (%x, %y) (%a: tensor<4xf32>, %b: tensor<4xf32>) { mpmd.return } : (!m1, !m2) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @c4_result_on_another_mesh(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}result #0 is on mesh "m2", but the fragment's mesh name is "m1"}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (!m1) -> !m2
  return
}

// -----

!split = !mpmd.mesh_tensor<"m1", tensor<3xf32>, sharding=<@mesh, [{"x"}]>>
func.func @c5_dimension_is_not_divisible(%x: !split) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{'mpmd.fragment' op dim 0 with size 3 is not divisible by its sharded size 2}}
  mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<3xf32>) { mpmd.return } : (!split) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!split = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"y"}]>>
func.func @c5_axis_is_unknown(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+1 {{'mpmd.fragment' op unknown axis name: "y"}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (!m1) -> !split
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @c6_argument_has_another_type(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}operand #0 must have type 'tensor<4xf32>' inside, the global tensor type of its mesh tensor {{.*}} but has 'tensor<2xf32>'}}
  mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<2xf32>) { mpmd.return } : (!m1) -> ()
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m1_int = !mpmd.mesh_tensor<"m1", tensor<4xi32>>
func.func @c6_returned_value_has_another_type(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}result #0 must have type 'tensor<4xi32>' inside, the global tensor type of its mesh tensor {{.*}} but has 'tensor<4xf32>'}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (!m1) -> !m1_int
  return
}

// -----

// An op stops at its first error, and operands come before results.
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
func.func @reports_one_error_per_op(%x: !m2) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>} {
  // expected-error-re@+1 {{{{^}}operand #0 is on mesh "m2"}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { mpmd.return %a : tensor<4xf32> } : (!m2) -> !m2
  return
}

// -----

!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
func.func @ends_in_mpmd_return(%x: !m1) attributes {topology = #mpmd.topology<<"m1": <["x"=2]>>>} {
  // expected-error@+2 {{'mpmd.fragment' op expects regions to end with 'mpmd.return', found 'sdy.return'}}
  // expected-note@+1 {{the absence of terminator implies 'mpmd.return'}}
  %0 = mpmd.fragment<mesh="m1", origin=[]> (%x) (%a: tensor<4xf32>) { sdy.return %a : tensor<4xf32> } : (!m1) -> !m1
  return
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @call_counter_is_ui32() attributes {topology = #topology} {
  // What is no integer is no counter.
  mpmd.fragment<mesh="m1", origin=["f"]> () {call_counter = "1"} () {
    mpmd.return
  } : () -> ()
  // expected-error@+1 {{`call_counter` has type 'i32', but a call counter must be a ui32; write it as in `call_counter = 0 : ui32`}}
  mpmd.fragment<mesh="m1", origin=["f"]> () {call_counter = 1 : i32} () {
    mpmd.return
  } : () -> ()
  return
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @c8_arg_attrs_is_no_list() attributes {topology = #topology} {
  // expected-error@+1 {{`arg_attrs` must be a list of dictionaries, as in `arg_attrs = [{}]`, but is {a}}}
  mpmd.fragment<mesh="m1", origin=["f"]> () {arg_attrs = {a}} () {
    mpmd.return
  } : () -> ()
  return
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @c8_res_attrs_has_numbers() attributes {topology = #topology} {
  // expected-error@+1 {{`res_attrs` must be a list of dictionaries, as in `res_attrs = [{}]`, but is [{}, 1]}}
  mpmd.fragment<mesh="m1", origin=["f"]> () {res_attrs = [{}, 1]} () {
    mpmd.return
  } : () -> ()
  return
}

// -----

#topology = #mpmd.topology<<"m1": <["x"=2]>>>

func.func @c8_inferred_by_is_text() attributes {topology = #topology} {
  // expected-error@+1 {{`mpmd.inferred_by` must be a list of names of passes, as in `mpmd.inferred_by = ["uniquify"]`, but is "uniquify"}}
  mpmd.fragment<mesh="m1", origin=[]> () {mpmd.inferred_by = "uniquify"} () {
    mpmd.return
  } : () -> ()
  return
}
