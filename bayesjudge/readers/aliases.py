"""Other names of our columns, by which known formats and most users' tables call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Names of what is more often a task's own answer than a person's judgement of one.
REFERENCES = frozenset(
    {
        "target",
        "truth",
        "reference",
        "ground_truth",
        "gold",
        "true_label",
        "answer_key",
        "correct_answer",
        "expected",
        "expected_output",
        "ideal",
        "expected_answer",
        "gold_answer",
        "gold_standard",
        "reference_answer",
    }
)
#: Names of a person's judgement; the star represents any ending but that of a person's name.
_HUMAN = [
    "human_label",
    "gold_label",
    "annotator_label",
    "human",
    "human_verdict",
    "human_judgment",
    "human_judgement",
    "human_score",
]
ANY_HUMAN = "human_*"
_JUDGES = ["judge_model", "judge_id", "judge_name", "judger", "annotator", "evaluator", "grader", "rater", "autorater"]
_VOTERS = ["human_id", "voter_id", "annotator_id", "user_id", "rater_id"]
#: Names of who voted, where all that a table holds are people's votes.
VOTERS = ["voter", *_VOTERS, "annotator", "rater", "user", "worker", "worker_id", "turker", "turker_id", "turkerid"]

#: Our name to two lists of others; the second counts only where the first has no match.
type Aliases = Mapping[str, tuple[Sequence[str], Sequence[str]]]

VERDICT_ALIASES: Aliases = {
    "item": (
        [
            "item_id",
            "question_id",
            "prompt_id",
            "example_id",
            "instance_id",
            "sample_id",
            "problem_id",
            "task_id",
            "query_id",
            "doc_id",
            "qid",
            "case_id",
            "test_id",
            "row_id",
        ],
        ["id", "uid", "question", "prompt", "query"],
    ),
    "model": (
        ["model_id", "model_name", "generator", "system", "candidate", "exam_taker", "examtaker"],
        ["llm", "respondent", "answerer"],
    ),
    "judge": (_JUDGES, []),
    "verdict": (
        [
            "judge_verdict",
            "judge_label",
            "judgment",
            "judgement",
            "is_correct",
            "prediction",
            "judge_score",
            "judge_result",
            "judge_correct",
            "judge_pass",
            "judge_decision",
            "llm_label",
            "llm_verdict",
        ],
        ["score", "correct", "passed", "rating", "result"],
    ),
    "label": (_HUMAN, [ANY_HUMAN]),
    "run": (["run_id", "run_index", "repetition", "repeat", "replicate", "trial", "trial_id", "trial_index"], []),
    "label_probability": (["inclusion_probability", "sampling_probability"], []),
}

#: The same for a table of gold labels, where a bare score or verdict is a person's.
GOLD_ALIASES: Aliases = {
    "item": VERDICT_ALIASES["item"],
    "model": VERDICT_ALIASES["model"],
    "label": (_HUMAN, [ANY_HUMAN, "verdict", "is_correct", "correct", "score"]),
    # A user may be who asked the question.
    "annotator": (["voter", *(name for name in _VOTERS if name != "user_id")], []),
    "label_probability": VERDICT_ALIASES["label_probability"],
}

#: The same for a table of items, whose other columns are groups and clusters.
ITEM_ALIASES = {name: VERDICT_ALIASES[name] for name in ("item", "label", "label_probability")}

_REPEATS: Aliases = {
    # A prompt may be the question or the judge's template: it is the item only where nothing else is.
    "item": (
        ["comparison_id", "pair_id", *(name for name in VERDICT_ALIASES["item"][0] if name != "prompt_id")],
        ["id", "uid", "question", "query", "prompt_id"],
    ),
    "judge": VERDICT_ALIASES["judge"],
    "trial": (
        [
            *("trial_id", "trial_index", "run_id", "run_index"),
            "repetition",
            "repeat",
            "replicate",
            "run",
            "sample",
            "seed",
        ],
        [],
    ),
    "prompt": (["prompt_template", "template", "prompt_version", "judge_prompt"], []),
    "temperature": (["judge_temperature", "temp"], []),
    "category": (["task_category", "subset", "domain"], ["task", "subject"]),
}

#: The same for repeated comparisons; ``prompt`` is the template the judge was asked with.
TRIAL_ALIASES: Aliases = {
    **_REPEATS,
    "outcome": (
        ["winner", "judge_verdict", "verdict", "judge_prefers", "preference", "preferred", "choice"],
        ["judgment", "judgement", "result"],
    ),
    "order": (["presentation_order", "position", "response_order", "prompt_order"], []),
}

#: The same for repeated scores of single responses.
SCORE_ALIASES: Aliases = {
    **_REPEATS,
    "response": (["response_id", "answer", "answer_id", *VERDICT_ALIASES["model"][0], "model"], []),
    "score": (["judge_score", "rating", "grade"], []),
}

#: The same for battles.
BATTLE_ALIASES: Aliases = {
    "item": (
        ["battle_id", "item_id", "row_id", "comparison_id"],
        ["question_id", "prompt_id", "instruction_id", "instance_id", "example_id", "qid", "id", "uid", "instruction"],
    ),
    "model_a": (["model_1", "generator_1", "model_left", "left_model"], ["model"]),
    "model_b": (["model_2", "generator_2", "model_right", "right_model"], []),
    "human": (
        ["human_label", "human_vote", "human_preference", "human_verdict", "human_winner", "human_majority"],
        ["vote", "label", "gold_label", "annotator_label", ANY_HUMAN],
    ),
    "judge": VERDICT_ALIASES["judge"],
    "verdict": (
        ["judge_verdict", "judge_label", "judge_prefers", "judge_preference", "judge_winner", "judgment", "judgement"],
        ["prediction", "outcome", "winner", "preference", "preferred", "choice"],
    ),
    "score_a": (["judge_score_a", "score_model_a", "rating_a", "score_1"], []),
    "score_b": (["judge_score_b", "score_model_b", "rating_b", "score_2"], []),
    "score_gap": (["score_difference", "score_diff", "gap", "margin"], []),
    "prob_a": (["p_a", "prob_model_a", "win_prob_a", "probability_a"], []),
    "order": (["presentation_order", "presentation", "prompt_order"], []),
    "run": VERDICT_ALIASES["run"],
    "voter": (_VOTERS, []),
    "length_a": (["len_a", "tokens_a", "n_tokens_a"], []),
    "length_b": (["len_b", "tokens_b", "n_tokens_b"], []),
}

#: The same for pairs that a judge chose between; a bare verdict is the judge's, a bare label a person's.
PAIR_ALIASES: Aliases = {
    "item": (
        [
            "pair_id",
            "comparison_id",
            "battle_id",
            *(name for name in VERDICT_ALIASES["item"][0] if name not in {"question_id", "prompt_id"}),
        ],
        ["id", "uid"],
    ),
    "judge": VERDICT_ALIASES["judge"],
    "judge_prefers": (
        ["judge_preference", "judge_verdict", "verdict", "llm_preference"],
        ["winner", "preference", "judgment", "judgement"],
    ),
    "human_prefers": (
        ["human_preference", "human", "human_label", "human_verdict", "gold_label", "annotator_label"],
        ["label", ANY_HUMAN],
    ),
    "attack": (["attack_type", "perturbation"], []),
    "question": (["question_id", "prompt_id"], []),
    "category": (["question_type", "task_category", "subset", "domain"], ["task", "subject"]),
    "voter": (_VOTERS, []),
    "order": (["presentation_order", "position", "response_order", "prompt_order"], []),
    "flip": (["order_flip", "flipped"], []),
    "length_a": (["len_a"], []),
    "length_b": (["len_b"], []),
}


_NUMBERED, _NUMBERS = ("question", "item", "prompt", "case", "query"), ("nr", "no", "number")
#: Names that count where a table has no other for it, and does not use them for something else.
LAST_OF: Mapping[str, Sequence[str]] = {
    "item": [
        "instruction_id",
        "response_id",
        "text_id",
        "data_id",
        "uuid",
        "pid",
        *(f"{one}_{nr}" for one in _NUMBERED for nr in _NUMBERS),
    ],
    "model": ["source_model", "dialogue_system", "agent", "agent_name", "agent_id"],
}
