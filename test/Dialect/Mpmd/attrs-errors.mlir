// RUN: mpmd-opt %s -verify-diagnostics -split-input-file

// expected-error@+2 {{expected '<'}}
// expected-error@+1 {{failed to parse Mpmd_Topology parameter 'meshes'}}
func.func private @topology_needs_a_mesh() attributes {a = #mpmd.topology<>}

// -----

// expected-error@+3 {{expected string}}
// expected-error@+2 {{failed to parse Mpmd_Origin parameter 'origin_label'}}
// expected-error@+1 {{failed to parse Mpmd_MeshWithOrigins parameter 'origins'}}
func.func private @origins_in_brackets_need_one() attributes {a = #mpmd.meshes_with_origins<"m1"[]>}

// -----

// expected-error@+2 {{expected attribute value}}
// expected-error@+1 {{failed to parse Mpmd_UserOrigin parameter 'userName'}}
func.func private @user_origin_needs_a_string() attributes {a = #mpmd.user_origin<f>}

// -----

// expected-error@+2 {{to be one of: none, add, max, min, mul, or, and}}
// expected-error@+1 {{failed to parse}}
func.func private @reduction_needs_a_known_kind() attributes {a = #mpmd.reduction<sum>}

// -----

// expected-error@+1 {{expected '}' in attribute dictionary}}
func.func private @origin_cannot_be_alone() attributes {a = #mpmd.origin"f"}

// -----

// expected-error@+1 {{unknown attribute `mesh` in dialect `mpmd`}}
func.func private @attribute_must_be_known() attributes {a = #mpmd.mesh<"f">}

// -----

// expected-error@+1 {{the meshes of a topology have more devices than fit 64 bits: up to mesh "m2"}}
func.func private @topology_of_too_many_devices() attributes {a = #mpmd.topology<<"m1": <["x"=2]>>, <"m2": <["x"=9223372036854775807]>>>}
