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
