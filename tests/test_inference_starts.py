"""Where chains start: at the mode, of one posterior or of many, and never where there is no density."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayesjudge.inference import accelerator, hmc_kernel, nuts, starts
from bayesjudge.inference.density import Density, Sets
from bayesjudge.inference.laplace import run_laplace
from bayesjudge.inference.mode import find_mode
from bayesjudge.inference.starts import find_start, find_starts

accelerator.prepare()


def density_of(potential: Any, size: int) -> Density:
    return Density(
        size=size, potential=potential, start=jnp.zeros(size), dims={"z": ("k",)},
        unravel=lambda z: {"z": z}, constrain=lambda z, _: {"z": z}, unconstrain=lambda values: values["z"],
    )  # fmt: skip


def quartic(z: Any, arrays: Any) -> Any:
    return jnp.sum((z - arrays["at"]) ** 4 + arrays["scale"] * (z - arrays["at"]) ** 2)


QUARTIC = density_of(quartic, 2)
AT, SCALE = np.array([[1.0, -2.0], [0.3, 0.4], [50.0, 2.0]]), np.array([2.0, 3.0])


@pytest.mark.parametrize("devices", [1, 2])
def test_many_starts_are_those_of_each_one_alone(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "device_count", lambda: devices)
    sets = Sets(number=3, names=("at", "scale"), stacked=frozenset({"at"}))
    target = density_of(quartic, 2)
    together = find_starts(target, {"at": AT, "scale": SCALE}, sets)
    # The search stops at gradients of 1e-6, here of curvatures from 4 to 6.
    np.testing.assert_allclose(together.at, AT, atol=1e-6)
    for k, at in enumerate(AT):
        alone = find_starts(QUARTIC, {"at": at, "scale": SCALE})  # the same steps, rounded otherwise
        np.testing.assert_allclose(together.at[k], alone.at, atol=1e-9)
        np.testing.assert_allclose(together.covariance[k], np.diag(0.5 / SCALE), atol=1e-6)
        np.testing.assert_allclose(together.covariance[k], alone.covariance, atol=1e-9)


def test_one_search_serves_every_engine_and_all_data(monkeypatch: pytest.MonkeyPatch) -> None:
    traced, search = [], starts._starts

    def counted(*given: Any) -> Any:
        traced.append(1)
        return search(*given)

    monkeypatch.setattr(starts, "_starts", counted)
    target, options, key = density_of(quartic, 2), nuts.NutsOptions(draws=10, tune=10), jax.random.key(0)
    for at in jnp.asarray(AT[:2]):
        run_laplace(target, {"at": at, "scale": jnp.asarray(SCALE)}, key, draws=10)
        nuts.run_nuts(target, {"at": at, "scale": jnp.asarray(SCALE)}, key, options)
    assert len(traced) == 1


def test_a_search_that_starts_at_its_end_has_the_curvature_there() -> None:
    mode = find_mode(lambda z: 3.0 * jnp.sum(z**2), jnp.zeros(2))
    np.testing.assert_allclose(mode.covariance, np.eye(2) / 6, atol=1e-12)
    assert mode.gradient_norm == 0


@pytest.mark.parametrize("nothing", [jnp.inf, jnp.nan])
def test_a_start_without_density_is_no_mode(nothing: float) -> None:
    start = -jnp.ones(2)
    found = find_start(lambda z: jnp.where(jnp.all(z > 0), jnp.sum(z**2), nothing), start)
    assert found.at.tolist() == [-1, -1]
    assert found.covariance.tolist() == [[1, 0], [0, 1]]
    assert not np.isfinite(found.gradient_norm)


def walled(z: Any, _: Any) -> Any:
    """Cut off within its curvature: of chains scattered by that, most land where there is no density."""
    return jnp.where(jnp.all(jnp.abs(z) < 0.3), 0.5 * jnp.sum(z**2), jnp.inf)


def test_chains_without_density_start_at_the_mode() -> None:
    target, options = density_of(walled, 1), nuts.NutsOptions(chains=40)
    arrays: dict[str, Any] = {"unused": jnp.zeros(1)}
    mode, key = find_starts(target, arrays), jax.random.key(1)
    many = hmc_kernel.start(target, 40, key, arrays, mode)
    tree = nuts._start(target, options, key, arrays, mode)
    for z, value, slope in [(many.z, many.value, many.slope), (tree.z, tree.potential_energy, tree.z_grad)]:
        assert z.shape == slope.shape == (40, 1)
        assert 20 < int((z == 0).sum()) < 40
        np.testing.assert_allclose(value, 0.5 * z[:, 0] ** 2, atol=1e-15)
        np.testing.assert_allclose(slope, z, atol=1e-15)
    assert len(np.unique(jax.random.key_data(tree.rng_key), axis=0)) == 40
