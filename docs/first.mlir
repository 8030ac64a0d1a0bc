func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>) -> tensor<8x16xf32> {
  %0 = mpmd.named_computation<"encoder"> (%x, %w) (%a: tensor<8x4xf32>, %b: tensor<4x16xf32>) {
    %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    mpmd.return %2 : tensor<8x16xf32>
  } : (tensor<8x4xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %1 = mpmd.named_computation<"decoder"> (%0) (%a: tensor<8x16xf32>) {
    %2 = stablehlo.tanh %a : tensor<8x16xf32>
    mpmd.return %2 : tensor<8x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
