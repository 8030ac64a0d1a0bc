// RUN: mpmd-opt %s -mpmd-report-placement -verify-diagnostics -split-input-file

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

func.func @names_an_input_that_is_read_elsewhere(%w0: !a loc("w[0]"), %w1: !a loc("w[1]")) -> (!a, !b) attributes {topology = #topology} {
  %t = mpmd.transfer %w1 : (!a) -> !b
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%t) (%x: !t) {
    mpmd.return %x : !t
  } : (!b) -> !b
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0) (%x: !t) {
    mpmd.return %x : !t
  } : (!a) -> !a
  // expected-remark@+1 {{an operation without a name brings inputs to mesh "a", on which no named computation reads them: w[1] (16384 bytes, read by "g" on mesh "b"); together 16384 bytes in each step}}
  %r = mpmd.fragment<mesh="a", origin=[]> (%w0, %w1, %f) (%x: !t, %y: !t, %z: !t) {
    %s = stablehlo.add %x, %y : !t
    mpmd.return %s : !t
  } : (!a, !a, !a) -> !a
  return %r, %g : !a, !b
}

// -----

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

func.func @looks_into_calls(%w: !a) -> !b attributes {topology = #topology} {
  %t = mpmd.transfer %w : (!a) -> !b
  %c = mpmd.call @f(%t) : (!b) -> !b
  // expected-remark@+1 {{argument 0 (16384 bytes, read by "g" on mesh "b")}}
  %r = mpmd.fragment<mesh="a", origin=[]> (%w) (%x: !t) {
    mpmd.return %x : !t
  } : (!a) -> !a
  return %c : !b
}
func.func private @f(%w: !b) -> !b attributes {topology = #topology} {
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%w) (%x: !t) {
    mpmd.return %x : !t
  } : (!b) -> !b
  return %g : !b
}

// -----

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// Moments that one operation reads, on the mesh of one: the gradient of the other is
// sent there, and the update back.
func.func @names_state_that_is_away(%w0: !a, %w1: !b, %m0: !a loc("m[0]"), %m1: !a loc("m[1]")) -> (!a, !b, !a, !a) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0) (%x: !t) {
    mpmd.return %x : !t
  } : (!a) -> !a
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%w1) (%x: !t) {
    mpmd.return %x : !t
  } : (!b) -> !b
  %t = mpmd.transfer %g : (!b) -> !a
  // expected-remark@+1 {{mesh "a" holds 16384 bytes of state that no named computation reads, and what updates it is on other meshes: m[1] (16384 bytes). Write the operations}}
  %r:2 = mpmd.fragment<mesh="a", origin=[]> (%m0, %m1, %f, %t) (%x: !t, %y: !t, %g0: !t, %g1: !t) {
    %s0 = stablehlo.add %x, %g0 : !t
    %s1 = stablehlo.add %y, %g1 : !t
    mpmd.return %s0, %s1 : !t, !t
  } : (!a, !a, !a, !a) -> (!a, !a)
  %u = mpmd.transfer %r#1 : (!a) -> !b
  return %f, %u, %r#0, %r#1 : !a, !b, !a, !a
}

// -----

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// What a loop over all moments gives is sent to the weight of the other mesh.
func.func @looks_through_loops(%w0: !a, %w1: !b, %m0: !a loc("m[0]"), %m1: !a loc("m[1]")) -> (!a, !b, !a, !a) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0) (%x: !t) {
    mpmd.return %x : !t
  } : (!a) -> !a
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%w1) (%x: !t) {
    mpmd.return %x : !t
  } : (!b) -> !b
  // expected-remark@+1 {{mesh "a" holds 16384 bytes of state that no named computation reads, and what updates it is on other meshes: m[1] (16384 bytes)}}
  %r:2 = mpmd.fragment<mesh="a", origin=[]> (%m0, %m1) (%x: !t, %y: !t) {
    %s:2 = stablehlo.while(%i = %x, %j = %y) : !t, !t
    cond {
      %c = stablehlo.constant dense<false> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %i, %j : !t, !t
    }
    mpmd.return %s#0, %s#1 : !t, !t
  } : (!a, !a) -> (!a, !a)
  %u0 = mpmd.fragment<mesh="a", origin=[]> (%f, %r#0) (%x: !t, %y: !t) {
    %s = stablehlo.add %x, %y : !t
    mpmd.return %s : !t
  } : (!a, !a) -> !a
  %t = mpmd.transfer %r#1 : (!a) -> !b
  %u1 = mpmd.fragment<mesh="b", origin=[]> (%g, %t) (%x: !t, %y: !t) {
    %s = stablehlo.add %x, %y : !t
    mpmd.return %s : !t
  } : (!b, !b) -> !b
  return %u0, %u1, %r#0, %r#1 : !a, !b, !a, !a
}

// -----

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// Only the optimizer of one group has moments; only its weight, which is read on
// both meshes, gets a gradient from the other one.
func.func @is_silent_where_a_leaf_is_with_its_weight(%w0: !a, %w1: !b, %m: !a, %v: !a) -> (!a, !b, !a, !a) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0) (%x: !t) {
    mpmd.return %x : !t
  } : (!a) -> !a
  %t = mpmd.transfer %w0 : (!a) -> !b
  %g:2 = mpmd.fragment<mesh="b", origin=["g"]> (%w1, %t) (%x: !t, %y: !t) {
    mpmd.return %x, %y : !t, !t
  } : (!b, !b) -> (!b, !b)
  %d = mpmd.transfer %g#1 : (!b) -> !a
  %r:3 = mpmd.fragment<mesh="a", origin=[]> (%m, %v, %d, %w0) (%x: !t, %y: !t, %z: !t, %w: !t) {
    %s = stablehlo.add %x, %z : !t
    %q = stablehlo.multiply %y, %z : !t
    %u = stablehlo.subtract %w, %s : !t
    mpmd.return %s, %q, %u : !t, !t, !t
  } : (!a, !a, !a, !a) -> (!a, !a, !a)
  return %r#2, %g#0, %r#0, %r#1 : !a, !b, !a, !a
}

// -----

!t = tensor<64x64xf32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// No stage reads these weights: nothing says where they belong, and nothing is sent.
// Both are multiplied by the same constant.
func.func @is_silent_about_what_meets_nothing(%w0: !a, %w1: !b, %m0: !a, %m1: !a) -> (!a, !b, !a, !a) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0) (%x: !t) {
    mpmd.return %x : !t
  } : (!a) -> !a
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%w1) (%x: !t) {
    mpmd.return %x : !t
  } : (!b) -> !b
  %c = mpmd.fragment<mesh="a", origin=[]> () () {
    %k = stablehlo.constant dense<0.5> : !t
    mpmd.return %k : !t
  } : () -> !a
  %t = mpmd.transfer %c : (!a) -> !b
  %s = mpmd.fragment<mesh="b", origin=[]> (%g, %t) (%x: !t, %y: !t) {
    %p = stablehlo.multiply %x, %y : !t
    mpmd.return %p : !t
  } : (!b, !b) -> !b
  %r:2 = mpmd.fragment<mesh="a", origin=[]> (%m0, %m1, %c) (%x: !t, %y: !t, %k: !t) {
    %p = stablehlo.multiply %x, %k : !t
    %q = stablehlo.multiply %y, %k : !t
    mpmd.return %p, %q : !t, !t
  } : (!a, !a, !a) -> (!a, !a)
  return %f, %s, %r#0, %r#1 : !a, !b, !a, !a
}

// -----

!t = tensor<64x64xf32>
!i = tensor<64x64xi32>
!a = !mpmd.mesh_tensor<"a", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"b", tensor<64x64xf32>>
!ai = !mpmd.mesh_tensor<"a", tensor<64x64xi32>>
!bi = !mpmd.mesh_tensor<"b", tensor<64x64xi32>>
!as = !mpmd.mesh_tensor<"a", tensor<8xf32>>
!bs = !mpmd.mesh_tensor<"b", tensor<8xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// Tokens, small things, and what two named computations read.
func.func @is_silent_about_ordinary_programs(%w0: !a, %tokens: !ai, %small: !as) -> !b attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0, %tokens, %small) (%x: !t, %y: !i, %z: tensor<8xf32>) {
    mpmd.return %x : !t
  } : (!a, !ai, !as) -> !a
  %tt = mpmd.transfer %tokens : (!ai) -> !bi
  %ts = mpmd.transfer %small : (!as) -> !bs
  %tw = mpmd.transfer %w0 : (!a) -> !b
  %m = mpmd.fragment<mesh="b", origin=[]> (%tt, %ts) (%y: !i, %z: tensor<8xf32>) {
    mpmd.return %y : !i
  } : (!bi, !bs) -> !bi
  %g = mpmd.fragment<mesh="b", origin=["g"]> (%tw) (%x: !t) {
    mpmd.return %x : !t
  } : (!b) -> !b
  return %g : !b
}

// -----

!a = !mpmd.mesh_tensor<"a", tensor<512x512xf32>>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

// Nothing is known of what a declaration reads.
func.func private @declared(!a) -> !a attributes {topology = #topology}
func.func @takes_calls_of_declarations(%w: !a) -> !a attributes {topology = #topology} {
  %0 = mpmd.call @declared(%w) : (!a) -> !a
  return %0 : !a
}

// -----

!t = tensor<2305843009213693951xf32>
!a = !mpmd.mesh_tensor<"a", !t>
!b = !mpmd.mesh_tensor<"b", !t>
#topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>

func.func @adds_up_more_than_an_integer_holds(%w0: !a, %w1: !a, %w2: !a, %w3: !a) -> (!a, !b) attributes {topology = #topology} {
  %f = mpmd.fragment<mesh="a", origin=["f"]> (%w0, %w1, %w2, %w3) (%x0: !t, %x1: !t, %x2: !t, %x3: !t) {
    mpmd.return %x0 : !t
  } : (!a, !a, !a, !a) -> !a
  %t0 = mpmd.transfer %w0 : (!a) -> !b
  %t1 = mpmd.transfer %w1 : (!a) -> !b
  %t2 = mpmd.transfer %w2 : (!a) -> !b
  %t3 = mpmd.transfer %w3 : (!a) -> !b
  // expected-remark@+1 {{together 9223372036854775808 bytes in each step}}
  %r = mpmd.fragment<mesh="b", origin=[]> (%t0, %t1, %t2, %t3) (%x0: !t, %x1: !t, %x2: !t, %x3: !t) {
    mpmd.return %x0 : !t
  } : (!b, !b, !b, !b) -> !b
  return %f, %r : !a, !b
}
