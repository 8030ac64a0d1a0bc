"""Programs of others, with both options that do work once."""

import contextlib
import unittest.mock

ONCE = {"mpmd_defer_reductions": True, "mpmd_hoist_invariants": True}


@contextlib.contextmanager
def work_done_once():
    """Configs that are made inside have both options on."""
    import meshwright as mw

    make_config = mw.make_config

    def make_config_with_both(*args, partitioning_options=None, **kwargs):
        options = {**(partitioning_options or {}), **ONCE}
        return make_config(*args, partitioning_options=options, **kwargs)

    with unittest.mock.patch.object(mw, "make_config", make_config_with_both):
        yield
