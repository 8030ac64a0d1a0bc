"""The language server knows the dialects: it accepts and rejects like mpmd-opt."""

import base64
import contextlib
import json
import subprocess

import pytest
from support.jax_parser import JaxParser, constants, module_of
from test_bad_input import DAMAGED


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
        return [entry["message"] for entry in self.published()]

    def published(self) -> list[dict]:
        while (message := self.receive()).get("method") != (
            "textDocument/publishDiagnostics"
        ):
            pass
        return message["params"]["diagnostics"]


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
    with contextlib.suppress(BrokenPipeError):  # It may have ended.
        server.send("shutdown", {}, id=1)
        server.send("exit", {})
    server.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def jax_parser():
    return JaxParser()


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


def request(server, method: str, **params) -> dict:
    server.send(method, params, id=method)
    while (message := server.receive()).get("id") != method:
        pass
    return message


def test_bytecode_of_jax_becomes_text_that_jax_reads(server, jax_parser, tmp_path):
    program = jax_parser.parse(module_of(constants()))
    file = tmp_path / "größe 1.mlirbc"
    file.write_bytes(jax_parser.encode(str(program)))
    message = request(server, "mlir/convertFromBytecode", uri=file.as_uri())
    text = message["result"]["output"]
    assert jax_parser.values(text) == jax_parser.values(str(program))
    # As what the editor then has: a document.
    assert server.diagnostics(file.with_suffix(".mlir").as_uri(), text) == []


def test_text_becomes_bytecode_that_jax_reads(server, jax_parser):
    text = str(jax_parser.parse(module_of(constants())))
    assert server.diagnostics("file:///e.mlir", text) == []
    message = request(server, "mlir/convertToBytecode", uri="file:///e.mlir")
    code = base64.b64decode(message["result"]["output"])
    assert code.startswith(b"ML\xefR")
    assert jax_parser.values(code) == jax_parser.values(text)


def test_what_is_no_bytecode_is_refused(server, jax_parser, tmp_path):
    code = jax_parser.encode(module_of(["dense<1.0> : tensor<2xf8E5M2>"]))
    file = tmp_path / "a.mlirbc"
    for contents in (b"func.func @f()", code[: len(code) // 2], *DAMAGED.values()):
        file.write_bytes(contents)
        message = request(server, "mlir/convertFromBytecode", uri=file.as_uri())
        assert "bytecode" in message["error"]["message"]
    missing = (tmp_path / "b.mlirbc").as_uri()
    message = request(server, "mlir/convertFromBytecode", uri=missing)
    assert "b.mlirbc" in message["error"]["message"]
    wrong = PROGRAM.replace("OP", "tahn")
    server.diagnostics("file:///f.mlir", wrong)
    message = request(server, "mlir/convertToBytecode", uri="file:///f.mlir")
    assert message["error"]["message"]


@pytest.mark.parametrize("length", ["x", "-1", "99999999999999999"])
def test_a_length_that_is_none_does_not_end_the_server(server, length):
    server.process.stdin.write(f"Content-Length: {length}\r\n\r\n".encode())
    assert server.diagnostics("file:///g.mlir", PROGRAM.replace("OP", "tanh")) == []


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("[" * 300000, 10000, "nested more than 10000 deep"),
        ('"mpmd.return"(%0 #2147483647) : (i32) -> ()', 14, "number 2147483647"),
        ("module attributes {a.b = array<index>} {}", 31, "got one of 'index'"),
    ],
)
def test_text_that_no_parser_can_take_is_refused_at_its_place(
    server, text, column, message
):
    valid = PROGRAM.replace("OP", "tanh")
    document = {"uri": "file:///h.mlir", "version": 2}
    server.diagnostics(document["uri"], valid)
    # The editor does not wait for an answer before it sends what is right again.
    for version, contents in ((2, "\n" + text), (3, valid)):
        document["version"] = version
        changes = [{"text": contents}]
        server.send(
            "textDocument/didChange",
            {"textDocument": document, "contentChanges": changes},
        )
    (diagnostic,) = server.published()
    assert message in diagnostic["message"]
    assert diagnostic["range"]["start"] == {"line": 1, "character": column}
    assert server.published() == []


def test_programs_may_be_nested_as_deep_as_in_other_tools(server):
    text = "module {" * 4000 + "}" * 4000
    assert server.diagnostics("file:///i.mlir", text) == []


def test_a_message_nested_too_deeply_is_passed_over(server):
    body = b"[" * 5000000
    server.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert server.diagnostics("file:///j.mlir", PROGRAM.replace("OP", "tanh")) == []


def test_help_is_printed_whole(tools):
    done = tools.run("mpmd-lsp-server", "--help")
    assert done.returncode == 0
    assert b"LSP" in done.stdout


def test_it_ends_when_asked_whatever_is_sent_after_that(server):
    server.send("shutdown", {}, id=1)
    assert server.receive()["id"] == 1
    server.send("exit", {})
    with contextlib.suppress(BrokenPipeError):
        for _ in range(2000):  # More than a pipe holds.
            server.send("window/nothingReads", {"text": "a" * 1000})
    assert server.process.wait(timeout=60) == 0
