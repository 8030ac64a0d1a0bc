"""Whether the peer has left fragments whole by chance (docs/developing/differences.md).

It does not split a backward fragment if the operations of the first half, and the end,
are as many as those of the block around it. Fragments that have nothing to do with the
rest make that block longer, and the chance go away; what is left then has a reason.
"""

import re

# More than a program has fragments to split: each one that is split adds an operation,
# so that a few more fragments may only move the chance to one that comes before.
ADDED = 100


def with_unrelated_fragments(text: str, config: dict) -> tuple[str, dict]:
    """The program with functions of its first argument, each by a name of its own."""
    found = re.search(r"@main\((%\w+): (tensor<\w+>)", text)
    argument, type_ = found[1], found[2]
    names = [f"unrelated{i}" for i in range(ADDED)]
    calls = "".join(
        f'%{name} = mpmd.named_computation<"{name}"> ({argument}) (%x: {type_}) {{\n'
        f"%y = stablehlo.negate %x : {type_}\nmpmd.return %y : {type_}\n"
        f"}} : ({type_}) -> {type_}\n"
        for name in names
    )
    before, after = text[: found.start()], text[found.start() :]
    more = f", {type_}" * ADDED
    signature, body = after.split(") {\n", 1)
    body, rest = re.split(r"(?=^ *return )", body, maxsplit=1, flags=re.MULTILINE)
    returned, types = rest.split("\n", 1)[0].split(" : ", 1)
    returned += "".join(f", %{name}" for name in names)
    rest = rest.split("\n", 1)[1]
    mesh = next(iter(config["topology"]))
    return (
        f"{before}{signature}{more}) {{\n{body}{calls}"
        f"{returned} : {types}{more}\n{rest}",
        config | {"assignment": config["assignment"] | dict.fromkeys(names, mesh)},
    )
