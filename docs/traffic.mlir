// Two microbatches through two stages: weights and rows are split over the devices.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %v: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %y: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %e = mpmd.named_computation<"encoder"> (%w, %x) (%a: tensor<64x64xf32>, %b: tensor<8x64xf32>) {
    %0 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x64xf32>
    mpmd.return %1 : tensor<8x64xf32>
  } : (tensor<64x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %f = mpmd.named_computation<"encoder"> (%w, %y) (%a: tensor<64x64xf32>, %b: tensor<8x64xf32>) {
    %0 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x64xf32>
    mpmd.return %1 : tensor<8x64xf32>
  } : (tensor<64x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %g = mpmd.named_computation<"decoder"> (%v, %e) (%a: tensor<64x64xf32>, %b: tensor<8x64xf32>) {
    %0 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x64xf32>
    mpmd.return %1 : tensor<8x64xf32>
  } : (tensor<64x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %h = mpmd.named_computation<"decoder"> (%v, %f) (%a: tensor<64x64xf32>, %b: tensor<8x64xf32>) {
    %0 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x64xf32>
    mpmd.return %1 : tensor<8x64xf32>
  } : (tensor<64x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %g, %h : tensor<8x64xf32>, tensor<8x64xf32>
}
