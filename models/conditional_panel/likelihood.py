"""The likelihood of `conditional_panel` in JAX: a label and every judge's verdicts, independent given it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from numpyro import distributions as dist
from numpyro.distributions import constraints
from numpyro.util import is_prng_key

from bayesjudge.model import Data


class PanelResponses(dist.Distribution):  # type: ignore[misc]
    """Label and verdicts of 1 of every judge, (A, 1 + J), without binomial coefficients."""

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012 - the name and type NumPyro asks for
    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, theta: Any, logit_1: Any, logit_0: Any, data: Data) -> None:
        self.theta, self.says_yes, self.data = theta, (-logit_0, logit_1), data
        answers, judges = data["runs"].shape
        super().__init__(batch_shape=(answers,), event_shape=(judges + 1,))

    def log_prob(self, value: Any) -> Any:
        """Joint of label and verdicts where the label is known, summed over it elsewhere."""
        of, runs = self.data["model_of"], self.data["runs"]
        yes = value[..., 1:]
        joint = []
        for log_y, logit in zip((jnp.log1p(-self.theta), jnp.log(self.theta)), self.says_yes, strict=True):
            # Logarithms of J × M numbers; the answers look theirs up.
            log_yes, log_no = (jax.nn.log_sigmoid(sign * logit).T[of] for sign in (1, -1))
            joint.append(log_y[of] + (yes * log_yes + (runs - yes) * log_no).sum(-1))
        labelled = jnp.where(value[..., 0] == 1, joint[1], joint[0])
        total = jnp.where(self.data["known"] > 0, labelled, jnp.logaddexp(*joint))
        return jnp.where(self.data["real"] > 0, total, 0.0)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """A label for every answer, then verdicts given it; labels that are not known are not shown."""
        assert is_prng_key(key)  # noqa: S101 - the check every NumPyro distribution makes
        key_y, key_v = jax.random.split(key)
        of, runs, most = self.data["model_of"], self.data["runs"], self.data.facts["most_runs"]
        right = jax.random.bernoulli(key_y, self.theta[of], (*sample_shape, *self.batch_shape))
        wrong_yes, right_yes = (jax.nn.sigmoid(logit).T[of] for logit in self.says_yes)
        p = jnp.where(right[..., None], right_yes, wrong_yes)
        tosses = jax.random.bernoulli(key_v, p, (most, *p.shape))
        within = jnp.arange(most).reshape(-1, *[1] * p.ndim) < runs
        yes = (tosses & within).sum(0)
        shown = (right & (self.data["known"] > 0)).astype(yes.dtype)
        return jnp.concatenate([shown[..., None], yes], axis=-1)
