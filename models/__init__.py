"""The generative models: one folder a model, with its card as ``README.md``.

This folder is the package ``bayesjudge.models``; it lies at the top of the source tree because it is
what a statistician opens first.
"""

from __future__ import annotations

# Under a second name every model class would exist twice, and registry look-ups and isinstance would
# fail far from the cause.
if __name__ != "bayesjudge.models":
    raise ImportError(
        f"the generative models are imported as `bayesjudge.models`, not as {__name__!r}; "
        "write `import bayesjudge.models`, or `from bayesjudge.models.judge_error import JudgeError`",
        name=__name__,
    )
