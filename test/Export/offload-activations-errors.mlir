// RUN: not mpmd-opt %s '-mpmd-offload-activations=bound=1kB device=h100' 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: not mpmd-opt %s '-mpmd-offload-activations=bound=most device=h100' 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not mpmd-opt %s -mpmd-offload-activations=bound=auto 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not mpmd-opt %s '-mpmd-offload-activations=bound=auto device=h1000' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpmd-opt %s '-mpmd-offload-activations=bound=auto device=h100 custom-costs=work' 2>&1 | FileCheck %s --check-prefix=COSTS
// RUN: mpmd-opt %s '-mpmd-offload-activations=bound=2048 device=h100'

!l = tensor<16x16xf32>
!m = !mpmd.mesh_tensor<"m", tensor<16x16xf32>>
#topology = #mpmd.topology<<"m": <["x"=1]>>>

// BOUND: error: mpmd_offload_activations: mesh "m" cannot stay below 1000 bytes, even if all that comes back in time waits on its host; give at least 2048
// TEXT: error: mpmd_offload_activations: 'most' is not a number of bytes; write it like 80GB, 1.5GiB or 4096, or auto
// DEVICE: error: mpmd_offload_activations needs the times of a device; say with mpmd_schedule_device what the meshes are made of
// UNKNOWN: error: mpmd_schedule_device: {{.*}}h1000
// COSTS: error: mpmd_custom_costs: {{.*}}work
func.func @program(%x: !m) -> !m attributes {topology = #topology} {
  %0 = mpmd.fragment<mesh="m", origin=["f"]> (%x) (%a: !l) {
    mpmd.return %a : !l
  } : (!m) -> !m
  return %0 : !m
}
