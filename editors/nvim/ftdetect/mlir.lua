-- SPDX-License-Identifier: Apache-2.0
vim.filetype.add({ extension = { mlir = "mlir" } })
