"""Writes what an example gives to the compiler, with a device for each of its meshes.

    python test/iree/example_programs.py examples/mlp.py OUT [ARGUMENT...]

writes OUT/N.mlir, the program of the Nth compile, and OUT/N.json, its configuration.
"""

import json
import pathlib
import runpy
import sys

from meshwright.compiler import native


def main(example: str, out: pathlib.Path, options: list[str]) -> None:
    modules, counter = {}, iter(range(1000))
    read, finish = native.Session.__init__, native.Session.finish
    import_program = native.Session.import_program

    def keep_module(self, module, config=None):
        modules[self] = [module]
        read(self, module, config)

    def keep_request(self, request):
        modules[self].append(dict(request))
        import_program(self, request)

    def write(self, merge_rules=(), schedule_rules=()):
        module, request = modules.pop(self)
        request["merge_rules"] = list(merge_rules)
        request["schedule_rules"] = list(schedule_rules)
        request["topology"] = {
            mesh: dict.fromkeys(axes, 1) for mesh, axes in request["topology"].items()
        }
        number = next(counter)
        data = module.encode() if isinstance(module, str) else module
        (out / f"{number}.mlir").write_bytes(data)
        (out / f"{number}.json").write_text(json.dumps(request))
        return finish(self, merge_rules, schedule_rules)

    native.Session.__init__ = keep_module
    native.Session.import_program = keep_request
    native.Session.finish = write
    sys.argv = [example, *options]
    sys.path.insert(0, str(pathlib.Path(example).parent))
    runpy.run_path(example, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:])
