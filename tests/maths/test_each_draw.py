"""The loop over draws: the same numbers on every device, whatever the number of draws."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesjudge.maths.each_draw import batch_size, each_draw


@pytest.mark.parametrize("backend", ["cpu", "gpu"])
@pytest.mark.parametrize("number", [0, 1, 7, 12, 13])
def test_every_draw_is_computed_in_its_order(monkeypatch: pytest.MonkeyPatch, backend: str, number: int) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    draws = {"x": jnp.arange(2.0 * number).reshape(number, 2), "k": jnp.arange(number)}
    found = each_draw(lambda draw: (draw["x"].sum() + draw["k"], draw["x"]), draws, most=5)
    np.testing.assert_array_equal(found[0], np.arange(number) * 5 + 1)
    np.testing.assert_array_equal(found[1], draws["x"])


@pytest.mark.parametrize("most", [1, 5, 64, 250])
def test_batches_are_even_or_nearly_as_large_as_allowed(most: int) -> None:
    for number in range(1, 600):
        size = batch_size(number, most)
        assert 1 <= size <= most
        assert number % size == 0 or size == most
        assert 2 * size >= min(number, most)
