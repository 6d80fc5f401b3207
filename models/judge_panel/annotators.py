"""Several people labelled an answer and may be wrong: their marks, with the true label summed out.

    P(annotator a marks y) = σ(λ_a),   λ_a = μ + τ z_a,   μ ~ N(2.5, 0.7),  τ ~ HalfNormal(0.5)
    P(marks) = Σ_y P(y) Π_a P(mark_a | y)

Annotators err alike on right and wrong answers, and independently given the label: with a handful of marks on
each answer no more can be learned. σ(2.5) = .92, and 95 % of the prior for μ lies between .75 and .98. Dawid
& Skene (1979) is the same with an error rate for each label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

if TYPE_CHECKING:
    from bayesjudge.model import Data

__all__ = ["Marks", "numpyro_annotators", "pymc_marks"]

_MEAN, _SCALE, _SPREAD = 2.5, 0.7, 0.5


def numpyro_annotators(annotators: int) -> Any:
    """λ of each annotator, (annotators,), sampled in NumPyro."""
    mean = numpyro.sample("annotator_mean", dist.Normal(_MEAN, _SCALE))
    spread = numpyro.sample("annotator_spread", dist.HalfNormal(_SPREAD))
    with numpyro.plate("annotator", annotators, dim=-1):
        return mean + spread * numpyro.sample("z_annotator", dist.Normal(0.0, 1.0))


class Marks(dist.Distribution):  # type: ignore[misc]
    """Marks of every annotator on an answer, (answers, annotators).

    Parameters
    ----------
    logit : array (L,)
        Logit of P(y = 1).
    accuracy : array (A,)
        λ of each annotator.
    given : int array (L, A)
        1 where the annotator marked the answer; other marks are 0 and carry no density.
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, logit: Any, accuracy: Any, given: Any) -> None:
        self.logit, self.accuracy, self.given = logit, accuracy, given
        super().__init__(batch_shape=jnp.shape(logit), event_shape=jnp.shape(accuracy))

    def log_prob(self, value: Any) -> Any:
        """Log of Σ_y P(y) Π_a P(mark_a | y); 0 for an answer without marks."""
        sign = (2 * value - 1) * self.given
        right, wrong = jax.nn.log_sigmoid(self.accuracy), jax.nn.log_sigmoid(-self.accuracy)
        either = (jnp.where(sign > 0, right, 0.0) + jnp.where(sign < 0, wrong, 0.0)).sum(-1)
        other = (jnp.where(sign > 0, wrong, 0.0) + jnp.where(sign < 0, right, 0.0)).sum(-1)
        return jnp.logaddexp(jax.nn.log_sigmoid(self.logit) + either, jax.nn.log_sigmoid(-self.logit) + other)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """A true label for every answer, then marks that agree with it as often as their annotators do."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        key_y, key_mark = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        y = jax.random.bernoulli(key_y, jax.nn.sigmoid(self.logit), shape)[..., None]
        agrees = jax.random.bernoulli(key_mark, jax.nn.sigmoid(self.accuracy), (*shape, *self.event_shape))
        return jnp.where(self.given > 0, agrees == y, False).astype(jnp.int64)


def pymc_marks(logit: Any, data: Data) -> Any:
    """Log probability of every answer's marks inside an open PyMC model, with the annotators' priors."""
    import pymc as pm
    import pytensor.tensor as pt

    mean = pm.Normal("annotator_mean", np.float64(_MEAN), np.float64(_SCALE))
    spread = pm.HalfNormal("annotator_spread", np.float64(_SPREAD))
    z = pm.Normal("z_annotator", np.float64(0), np.float64(1), dims="annotator")
    accuracy = mean + spread * z
    given, mark = data["mark_given"].astype(float), data["mark"].astype(float)
    by_label = []
    for y, log_y in ((1.0, -pt.softplus(-logit)), (0.0, -pt.softplus(logit))):
        agrees = mark if y else np.float64(1) - mark
        each = agrees * -pt.softplus(-accuracy) + (np.float64(1) - agrees) * -pt.softplus(accuracy)
        by_label.append(log_y + (given * each).sum(axis=1))
    return pt.logaddexp(*by_label)
