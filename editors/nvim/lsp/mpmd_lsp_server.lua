-- SPDX-License-Identifier: Apache-2.0
-- For vim.lsp.enable("mpmd_lsp_server"), Neovim 0.11 or newer.
return {
  cmd = { "mpmd-lsp-server" },
  filetypes = { "mlir" },
  root_markers = { ".git" },
  single_file_support = true,
}
