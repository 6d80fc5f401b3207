"""A second file of labels, where columns and rows of the log are named or chosen."""

from __future__ import annotations

import pandas as pd
import pytest

from bayesjudge.errors import InputError
from bayesjudge.readers import read_verdicts

LOG = pd.DataFrame({"item": [1, 2, 1, 2], "criterion": ["safe", "safe", "kind", "kind"], "verdict": [1, 1, 0, 0]})


def test_a_message_has_the_labels_files_own_rows_where_rows_of_the_log_are_chosen() -> None:
    gold = pd.DataFrame({"item": [1, 1, 1, 2, 2], "label": ["1", "1", "1", "1", "maybe"]})
    with pytest.raises(InputError, match=r"column 'labels.label', row 5: found 'maybe'"):
        read_verdicts(LOG, labels=gold, where="criterion=kind")
