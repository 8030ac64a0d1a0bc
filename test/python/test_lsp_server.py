"""The language server knows the dialects: it accepts and rejects like mpmd-opt."""

import json
import subprocess

import pytest


class Server:
    """A language server process, spoken to in JSON-RPC over its pipes."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def send(self, method: str, params: dict, **extra) -> None:
        body = json.dumps(
            {"jsonrpc": "2.0", "method": method, "params": params, **extra}
        ).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self) -> dict:
        length = 0
        while (line := self.process.stdout.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name == b"Content-Length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def diagnostics(self, uri: str, text: str) -> list[str]:
        document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        while (message := self.receive()).get("method") != (
            "textDocument/publishDiagnostics"
        ):
            pass
        return [entry["message"] for entry in message["params"]["diagnostics"]]


@pytest.fixture
def server(tools):
    server = Server(tools.folder / "mpmd-lsp-server")
    server.send(
        "initialize",
        {"processId": None, "rootUri": None, "capabilities": {}, "trace": "off"},
        id=0,
    )
    assert "capabilities" in server.receive()["result"]
    yield server
    server.send("shutdown", {}, id=1)
    server.send("exit", {})
    server.process.communicate(timeout=30)


PROGRAM = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mpmd.named_computation<"enc"> (%x) (%a: tensor<4xf32>) {
    %1 = stablehlo.OP %a : tensor<4xf32>
    mpmd.return %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_valid_program_has_no_diagnostics(server):
    assert server.diagnostics("file:///a.mlir", PROGRAM.replace("OP", "tanh")) == []


def test_unknown_operation_is_reported(server):
    (message,) = server.diagnostics("file:///b.mlir", PROGRAM.replace("OP", "tahn"))
    assert "stablehlo.tahn" in message


def test_booleans_as_jax_prints_them_are_read(server):
    mask = "".join(f"0{i % 3 // 2}" for i in range(200))
    program = (
        'func.func @"größe"() -> tensor<200xi1> {\n'
        f'  %0 = stablehlo.constant dense<"0x{mask}"> : tensor<200xi1>\n'
        "  return %0 : tensor<200xi1>\n}\n"
    )
    assert server.diagnostics("file:///c.mlir", program) == []
    (message,) = server.diagnostics("file:///d.mlir", program.replace(mask, mask[2:]))
    assert "hex data size is invalid" in message
