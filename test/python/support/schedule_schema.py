"""The schema of schedule.json, by which a test validates many programs."""

import functools
import json

import jsonschema

from support.tools import ROOT

_Base = jsonschema.Draft202012Validator


@functools.cache
def _validator() -> _Base:
    """Remembers which elements of arrays are valid: programs have most in common, and
    an element has no other errors the next time."""
    schema = json.loads((ROOT / "docs" / "schedule.schema.json").read_text())
    assert schema["$schema"] == _Base.META_SCHEMA["$id"]
    _Base.check_schema(schema)
    valid = set()

    def each_once(validator, items, instance, schema):
        if not validator.is_type(instance, "array"):
            return
        for index in range(len(schema.get("prefixItems", ())), len(instance)):
            key = id(items), json.dumps(instance[index])
            if key not in valid:
                errors = list(validator.descend(instance[index], items, path=index))
                yield from errors
                if not errors:
                    valid.add(key)

    return jsonschema.validators.extend(_Base, {"items": each_once})(schema)


def validate(program: object) -> None:
    _validator().validate(program)
