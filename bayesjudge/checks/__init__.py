"""Whether a result may be believed: checks of one fit, of one model, and of any method's intervals."""

from bayesjudge.checks.calibration import Calibration
from bayesjudge.checks.clustered import clustered_bounds, clustered_tails
from bayesjudge.checks.comparison import ModelComparison, compare
from bayesjudge.checks.convergence import Convergence, convergence
from bayesjudge.checks.coverage_runs import Cell, Coverage, coverage
from bayesjudge.checks.coverage_tables import clopper_pearson, coverage_table
from bayesjudge.checks.data_quantities import data_quantities
from bayesjudge.checks.loo import Loo, loo
from bayesjudge.checks.predictive import PredictiveCheck, predictive_check
from bayesjudge.checks.prior_cells import prior_cell
from bayesjudge.checks.sbc import sbc
from bayesjudge.checks.score import score_check
from bayesjudge.checks.sensitivity import PriorSensitivity, prior_sensitivity

__all__ = [
    "Calibration",
    "Cell",
    "Convergence",
    "Coverage",
    "Loo",
    "ModelComparison",
    "PredictiveCheck",
    "PriorSensitivity",
    "clopper_pearson",
    "clustered_bounds",
    "clustered_tails",
    "compare",
    "convergence",
    "coverage",
    "coverage_table",
    "data_quantities",
    "loo",
    "predictive_check",
    "prior_cell",
    "prior_sensitivity",
    "sbc",
    "score_check",
]
