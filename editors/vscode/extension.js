// SPDX-License-Identifier: Apache-2.0
// Starts mpmd-lsp-server for MLIR files, and says what to do if it is not there.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const command = vscode.workspace
    .getConfiguration("meshwright")
    .get("server", "mpmd-lsp-server");
  client = new LanguageClient(
    "meshwright",
    "Meshwright",
    { command },
    { documentSelector: [{ language: "mlir" }] }
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `${command} cannot be started (${error.message}): install the wheel of ` +
        "Meshwright, or set meshwright.server to its path"
    );
  }
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
