// Programs at the edge of what is valid: declarations, blocks that are not one,
// nothing at all, shapes without elements or bounds, huge meshes. Seeds for all
// passes; found by hand, since mutations seldom make what is still valid.

// decl private
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @d(%x: !m1) -> !m1 attributes {topology = #topology}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// decl called
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @d(%x: !m1) -> !m1 attributes {topology = #topology}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.call @d(%x) : (!m1) -> !m1
  return %0 : !m1
}

// -----

// decl func called
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @d(%x: !m1) -> !m1 attributes {topology = #topology}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = func.call @d(%x) : (!m1) -> !m1
  return %0 : !m1
}

// -----

// decl plain
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @d(%x: tensor<4xf32>) -> tensor<4xf32>
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = func.call @d(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// decl shape
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @d(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// decl main
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @main(%x: !m1) -> !m1 attributes {topology = #topology}

// -----

// fragcall decl
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>
func.func private @d(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment_call<mesh="m1", origin=["f"]> @d(%x) : (!m1) -> !m1
  return %0 : !m1
}

// -----

// composite decl
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @d(%x: tensor<4xf32>) -> tensor<4xf32>
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = stablehlo.composite "a.b" %x {decomposition = @d} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// two blocks
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  "cf.br"() [^bb1] : () -> ()
  ^bb1: return %x : tensor<4xf32>
}

// -----

// two blocks u
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @h() attributes {topology = #topology} { "func.return"() : () -> ()
  ^bb1: "func.return"() : () -> ()
}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// two blocks m
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
  ^bb1(%y: !m1): return %y : !m1
}

// -----

// empty mpmd
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main() attributes {topology = #topology} {
  return
}

// -----

// same arg twice
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> (!m1,!m1) attributes {topology = #topology} {
  return %x, %x : !m1, !m1
}

// -----

// frag noargs
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main() attributes {topology = #topology} {
  mpmd.fragment<mesh="m1", origin=["f"]> () () {
  mpmd.return } : () -> ()
  return
}

// -----

// frag forward
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  mpmd.return %a : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// frag token
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !stablehlo.token) -> !stablehlo.token attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: !stablehlo.token) {
  mpmd.return %a : !stablehlo.token } : (!stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}

// -----

// token
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !stablehlo.token) -> !stablehlo.token attributes {topology = #topology} {
  return %x : !stablehlo.token
}

// -----

// tuple
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tuple<tensor<4xf32>>) -> tuple<tensor<4xf32>> attributes {topology = #topology} {
  return %x : tuple<tensor<4xf32>>
}

// -----

// scalar
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: i32) -> i32 attributes {topology = #topology} {
  return %x : i32
}

// -----

// dyn
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tensor<?xf32>) -> tensor<?xf32> attributes {topology = #topology} {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<?xf32>) {
  %1 = stablehlo.abs %a : tensor<?xf32>
  mpmd.return %1 : tensor<?xf32> } : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// dynfrag
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !mpmd.mesh_tensor<"m1", tensor<?xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<?xf32>> attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<?xf32>) {
  %1 = stablehlo.abs %a : tensor<?xf32>
  mpmd.return %1 : tensor<?xf32> } : (!mpmd.mesh_tensor<"m1", tensor<?xf32>>) -> !mpmd.mesh_tensor<"m1", tensor<?xf32>>
  return %0 : !mpmd.mesh_tensor<"m1", tensor<?xf32>>
}

// -----

// zero
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tensor<0xf32>) -> tensor<0xf32> attributes {topology = #topology} {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<0xf32>) {
  %1 = stablehlo.abs %a : tensor<0xf32>
  mpmd.return %1 : tensor<0xf32> } : (tensor<0xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}

// -----

// recursive
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// mutual
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = func.call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = func.call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// mutual mpmd
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.call @b(%x) : (!m1) -> !m1
  return %0 : !m1
}
func.func private @b(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
}

// -----

// no funcs
sdy.mesh @m = <["x"=2]>

// -----

// nested module
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
module @inner { func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

}
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// only nested
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
module @inner { func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

}

// -----

// private only
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func private @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// no topology
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
  mpmd.return %a : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// topo wrong type
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = "no"} {
  return %x : tensor<4xf32>
}

// -----

// mesh shape wrong
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mesh_shape = 3 : i32} {
  return %x : tensor<4xf32>
}

// -----

// stage neg
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], stage=-3> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// counters
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = 4294967295 : ui32} (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// counters wrong
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {call_counter = "x"} (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %0 : !m1
}

// -----

// for frag
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %r = mpmd.for (%x) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%y: !m1, %i: tensor<ui32>) {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%y) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  mpmd.return %0 : !m1 } : !m1
  return %r : !m1
}

// -----

// while named
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = "stablehlo.if"(%p) ({
  %1 = mpmd.named_computation<"f"> (%x) (%a: tensor<4xf32>) {
  mpmd.return %a : tensor<4xf32> } : (tensor<4xf32>) -> tensor<4xf32>
 stablehlo.return %1 : tensor<4xf32> }, {
  stablehlo.return %x : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// transfer same
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.transfer %x : (!m1) -> !m1
  return %0 : !m1
}

// -----

// transfers
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  %0 = mpmd.transfer %x : (!m1) -> !m2
  %1 = mpmd.transfer %0 : (!m2) -> !m1
  return %1 : !m1
}

// -----

// assign
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {topology = #topology} {
  %0 = mpmd.assign %x : (tensor<4xf32>) -> !m1
  %1 = mpmd.unassign %0 : (!m1) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// mesh1
sdy.mesh @mesh = <[]>
sdy.mesh @max = <[], device_ids=[3]>
sdy.mesh @big = <["x"=9223372036854775807]>
func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@max, []>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// mesh big
sdy.mesh @big = <["x"=9223372036854775807]>
func.func public @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@big, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.abs %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// mesh prime
sdy.mesh @big = <["x"=4611686018427387847]>
func.func public @main(%x: tensor<9223372036854775694xf32> {sdy.sharding = #sdy.sharding<@big, [{"x"}]>}) -> tensor<2x4611686018427387847xf32> {
  %0 = stablehlo.reshape %x : (tensor<9223372036854775694xf32>) -> tensor<2x4611686018427387847xf32>
  return %0 : tensor<2x4611686018427387847xf32>
}

// -----

// manual
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%a: tensor<2xf32>) {
  sdy.return %a : tensor<2xf32> } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// manual none
sdy.mesh @mesh = <["x"=2]>
func.func public @main() {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
  sdy.return } : () -> ()
  return
}

// -----

// fragment sharded on another axis
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], in_shardings=[<@mesh, [{"y"}]>], out_shardings=[<@mesh, [{"x"}]>]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["f"(1)], in_shardings=[<@mesh, [{"x"}]>], out_shardings=[<@mesh, [{"y"}]>]> (%0) (%a: tensor<4xf32>) {
  %3 = stablehlo.abs %a : tensor<4xf32> mpmd.return %3 : tensor<4xf32> } : (!m1) -> !m1
  return %0, %2 : !m1, !m1
}

// -----

// fragment sharded on no mesh
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> (!m1, !m1) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], in_shardings=[<@mesh, [{"x"}]>], out_shardings=[<@mesh, [{}]>]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  %2 = mpmd.fragment<mesh="m1", origin=["g"(1)], in_shardings=[<@mesh, [{"y"}]>], out_shardings=[<@mesh, [{"x"}]>]> (%0) (%a: tensor<4xf32>) {
  %3 = stablehlo.abs %a : tensor<4xf32> mpmd.return %3 : tensor<4xf32> } : (!m1) -> !m1
  return %0, %2 : !m1, !m1
}

// -----

// fragment sharded by another rank
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%x: !m1) -> (!m1, !m2) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"], in_shardings=[<@mesh, [{"x"}, {}]>], out_shardings=[<@mesh, []>]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  %2 = mpmd.transfer %0 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m2", origin=["f"], in_shardings=[<@mesh, [{"x":(2)8}]>], out_shardings=[<@mesh, [{"x", "x"}]>]> (%2) (%a: tensor<4xf32>) {
  %4 = stablehlo.abs %a : tensor<4xf32> mpmd.return %4 : tensor<4xf32> } : (!m2) -> !m2
  return %0, %3 : !m1, !m2
}

// -----

// types sharded by another rank, on other axes and on no mesh
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>, sharding=<@mesh, [{"x"}, {}]>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>, sharding=<@mesh, [{"y"}]>>
!m3 = !mpmd.mesh_tensor<"m2", tensor<4xf32>, sharding=<@other, [{"x"}]>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%x: !m1) -> (!m1, !m3) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  %2 = mpmd.transfer %0 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m2", origin=["f"]> (%2) (%a: tensor<4xf32>) {
  %4 = stablehlo.abs %a : tensor<4xf32> mpmd.return %4 : tensor<4xf32> } : (!m2) -> !m3
  return %0, %3 : !m1, !m3
}

// -----

// argument on the host by an attribute
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1 {mhlo.memory_kind = "pinned_host"}, %y: !m1) -> (!m1, !m2, !m2) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x, %y) (%a: tensor<4xf32>, %b: tensor<4xf32>) {
  mpmd.return %a, %b : tensor<4xf32>, tensor<4xf32> } : (!m1, !m1) -> (!m1, !m1)
  %1 = mpmd.transfer %0#0 : (!m1) -> !m2
  %2 = mpmd.transfer %0#1 : (!m1) -> !m2
  return %0#0, %1, %2 : !m1, !m2, !m2
}

// -----

// results on the host by attributes
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
!m2 = !mpmd.mesh_tensor<"m2", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=2]>>>
func.func public @main(%x: !m1) -> (!m1, !m2, !m1) attributes {topology = #topology} {
  %0:2 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) {res_attrs = [{mhlo.memory_kind = "pinned_host"}, {}]} (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1, %1 : tensor<4xf32>, tensor<4xf32> } : (!m1) -> (!m1, !m1)
  %2 = mpmd.transfer %0#1 : (!m1) -> !m2
  %3 = mpmd.fragment<mesh="m1", origin=["g"]> (%0#0) (%a: tensor<4xf32>) {
  %4 = stablehlo.abs %a : tensor<4xf32> mpmd.return %4 : tensor<4xf32> } : (!m1) -> !m1
  return %0#0, %2, %3 : !m1, !m2, !m1
}

// -----

// a loop of assigns in a fragment, and one in a branch
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func public @main(%x: !m1, %y: tensor<4xf32>, %i: tensor<i32>) -> (!m1, tensor<4xf32>) attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m1", origin=["f"]> (%x) (%a: tensor<4xf32>) {
    %1 = mpmd.for (%a) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%b: tensor<4xf32>, %n: tensor<ui32>) {
      %2 = mpmd.assign %a : (tensor<4xf32>) -> !m1
      %3 = mpmd.unassign %2 : (!m1) -> tensor<4xf32>
      %4 = stablehlo.add %b, %3 : tensor<4xf32> mpmd.return %4 : tensor<4xf32> } : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  %5 = "stablehlo.case"(%i) ({
    %6 = mpmd.for (%y) {iterations = 2 : ui32, unroll_factor = 2 : ui32} (%b: tensor<4xf32>, %n: tensor<ui32>) {
      %7 = mpmd.assign %y : (tensor<4xf32>) -> !m1
      %8 = mpmd.unassign %7 : (!m1) -> tensor<4xf32>
      %9 = stablehlo.add %b, %8 : tensor<4xf32> mpmd.return %9 : tensor<4xf32> } : tensor<4xf32>
    stablehlo.return %6 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0, %5 : !m1, tensor<4xf32>
}

// -----

// fragments in a circle that is never reached
!m1 = !mpmd.mesh_tensor<"m1", tensor<4xf32>>
#topology = #mpmd.topology<<"m1": <["x"=2]>>>
func.func public @main(%x: !m1) -> !m1 attributes {topology = #topology} {
  return %x : !m1
^bb1:
  %f = mpmd.fragment<mesh="m1", origin=[]> (%g) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  %g = mpmd.fragment<mesh="m1", origin=["g"]> (%f) (%a: tensor<4xf32>) {
  %1 = stablehlo.abs %a : tensor<4xf32> mpmd.return %1 : tensor<4xf32> } : (!m1) -> !m1
  return %f : !m1
}

// -----

// values that depend on themselves, in a module within a function
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  builtin.module {
    %i = stablehlo.constant dense<0> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    %0 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.add %1, %zero : tensor<4x4xf32>
    %2 = chlo.conj %2 : tensor<4x4xf32> -> tensor<4x4xf32>
    %3 = "stablehlo.case"(%i) ({
      stablehlo.return %3 : tensor<4x4xf32>
    }) : (tensor<i32>) -> tensor<4x4xf32>
    stablehlo.custom_call @f(%0, %1, %2, %3) {has_side_effect = true} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }
  return %x : tensor<4x4xf32>
}
