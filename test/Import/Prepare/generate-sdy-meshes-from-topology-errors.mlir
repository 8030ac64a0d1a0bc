// RUN: mpmd-opt %s -mpmd-generate-sdy-meshes-from-topology -split-input-file -verify-diagnostics

sdy.mesh @whole = <["r"=2]>
// expected-error@+1 {{axis "r" of sharding #sdy.sharding<@whole, [{"r"}]> does not tell its mesh; expected a name of the form MESH_AXIS}}
func.func @reports_axis_without_prefix(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{"r"}]>})
    attributes {topology = #mpmd.topology<<"gpu": <["r"=2]>>>} {
  return
}

// -----

sdy.mesh @whole = <["gpu_r"=2, "host_q"=4]>
// expected-error@+1 {{has axes of meshes "gpu" and "host"; a tensor can be sharded over one mesh only}}
func.func @reports_axes_of_two_meshes(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{"gpu_r", "host_q"}]>})
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}

// -----

sdy.mesh @gpu = <["gpu_r"=2]>
// expected-error@+1 {{belongs to mesh "gpu" of the topology, but the module already has a mesh @gpu}}
func.func @reports_name_of_existing_mesh(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@gpu, [{"gpu_r"}]>})
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}

// -----

sdy.mesh @whole = <["gpu_r"=2]>
// expected-note@+1 {{rename this symbol}}
sdy.mesh @empty_mesh = <["gpu_r"=2]>
// expected-error@+1 {{sharding without axes needs the empty mesh @empty_mesh, but the symbol means something else}}
func.func @reports_empty_mesh_with_axes(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{}]>})
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}

// -----

// expected-error@+1 {{mesh @gpu differs from mesh "gpu" of the topology}}
sdy.mesh @gpu = <[]>
func.func @reports_kept_mesh_that_differs()
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}

// -----

// expected-error@+1 {{no function has a topology}}
module {
  func.func @reports_missing_topology() {
    return
  }
}

// -----

sdy.mesh @whole = <["gpu_r"=2, "gpu_z"=2]>
// expected-error@+2 {{unknown axis name: "gpu_z"}}
// expected-error@+1 {{does not verify with its shardings on the meshes of the topology, which own the axes that start with their names}}
func.func @reports_axis_that_the_topology_does_not_have(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@whole, [{"gpu_z"}]>})
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}

// -----

sdy.mesh @whole = <["gpu_r"=2]>
func.func @reports_unreduced_axis_without_another(%a: tensor<8xf32>) -> tensor<8xf32>
    attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  // expected-error@+2 {{unknown axis name: "gpu_r"}}
  // expected-error@+1 {{does not verify with its shardings on the meshes of the topology}}
  %0 = sdy.sharding_constraint %a <@whole, [{}], unreduced={"gpu_r"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error@+1 {{has the name of mesh "gpu" of the topology; rename one of them}}
func.func @gpu() attributes {topology = #mpmd.topology<<"gpu": <["gpu_r"=2]>>>} {
  return
}
