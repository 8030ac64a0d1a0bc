// Two stages, two microbatches, their sums of gradients, an optimizer.
!a = !mpmd.mesh_tensor<"m1", tensor<64x64xf32>>
!b = !mpmd.mesh_tensor<"m2", tensor<64x64xf32>>
module {
  func.func @main(%w1: !a, %w2: !b, %x0: !a, %x1: !a) -> (!a, !b) attributes {
      topology = #mpmd.topology<<"m1" : <["x"=2]>>, <"m2" : <["x"=2]>>>} {
    %h0 = mpmd.fragment_call<mesh="m1", origin=["enc"]> @p0_enc(%w1, %x0) : (!a, !a) -> !a
    %h1 = mpmd.fragment_call<mesh="m1", origin=["enc"]> @p0_enc(%w1, %x1) : (!a, !a) -> !a
    %t0 = mpmd.transfer %h0 : (!a) -> !b
    %t1 = mpmd.transfer %h1 : (!a) -> !b
    %y0 = mpmd.fragment_call<mesh="m2", origin=["dec"]> @p1_dec(%w2, %t0) : (!b, !b) -> !b
    %d0:2 = mpmd.fragment_call<mesh="m2", origin=["dec"(1)]> @p2_dec_bwd(%w2, %y0) : (!b, !b) -> (!b, !b)
    %y1 = mpmd.fragment_call<mesh="m2", origin=["dec"]> @p1_dec(%w2, %t1) : (!b, !b) -> !b
    %d1:2 = mpmd.fragment_call<mesh="m2", origin=["dec"(1)]> @p3_dec_bwd_sum(%w2, %y1, %d0#0) : (!b, !b, !b) -> (!b, !b)
    %u0 = mpmd.transfer %d0#1 : (!b) -> !a
    %u1 = mpmd.transfer %d1#1 : (!b) -> !a
    %e0 = mpmd.fragment_call<mesh="m1", origin=["enc"(1)]> @p4_enc_bwd(%x0, %u0) : (!a, !a) -> !a
    %e1 = mpmd.fragment_call<mesh="m1", origin=["enc"(1)]> @p5_enc_bwd_sum(%x1, %u1, %e0) : (!a, !a, !a) -> !a
    %n1 = mpmd.fragment_call<mesh="m1", origin=["adam"]> @p6_adam(%w1, %e1) : (!a, !a) -> !a
    %n2 = mpmd.fragment_call<mesh="m2", origin=["adam"]> @p7_adam(%w2, %d1#0) : (!b, !b) -> !b
    return %n1, %n2 : !a, !b
  }
  func.func @p0_enc(%w: tensor<64x64xf32>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
  func.func @p1_dec(%w: tensor<64x64xf32>, %x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
  func.func @p2_dec_bwd(%w: tensor<64x64xf32>, %y: tensor<64x64xf32> {jax.buffer_donor = true}) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.dot_general %y, %y, contracting_dims = [0] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func @p3_dec_bwd_sum(%w: tensor<64x64xf32>, %y: tensor<64x64xf32>, %s: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<64x64xf32>, tensor<64x64xf32>) attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.dot_general %y, %y, contracting_dims = [0] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.add %0, %s : tensor<64x64xf32>
    %2 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func @p4_enc_bwd(%x: tensor<64x64xf32>, %u: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.dot_general %x, %u, contracting_dims = [0] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
  func.func @p5_enc_bwd_sum(%x: tensor<64x64xf32>, %u: tensor<64x64xf32>, %s: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}) -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.dot_general %x, %u, contracting_dims = [0] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = stablehlo.add %0, %s : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  }
  func.func @p6_adam(%w: tensor<64x64xf32>, %g: tensor<64x64xf32> {jax.buffer_donor = true}) -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.subtract %w, %g : tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
  func.func @p7_adam(%w: tensor<64x64xf32>, %g: tensor<64x64xf32> {jax.buffer_donor = true}) -> tensor<64x64xf32> attributes {mesh_shape = #sdy.mesh<["x"=2]>} {
    %0 = stablehlo.subtract %w, %g : tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  }
}
