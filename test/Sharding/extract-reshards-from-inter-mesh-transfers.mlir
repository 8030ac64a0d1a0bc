// RUN: mpmd-opt %s -mpmd-extract-reshards-from-inter-mesh-transfers 2>/dev/null | FileCheck %s

!l = tensor<8x8xf32>
!m = !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
!n = !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
!m_device = !mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="device">
!m_host = !mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="pinned_host">
!n_host = !mpmd.mesh_tensor<"n", tensor<8x8xf32>, memory_kind="pinned_host">
#topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>, <"n": <["x"=2, "y"=4]>>>
sdy.mesh @g = <["x"=2, "y"=4]>

//===----------------------------------------------------------------------===//
// Which transfers
//===----------------------------------------------------------------------===//

// Open dimensions and replicated axes do not count, and no sharding is one
// without axes.
// CHECK-LABEL: func @leaves_equivalent_shardings_alone
func.func @leaves_equivalent_shardings_alone(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m, %c: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}]>}) -> (!n, !n, !n) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", ?}, {?}], replicated={"y"}>]>}
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", ?}, {?}], replicated={"y"}>]>} %a : (!m) -> !n
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}]>]>}
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}]>]>} %b : (!m) -> !n
  // CHECK-NEXT: %[[C:.*]] = mpmd.transfer %arg2
  %2 = mpmd.transfer %c : (!m) -> !n
  // CHECK-NEXT: return %[[A]], %[[B]], %[[C]]
  return %0, %1, %2 : !n, !n, !n
}

// CHECK-LABEL: func @takes_missing_sharding_for_one_without_axes_but_not_unreduced
func.func @takes_missing_sharding_for_one_without_axes_but_not_unreduced(%a: !m, %b: !m {sdy.sharding = #sdy.sharding<@g, [{}, {}], unreduced={"x"}>}) -> (!n, !n) attributes {topology = #topology} {
  // CHECK-NEXT: %[[A:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}], unreduced={"x"}>]>} %arg0
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}], unreduced={"x"}>]>} %a : (!m) -> !n
  // CHECK-NEXT: %[[B:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {}], unreduced={"x"}>]>} %arg1
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="n", origin=[]> (%[[B]])
  %1 = mpmd.transfer %b : (!m) -> !n
  // CHECK: return %[[A]], %[[K]]
  return %0, %1 : !n, !n
}

// CHECK-LABEL: func @reshards_transfers_on_one_mesh_too
func.func @reshards_transfers_on_one_mesh_too(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>}
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{}, {"x"}]>]> (%[[T]])
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !m
  return %0 : !m
}

// CHECK-LABEL: func @leaves_meshes_of_other_axes_alone
func.func @leaves_meshes_of_other_axes_alone(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n
    attributes {topology = #mpmd.topology<<"m": <["x"=2, "y"=4]>>, <"n": <["y"=4, "x"=2]>>>} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: return %[[T]]
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// CHECK-LABEL: func @leaves_meshes_of_other_devices_alone
func.func @leaves_meshes_of_other_devices_alone(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n
    attributes {topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2], device_ids=[1, 0]>>>} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: return %[[T]]
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// The local size is that on the first mesh, which lacks the axis of size 1.
sdy.mesh @one = <["x"=2, "z"=1]>
// CHECK-LABEL: func @ignores_axes_of_size_one
func.func @ignores_axes_of_size_one(%a: !m {sdy.sharding = #sdy.sharding<@one, [{"x"}, {}]>}) -> !n
    attributes {topology = #mpmd.topology<<"m": <["x"=2]>>, <"n": <["x"=2, "z"=1]>>>} {
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m", origin=[], in_shardings=[<@one, [{"x"}, {}]>], out_shardings=[<@one, [{"z"}, {"x"}]>]>
  // CHECK:      mpmd.transfer {{.*}} %[[K]]
  %0 = mpmd.fragment<mesh="m", origin=[], in_shardings=[<@one, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@one, [{"z"}, {"x"}]>]>} %0 : (!m) -> !n
  return %1 : !n
}

// CHECK-LABEL: func private @leaves_function_without_body_alone
// CHECK-SAME:    attributes {topology = #mpmd.topology<{{[^{}]*}}>}{{$}}
func.func private @leaves_function_without_body_alone(!m) attributes {topology = #topology}

// CHECK-LABEL: func @leaves_function_whose_topology_is_none_alone
func.func @leaves_function_whose_topology_is_none_alone(%a: tensor<8xf32>) attributes {topology = 3 : i32} {
  // CHECK-NEXT: return
  return
}

//===----------------------------------------------------------------------===//
// Which site
//===----------------------------------------------------------------------===//

// 64 elements become 32.
// CHECK-LABEL: func @reshards_at_producer_if_less_is_sent_then
func.func @reshards_at_producer_if_less_is_sent_then(%a: !m) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{"x"}, {}]>]> (%arg0)
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// CHECK-LABEL: func @reshards_at_consumer_if_as_much_is_sent
func.func @reshards_at_consumer_if_as_much_is_sent(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer
  // CHECK-NEXT: mpmd.fragment<mesh="n"
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// 3 rows of 4 pieces take one row each, 3 columns of 2 pieces two.
!m3 = !mpmd.mesh_tensor<"m", tensor<3x3xf32>>
!n3 = !mpmd.mesh_tensor<"n", tensor<3x3xf32>>
// CHECK-LABEL: func @rounds_up_what_does_not_divide
func.func @rounds_up_what_does_not_divide(%a: !m3 {sdy.sharding = #sdy.sharding<@g, [{}, {"x"}]>}) -> !n3 attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{"y"}, {}]>]> (%arg0)
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y"}, {}]>]>} %a : (!m3) -> !n3
  return %0 : !n3
}

// CHECK-LABEL: func @counts_sub_axes_by_their_size
func.func @counts_sub_axes_by_their_size(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"y":(1)2}, {}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y":(1)2}, {}]>]>}
  // CHECK-NEXT: mpmd.fragment<mesh="n", origin=[], out_shardings=[<@g, [{"x"}, {}]>]>
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %a : (!m) -> !n
  return %0 : !n
}

// Even if more is sent then. The copy is in device memory.
// CHECK-LABEL: func @reshards_at_producer_if_destination_is_on_host
func.func @reshards_at_producer_if_destination_is_on_host(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n_host attributes {topology = #topology} {
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m", origin=[]> (%arg0)
  // CHECK:      } : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>>) -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
  // CHECK-NEXT: mpmd.transfer %[[K]] : {{.*}}"n", tensor<8x8xf32>, memory_kind="pinned_host">
  %0 = mpmd.transfer %a : (!m) -> !n_host
  return %0 : !n_host
}

// Even if less would be sent otherwise.
// CHECK-LABEL: func @reshards_at_consumer_if_source_is_on_host
func.func @reshards_at_consumer_if_source_is_on_host(%a: !m_host) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0 : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="pinned_host">) -> !mpmd.mesh_tensor<"n", tensor<8x8xf32>>
  // CHECK-NEXT: mpmd.fragment<mesh="n", origin=[], out_shardings=[<@g, [{"x"}, {}]>]> (%[[T]])
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %a : (!m_host) -> !n
  return %0 : !n
}

//===----------------------------------------------------------------------===//
// Producer site
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @adds_fragment_after_transfer
func.func @adds_fragment_after_transfer(%a: !m) -> (!m, !n) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  %0 = mpmd.transfer %a : (!m) -> !m
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{"x"}, {}]>]> (%[[T]]) {mpmd.inferred_by = ["extract_reshards"]} (%[[X:.*]]: tensor<8x8xf32>) {
  // CHECK-NEXT:   mpmd.return %[[X]]
  // CHECK:      %[[U:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %[[K]]
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0 : (!m) -> !n
  // CHECK-NEXT: return %[[T]], %[[U]]
  return %0, %1 : !m, !n
}

// CHECK-LABEL: func @lets_producer_reshard
func.func @lets_producer_reshard(%a: !m) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]]:2 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}]>, <@g, [{"x"}, {}]>]>
  %0:2 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}]>, <@g, [{}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x, %x : !l, !l
  } : (!m) -> (!m, !m)
  // CHECK: mpmd.transfer {{.*}} %[[F]]#1
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0#1 : (!m) -> !n
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{}, {}]>]> (%[[F]]#1)
  %2 = mpmd.fragment<mesh="m", origin=["g"], in_shardings=[<@g, [{}, {}]>]> (%0#1) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %1 : !n
}

// CHECK-LABEL: func @makes_list_of_producer
func.func @makes_list_of_producer(%a: !m) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{?}, {?}]>, <@g, [{"x"}, {}]>]>
  %0:2 = mpmd.fragment<mesh="m", origin=["f"]> (%a) (%x: !l) {
    mpmd.return %x, %x : !l, !l
  } : (!m) -> (!m, !m)
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0#1 : (!m) -> !n
  return %1 : !n
}

// Fragments keep reading the result itself.
// CHECK-LABEL: func @copies_result_for_other_transfers_and_returns
func.func @copies_result_for_other_transfers_and_returns(%a: !m) -> (!n, !m, !m, !n, !m) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x", "y"}, {}]>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK:      %[[G:.*]] = mpmd.fragment<mesh="m", origin=["g"]> (%[[F]])
  %1 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK:      %[[K:.*]] = mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{"x"}, {}]>]> (%[[F]]) {mpmd.inferred_by = ["extract_reshards"]}
  // CHECK:      %[[T:.*]] = mpmd.transfer {{.*}} %[[F]]
  %2 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", "y"}, {}]>]>} %0 : (!m) -> !n
  // CHECK-NEXT: %[[U:.*]] = mpmd.transfer {{.*}} %[[K]]
  %3 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0 : (!m) -> !n
  // CHECK-NEXT: return %[[T]], %[[K]], %[[G]], %[[U]], %[[K]]
  return %2, %0, %1, %3, %0 : !n, !m, !m, !n, !m
}

// The copy has to be before all that read it.
// CHECK-LABEL: func @copies_result_before_earlier_transfer
func.func @copies_result_before_earlier_transfer(%a: !m) -> (!n, !n) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x", "y"}, {}]>]>
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK:      %[[K:.*]] = mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{"x"}, {}]>]> (%[[F]])
  // CHECK:      mpmd.transfer {{.*}} %[[K]]
  // CHECK-NEXT: mpmd.transfer {{.*}} %[[F]]
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0 : (!m) -> !n
  %2 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", "y"}, {}]>]>} %0 : (!m) -> !n
  return %1, %2 : !n, !n
}

// One transfer that is used twice is one user.
// CHECK-LABEL: func @needs_no_copy_for_fragments
func.func @needs_no_copy_for_fragments(%a: !m) -> (!n, !n) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  // CHECK:      mpmd.transfer {{.*}} %[[F]]
  // CHECK-NEXT: mpmd.fragment<mesh="m", origin=["g"]> (%[[F]])
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", "y"}, {}]>]>} %0 : (!m) -> !n
  %2 = mpmd.fragment<mesh="m", origin=["g"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m
  return %1, %1 : !n, !n
}

// A fragment result on the host goes to the device for the next transfer.
// CHECK-LABEL: func @gives_producer_type_of_transfer_in_device_memory
func.func @gives_producer_type_of_transfer_in_device_memory(%a: !m) -> !n_host attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"y"}, {}]>]>
  // CHECK:      } : ({{.*}}) -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
  // CHECK-NEXT: mpmd.transfer {{.*}} %[[F]] : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>>) -> !mpmd.mesh_tensor<"n", tensor<8x8xf32>, memory_kind="pinned_host">
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x"}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="device">
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"y"}, {}]>]>} %0 : (!mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="device">) -> !n_host
  return %1 : !n_host
}

//===----------------------------------------------------------------------===//
// Consumer site
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func @lets_readers_reshard
func.func @lets_readers_reshard(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}, %b: !m) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %arg0
  %0 = mpmd.transfer {dropped, sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !n
  %1 = mpmd.transfer %b : (!m) -> !n
  // CHECK: origin=["f"], in_shardings=[<@g, [{"x"}, {}]>, <@g, [{"y"}, {}]>, <@g, [{"x"}, {}]>]> (%[[T]], %{{.*}}, %[[T]])
  %2 = mpmd.fragment<mesh="n", origin=["f"], in_shardings=[<@g, [{}, {"x"}]>, <@g, [{"y"}, {}]>, <@g, [{}, {}]>]> (%0, %1, %0) (%x: !l, %y: !l, %z: !l) {
    mpmd.return %x : !l
  } : (!n, !n, !n) -> !n
  // CHECK: origin=["g"], in_shardings=[<@g, [{?}, {?}]>, <@g, [{"x"}, {}]>]>
  %3 = mpmd.fragment<mesh="n", origin=["g"]> (%2, %0) (%x: !l, %y: !l) {
    mpmd.return %x : !l
  } : (!n, !n) -> !n
  return
}

// It is directly after the transfer and serves transfers and the return.
// CHECK-LABEL: func @adds_fragment_for_transfers_and_returns
func.func @adds_fragment_for_transfers_and_returns(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> (!n, !n, !m) attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="n", origin=[], out_shardings=[<@g, [{}, {"x"}]>]> (%[[T]]) {mpmd.inferred_by = ["extract_reshards"]} (%[[X:.*]]: tensor<8x8xf32>) {
  // CHECK-NEXT:   mpmd.return %[[X]]
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !n
  // CHECK:      %[[F:.*]] = mpmd.fragment<mesh="n", origin=["f"], in_shardings=[<@g, [{"x"}, {}]>]> (%[[T]])
  %1 = mpmd.fragment<mesh="n", origin=["f"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!n) -> !n
  // CHECK:      %[[U:.*]] = mpmd.transfer {{.*}} %[[K]]
  %2 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %0 : (!n) -> !m
  // CHECK-NEXT: return %[[F]], %[[K]], %[[U]]
  return %1, %0, %2 : !n, !n, !m
}

// CHECK-LABEL: func @states_no_sharding_where_there_is_none
func.func @states_no_sharding_where_there_is_none(%a: !m_host, %b: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !n attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer %arg0
  // CHECK-NEXT: mpmd.fragment<mesh="n", origin=["f"]> (%[[T]])
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %a : (!m_host) -> !n
  %1 = mpmd.fragment<mesh="n", origin=["f"]> (%0) (%x: !l) {
    mpmd.return %x : !l
  } : (!n) -> !n
  // CHECK:      %[[U:.*]] = mpmd.transfer {sdy.sharding
  // CHECK-NEXT: mpmd.fragment<mesh="n", origin=[]> (%[[U]])
  %2 = mpmd.transfer %b : (!m) -> !n
  return %2 : !n
}

// Program order: the second transfer reads what the first has become.
// CHECK-LABEL: func @follows_chain_of_transfers
func.func @follows_chain_of_transfers(%a: !m {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !m attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %arg0
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="n", origin=[], out_shardings=[<@g, [{"x", "y"}, {}]>]> (%[[T]])
  // CHECK:      %[[U:.*]] = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", "y"}, {}]>]>} %[[K]]
  // CHECK-NEXT: return %[[U]]
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!m) -> !n
  %1 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x", "y"}, {}]>]>} %0 : (!n) -> !m
  return %1 : !m
}

// Only a fragment takes a value in another sharding, and of another memory kind.
// CHECK-LABEL: func @keeps_type_for_calls_and_loops
func.func @keeps_type_for_calls_and_loops(%a: !m) -> (!n, !m_device, !m_device) attributes {topology = #topology} {
  // CHECK-NEXT: %[[F:.*]] = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{"x"}, {}]>]>
  // CHECK: -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m", origin=[], out_shardings=[<@g, [{}, {}]>]> (%[[F]])
  // CHECK: -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="device">
  %0 = mpmd.fragment<mesh="m", origin=["f"], out_shardings=[<@g, [{}, {}]>]> (%a) (%x: !l) {
    mpmd.return %x : !l
  } : (!m) -> !m_device
  // CHECK: mpmd.call @called(%[[K]])
  %1 = mpmd.call @called(%0) : (!m_device) -> !m_device
  // CHECK: mpmd.for (%[[K]])
  %2 = mpmd.for (%0) {iterations = 2 : ui32, unroll_factor = 1 : ui32} (%l: !m_device, %index: tensor<ui32>) {
    mpmd.return %l : !m_device
  } : !m_device
  // CHECK: mpmd.transfer {{.*}} %[[F]]
  %3 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{"x"}, {}]>]>} %0 : (!m_device) -> !n
  return %3, %1, %2 : !n, !m_device, !m_device
}

func.func private @called(%a: !m_device) -> !m_device attributes {topology = #topology} {
  return %a : !m_device
}

// CHECK-LABEL: func @keeps_type_at_the_consumer
func.func @keeps_type_at_the_consumer(%a: !n {sdy.sharding = #sdy.sharding<@g, [{"x"}, {}]>}) -> !m_device attributes {topology = #topology} {
  // CHECK-NEXT: %[[T:.*]] = mpmd.transfer {{.*}} -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>>
  // CHECK-NEXT: %[[K:.*]] = mpmd.fragment<mesh="m"
  // CHECK: -> !mpmd.mesh_tensor<"m", tensor<8x8xf32>, memory_kind="device">
  %0 = mpmd.transfer {sdy.sharding = #sdy.sharding_per_value<[<@g, [{}, {"x"}]>]>} %a : (!n) -> !m_device
  // CHECK-NEXT: return %[[K]]
  return %0 : !m_device
}
