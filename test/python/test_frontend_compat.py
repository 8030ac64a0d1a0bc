"""A JAX that lacks what the package needs is reported as such."""

import pytest

from meshwright import _jax_compat as compat


def test_old_jax_is_an_import_error_that_names_the_version():
    with pytest.raises(ImportError, match=r"needs jax >= 0\.10\.0, found 0\.9\.2"):
        compat.check_version((0, 9, 2))
    compat.check_version((0, 11, 0))


@pytest.mark.parametrize("place", [("jax", "no_such_name"), ("jax._src.gone", "x")])
def test_missing_name_is_an_import_error_that_says_what_to_install(place):
    with pytest.raises(ImportError, match=r"does not know jax .* install that release"):
        compat._require(*place)
