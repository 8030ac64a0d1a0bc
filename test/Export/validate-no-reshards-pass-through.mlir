// RUN: mpmd-opt %s -mpmd-validate-no-reshards=ignore-pass-through=true -verify-diagnostics

!m = !mpmd.mesh_tensor<"m", tensor<4xf32>>
!m_all = !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@grid, [{}]>>
!m_r = !mpmd.mesh_tensor<"m", tensor<4xf32>, sharding=<@grid, [{"r"}]>>
#topology = #mpmd.topology<<"m": <["r"=2]>>>
sdy.mesh @grid = <["r"=2]>

func.func @accepts_state_that_passes_through(%w: !m, %v: !m_r) -> (!m_r, !m_all) attributes {topology = #topology} {
  %0:2 = mpmd.fragment_call<mesh="m", origin=[]> @swap(%w, %v) : (!m, !m_r) -> (!m_r, !m_all)
  return %0#0, %0#1 : !m_r, !m_all
}

func.func @reports_a_change_of_one_result(%w: !m, %v: !m_r) -> (!m_r, !m_r) attributes {topology = #topology} {
  // expected-warning@+1 {{Detected reshard-only fragment 'swap'}}
  %0:2 = mpmd.fragment_call<mesh="m", origin=[]> @swap(%w, %v) : (!m, !m_r) -> (!m_r, !m_r)
  return %0#0, %0#1 : !m_r, !m_r
}

func.func @swap(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {mesh_shape = #sdy.mesh<["r"=2]>} {
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}
