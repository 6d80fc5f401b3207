"""Files of every tool, written from its public description, and what each of them says.

Every fixture has three records or more; one with an error and one without a score where the tool has such
things, and one with a person's mark where the tool knows people.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

__all__ = ["FIXTURES", "Fixture", "packed"]


@dataclass(frozen=True, kw_only=True)
class Fixture:
    """One file and what it says.

    Attributes
    ----------
    name : str
        Of the file.
    content : Any
        Records, an enclosing object, or a frame for CSV.
    tool : str
        The format's name.
    items, models, judges : tuple of str
        What the rows name, sorted.
    labels : int
        Rows with a person's mark or vote.
    dropped : mapping of str to int
        Records that give no row.
    beside : mapping of str to Any
        Other files of the folder.
    """

    name: str
    content: Any
    tool: str
    items: tuple[str, ...]
    models: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    labels: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path, name: str | None = None) -> Path:
        """The file, in a folder."""
        for other, content in self.beside.items():
            (folder / other).write_text(json.dumps(content))
        path = folder / (name or self.name)
        path.write_bytes(self.bytes)
        return path

    @property
    def bytes(self) -> bytes:
        """The file's content."""
        if self.name.endswith(".eval"):
            return packed(self.content)
        if self.name.endswith(".qrels"):
            return self.content.to_csv(sep=" ", header=False, index=False).encode()
        if isinstance(self.content, pd.DataFrame):
            return self.content.to_csv(index=False).encode()
        if self.name.endswith(".jsonl"):
            return "".join(json.dumps(record) + "\n" for record in self.content).encode()
        return json.dumps(self.content, indent=1).encode()


def packed(members: Mapping[str, Any]) -> bytes:
    """A zip archive of JSON members, compressed with Zstandard as Inspect does."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            plain, info = json.dumps(content).encode(), zipfile.ZipInfo(name)
            body: bytes = pa.compress(plain, codec="zstd", asbytes=True)
            archive.writestr(info, body)
            # ``zipfile`` writes method 93 from Python 3.14 on only: the directory, written last, names it.
            info.compress_type, info.file_size, info.CRC = 93, len(plain), zlib.crc32(plain)
    return stream.getvalue()


def _edit(value: str, **more: Any) -> dict[str, Any]:
    return {"value": value, **more}


_PROVENANCE = {"provenance": {"timestamp": "2026-01-01T00:00:00Z", "author": "ana"}}
_SAMPLES = [
    {"id": "q1", "epoch": 1, "target": "yes", "scores": {"model_graded_qa": {"value": "C"}}},
    {
        "id": "q2",
        "epoch": 1,
        "target": "yes",
        "scores": {"model_graded_qa": {"value": "C", "history": [_edit("I"), _edit("C", **_PROVENANCE)]}},
    },
    {"id": "q3", "epoch": 1, "target": "no", "scores": {}},
    {"id": "q4", "epoch": 1, "target": "no", "scores": {}, "error": {"message": "timeout"}},
]
_RUN = {
    "task": "qa",
    "model": "openai/gpt-4o",
    "scorers": [{"name": "model_graded_qa", "options": {"model": {"model": "openai/o3"}}}],
}

_THUMB = {"pass": False, "score": 0, "assertion": {"type": "human"}}


def _promptfoo(question: int, provider: str, place: int, **more: Any) -> dict[str, Any]:
    rubric = {"pass": True, "score": 0.9, "assertion": {"type": "llm-rubric", "provider": "openai:o3"}}
    return {
        "promptIdx": place,
        "testIdx": question,
        "provider": {"id": provider},
        "success": True,
        "failureReason": 0,
        "testCase": {"vars": {"question": f"q{question}", "expected": "yes"}},
        "prompt": {"label": "p"},
        "gradingResult": {"pass": True, "componentResults": [rubric, *more.pop("components", [])]},
        **more,
    }


_PROMPTFOO = [
    _promptfoo(0, "a", 0),
    _promptfoo(0, "b", 1, components=[_THUMB], success=False),
    _promptfoo(1, "a", 0),
    _promptfoo(1, "b", 1, failureReason=2, error="timeout"),
    {**_promptfoo(2, "a", 0), "gradingResult": None, "success": None},
]
_VARS = tuple(json.dumps({"expected": "yes", "question": f"q{k}"}) for k in range(3))


def _deepeval(question: str, **metric: Any) -> dict[str, Any]:
    found = {"name": "Correctness", "threshold": 0.5, "success": True, "score": 0.8, "evaluationModel": "o3", **metric}
    return {"name": "test_case_0", "input": question, "actualOutput": "x", "success": False, "metricsData": [found]}


def _assessment(name: str, value: Any, kind: str, who: str, **more: Any) -> dict[str, Any]:
    return {
        "assessment_id": f"{who}-{name}",
        "assessment_name": name,
        "feedback": {"value": value},
        "source": {"source_type": kind, "source_id": who},
        "valid": True,
        **more,
    }


_VOTE = {"model_a": "x", "model_b": "y"}
_CELLS = (None, "Status", "Score", "Named Scores", "Grader Reason", "Comment")
_CSV_PROMPTFOO = pd.DataFrame(
    [
        ["hi", "out", "PASS", "1", "{}", "", "", "out", "FAIL", "0", "{}", "", ""],
        ["ho", "out", "PASS", "1", "{}", "", "", "out", "ERROR", "0", "{}", "", ""],
        ["hu", "out", "", "", "", "", "", "out", "", "", "", "", ""],
    ],
    columns=[
        "question",
        *(f"[{provider}] {{{{question}}}}" if name is None else name for provider in "ab" for name in _CELLS),
    ],
)


def _azure(question: int, score: float | None, result: str | None) -> dict[str, Any]:
    metric = "outputs.groundedness.groundedness"
    about = {"result": result, "threshold": 3, "reason": "x", "prompt_tokens": 10, "model": "o3"}
    asked = {"inputs.query": f"q{question}", "inputs.response": "x", "inputs.model": "gpt"}
    padded = {"outputs.groundedness.row_missing": False}
    return {**asked, metric: score, **padded, **{f"{metric}_{name}": value for name, value in about.items()}}


def _bedrock(result: float | None) -> dict[str, Any]:
    judge = {"modelIdentifier": "claude", "explanation": "x"}
    return {"metricName": "Builtin.Correctness", "result": result, "evaluatorDetails": [judge]}


def _worker(given: list[bool]) -> dict[str, Any]:
    thumbs = [{"metricName": "Accuracy", "modelResponseId": str(k), "result": up} for k, up in enumerate(given)]
    return {"thumbsUpDown": thumbs, "comparisonRank": [{"metricName": "Fluency", "result": []}]}


_FIXTURES: Mapping[str, Fixture] = {
    "inspect-eval": Fixture(
        name="log.eval",
        tool="inspect",
        items=("qa/q1", "qa/q2"),
        models=("openai/gpt-4o",),
        judges=("openai/o3",),
        labels=1,
        dropped={"not scored": 1, "error": 1},
        content={
            "header.json": {"version": 2, "eval": _RUN},
            "summaries.json": _SAMPLES,
            "samples/q1_epoch_1.json": {"never": "read"},
        },
    ),
    "inspect-samples": Fixture(
        name="samples.csv",
        tool="inspect-samples",
        items=("q1", "q2"),
        models=("e1",),
        judges=("qa",),
        dropped={"not scored": 1},
        content=pd.DataFrame(
            {
                "sample_id": ["u1", "u2", "u3"],
                "eval_id": "e1",
                "id": ["q1", "q2", "q3"],
                "epoch": 1,
                "target": ["yes", "no", "no"],
                "score_qa": ["C", "I", None],
            }
        ),
    ),
    "lm-eval": Fixture(
        name="samples_arc_2026-01-01T00-00-00.000000.jsonl",
        tool="lm-eval",
        items=("arc/0", "arc/1"),
        models=("gpt2",),
        judges=("reference",),
        dropped={"not scored": 1},
        beside={"results_2026-01-01T00-00-00.000000.json": {"model_name": "gpt2", "results": {}}},
        content=[
            {"doc_id": k, "doc": {}, "target": "1", "filter": "none", "metrics": ["acc"], "doc_hash": "h", "acc": score}
            for k, score in enumerate((1.0, 0.0, None))
        ],
    ),
    "promptfoo": Fixture(
        name="results.json",
        tool="promptfoo",
        items=_VARS[:2],
        models=("a", "b"),
        judges=("openai:o3",),
        labels=1,
        dropped={"error": 1, "not scored": 1},
        content={"evalId": "e", "results": {"version": 3, "results": _PROMPTFOO, "prompts": []}, "config": {}},
    ),
    "promptfoo-csv": Fixture(
        name="results.csv",
        tool="promptfoo-csv",
        content=_CSV_PROMPTFOO,
        models=("a", "b"),
        judges=("promptfoo",),
        items=('{"question": "hi"}', '{"question": "ho"}'),
        dropped={"not scored": 1},
    ),
    "deepeval": Fixture(
        name="test_run.json",
        tool="deepeval",
        items=("q1", "q2"),
        models=("gpt",),
        judges=("o3",),
        dropped={"error": 1, "not scored": 1},
        content={
            "hyperparameters": {"model": "gpt"},
            "testCases": [
                _deepeval("q1"),
                _deepeval("q2", success=False, score=0.1),
                _deepeval("q3", error="timeout", success=None),
                {**_deepeval("q4"), "metricsData": []},
            ],
        },
    ),
    "azure-evaluation": Fixture(
        name="results.json",
        tool="azure-evaluation",
        items=("q1", "q2"),
        models=("gpt",),
        judges=("o3",),
        dropped={"not scored": 1},
        content={
            "metrics": {"groundedness.groundedness": 3.0},
            "studio_url": None,
            "rows": [_azure(1, 5.0, "pass"), _azure(2, 1.0, "fail"), _azure(3, None, None)],
        },
    ),
    "bedrock": Fixture(
        name="a_output.jsonl",
        tool="bedrock",
        items=("q1", "q2"),
        models=("nova",),
        judges=("claude",),
        dropped={"not scored": 2},
        content=[
            {
                "automatedEvaluationResult": {"scores": scores},
                "inputRecord": {"prompt": f"q{k}", "referenceResponse": "x", "category": "law"},
                "modelResponses": [{"response": "x", "modelIdentifier": "nova"}],
            }
            for k, scores in ((1, [_bedrock(1.0)]), (2, [_bedrock(0.5)]), (3, [_bedrock(None)]), (4, []))
        ],
    ),
    "bedrock-workers": Fixture(
        name="b_output.jsonl",
        tool="bedrock-workers",
        items=("q1", "q2"),
        models=("nova", "titan"),
        labels=4,
        dropped={"not scored": 1},
        content=[
            {
                "humanEvaluationResult": {
                    "humanAnswers": [{"answerContent": {"evaluationResults": _worker(given)}, "workerId": "w"}],
                    "modelResponseIdMap": {"0": "nova", "1": "titan"},
                },
                "inputRecord": {"prompt": {"text": f"q{k}"}},
                "modelResponses": [{"text": "x", "modelIdentifier": "nova"}, {"text": "x", "modelIdentifier": "titan"}],
            }
            for k, given in ((1, [True, False]), (2, [False, False]), (3, []))
        ],
    ),
    "openai-evals": Fixture(
        name="run.jsonl",
        tool="openai-evals",
        items=("s.1", "s.2"),
        models=("gpt",),
        judges=("o3",),
        dropped={"an event of type sampling": 1, "not scored": 1},
        content=[
            {"spec": {"completion_fns": ["gpt", "o3"], "run_id": "r"}},
            *(
                {"run_id": "r", "event_id": k, "sample_id": f"s.{k}", "type": kind, "data": data}
                for k, (kind, data) in enumerate(
                    [("sampling", {}), ("metrics", {"score": 1}), ("metrics", {"score": 0}), ("metrics", {})]
                )
            ),
            {"final_report": {"accuracy": 0.5}},
        ],
    ),
    "openai-api": Fixture(
        name="items.json",
        tool="openai-evals-api",
        items=("1", "2"),
        models=("gpt",),
        judges=("grader",),
        dropped={"error": 1, "not scored": 1},
        content={
            "object": "list",
            "has_more": False,
            "data": [
                {
                    "id": f"i{k}",
                    "eval_id": "e",
                    "run_id": "r",
                    "status": status,
                    "datasource_item_id": k,
                    "sample": {"model": "gpt"},
                    "results": results,
                }
                for k, (status, results) in enumerate(
                    [
                        ("error", []),
                        ("pass", [{"name": "grader", "passed": True, "score": 1}]),
                        ("fail", [{"name": "grader", "passed": False, "score": 0}]),
                        ("pass", []),
                    ]
                )
            ],
        },
    ),
    "langsmith": Fixture(
        name="experiment.csv",
        tool="langsmith",
        items=("e1", "e2"),
        judges=("correctness",),
        dropped={"error": 1, "not scored": 1},
        content=pd.DataFrame(
            {
                "example_id": ["e1", "e2", "e3", "e4"],
                "inputs.q": "hi",
                "reference.answer": "yes",
                "error": [None, None, "timeout", None],
                "feedback.correctness": [1, 0, None, None],
            }
        ),
    ),
    "langsmith-feedback": Fixture(
        name="feedback.jsonl",
        tool="langsmith-feedback",
        items=("r1", "r2"),
        judges=("correct",),
        labels=1,
        dropped={"not scored": 1},
        content=[
            {"key": "correct", "score": score, "run_id": run, "feedback_source": {"type": kind}}
            for run, score, kind in (("r1", 1, "model"), ("r1", 0, "app"), ("r2", 1, "model"), ("r3", None, "model"))
        ],
    ),
    "langfuse": Fixture(
        name="scores.json",
        tool="langfuse",
        items=("t1", "t2"),
        judges=("correct",),
        labels=1,
        dropped={"not scored": 1},
        content={
            "data": [
                {
                    "id": str(k),
                    "name": "correct",
                    "traceId": trace,
                    "value": value,
                    "source": source,
                    "dataType": "BOOLEAN",
                }
                for k, (trace, value, source) in enumerate(
                    [("t1", 1, "EVAL"), ("t1", 0, "ANNOTATION"), ("t2", 0, "EVAL"), ("t3", None, "EVAL")]
                )
            ]
        },
    ),
    "langfuse-export": Fixture(
        name="scores.jsonl",
        tool="langfuse-export",
        items=("t1", "t2"),
        judges=("tone",),
        labels=1,
        dropped={"not scored": 1},
        content=[
            {
                "name": "tone",
                "trace_id": trace,
                "value": 0,
                "string_value": value,
                "source": source,
                "data_type": "CATEGORICAL",
            }
            for trace, value, source in (
                ("t1", "yes", "EVAL"),
                ("t1", "no", "ANNOTATION"),
                ("t2", "no", "EVAL"),
                ("t3", None, "EVAL"),
            )
        ],
    ),
    "braintrust": Fixture(
        name="experiment.json",
        tool="braintrust",
        items=("q1", "q2"),
        models=("gpt",),
        judges=("Factuality",),
        dropped={"not a root span": 1, "error": 1, "not scored": 1},
        content=[
            {
                "span_id": f"s{k}",
                "root_span_id": f"s{root}",
                "input": f"q{k}",
                "expected": "yes",
                "metadata": {"model": "gpt"},
                "scores": scores,
                "error": error,
            }
            for k, root, scores, error in (
                (1, 1, {"Factuality": 1}, None),
                (2, 2, {"Factuality": 0}, None),
                (3, 1, {"Factuality": 1}, None),
                (4, 4, {"Factuality": None}, None),
                (5, 5, None, "timeout"),
            )
        ],
    ),
    "mlflow": Fixture(
        name="traces.json",
        tool="mlflow",
        items=('{"q": "q1"}', '{"q": "q2"}'),
        models=("run",),
        judges=("openai:/o3",),
        labels=1,
        dropped={"not scored": 2},
        content=[
            {"trace_id": f"tr-{k}", "run_name": "run", "inputs": {"q": f"q{k}"}, "assessments": given}
            for k, given in (
                (
                    1,
                    [
                        _assessment("ok", "yes", "LLM_JUDGE", "openai:/o3", valid=False),
                        _assessment("ok", "no", "HUMAN", "ana", overrides="openai:/o3-ok"),
                    ],
                ),
                (2, [_assessment("ok", "no", "LLM_JUDGE", "openai:/o3")]),
                (3, [_assessment("ok", "unknown", "LLM_JUDGE", "openai:/o3")]),
                (4, []),
            )
        ],
    ),
    "mlflow-results": Fixture(
        name="results.csv",
        tool="mlflow-results",
        items=("q1", "q2"),
        judges=("ok",),
        dropped={"not scored": 1},
        content=pd.DataFrame({"inputs": ["q1", "q2", "q3"], "expectations": "yes", "ok/value": ["yes", "no", None]}),
    ),
    "phoenix": Fixture(
        name="evals.csv",
        tool="phoenix",
        items=("q1", "q2"),
        judges=("o3",),
        labels=1,
        dropped={"not scored": 1},
        content=pd.DataFrame(
            {
                "input": ["q1", "q2", "q3"],
                "ok_score": [
                    json.dumps({"score": score, "kind": "llm", "metadata": {"model": "o3"}}) for score in (1, 0, 1)
                ],
                "ok_execution_details": [
                    json.dumps({"status": status}) for status in ("COMPLETED", "COMPLETED", "FAILED")
                ],
                "person_score": [None, json.dumps({"score": 1, "kind": "human"}), None],
            }
        ),
    ),
    "phoenix-annotations": Fixture(
        name="annotations.jsonl",
        tool="phoenix-annotations",
        items=("s1", "s2"),
        judges=("ok",),
        labels=1,
        dropped={"not scored": 1},
        content=[
            {"span_id": span, "annotation_name": "ok", "annotator_kind": kind, "score": score, "label": None}
            for span, kind, score in (("s1", "LLM", 1), ("s1", "HUMAN", 0), ("s2", "LLM", 0), ("s3", "LLM", None))
        ],
    ),
    "weave": Fixture(
        name="calls.jsonl",
        tool="weave",
        items=('{"q": "q1"}', '{"q": "q2"}'),
        models=("weave:///m",),
        judges=("scorer",),
        labels=1,
        dropped={"another call than predict_and_score": 1, "error": 1, "not scored": 1},
        content=[
            {
                "op_name": op,
                "inputs": {"example": {"q": q}, "model": "weave:///m"},
                "output": output,
                "exception": error,
                "feedback": feedback,
            }
            for op, q, output, error, feedback in (
                (
                    "x/Evaluation.predict_and_score:v1",
                    "q1",
                    {"scores": {"scorer": {"correct": True}}},
                    None,
                    [{"feedback_type": "wandb.annotation.correct", "payload": {"value": False}}],
                ),
                ("x/Evaluation.predict_and_score:v1", "q2", {"scores": {"scorer": {"correct": False}}}, None, []),
                ("x/Evaluation.evaluate:v1", "q1", {}, None, []),
                ("x/Evaluation.predict_and_score:v1", "q3", None, "timeout", []),
                ("x/Evaluation.predict_and_score:v1", "q4", {"scores": {}}, None, []),
            )
        ],
    ),
    "helm": Fixture(
        name="per_instance_stats.json",
        tool="helm",
        items=("wildbench/id1", "wildbench/id2"),
        models=("gpt",),
        judges=("wildbench_score",),
        dropped={"perturbation": 1, "not scored": 1},
        beside={"run_spec.json": {"name": "wildbench:subset=v2", "adapter_spec": {"model_deployment": "gpt"}}},
        content=[
            {"instance_id": f"id{k}", "train_trial_index": 0, "stats": stats, **more}
            for k, stats, more in (
                (1, [{"name": {"name": "wildbench_score"}, "mean": 1, "count": 1}], {}),
                (2, [{"name": {"name": "wildbench_score"}, "mean": 0, "count": 1}], {}),
                (1, [{"name": {"name": "wildbench_score"}, "mean": 0}], {"perturbation": {"name": "typos"}}),
                (3, [], {}),
            )
        ],
    ),
    "mt-bench-single": Fixture(
        name="single.jsonl",
        tool="mt-bench-single",
        items=("81 turn 1", "81 turn 2"),
        models=("x",),
        judges=("gpt-4 single-v1",),
        dropped={"failed parse": 1},
        content=[
            {"question_id": q, "model": "x", "judge": ["gpt-4", "single-v1"], "score": score, "turn": turn}
            for q, turn, score in ((81, 1, 9), (81, 2, 4), (82, 1, -1))
        ],
    ),
    "mt-bench-pair": Fixture(
        name="pair.jsonl",
        tool="mt-bench-pair",
        items=("81 turn 1", "82 turn 1"),
        judges=("gpt-4 pair-v2",),
        dropped={"error": 1},
        content=[
            {
                "question_id": q,
                "model_1": "x",
                "model_2": "y",
                "g1_winner": one,
                "g2_winner": two,
                "turn": 1,
                "judge": ["gpt-4", "pair-v2"],
            }
            for q, one, two in ((81, "model_1", "model_2"), (82, "tie", "error"), (83, "error", "error"))
        ],
    ),
    "mt-bench-votes": Fixture(
        name="human.jsonl",
        tool="mt-bench-votes",
        items=("81 turn 1", "82 turn 1", "83 turn 1"),
        labels=3,
        content=[
            {"question_id": q, **_VOTE, "winner": winner, "judge": "expert_1", "turn": 1}
            for q, winner in ((81, "model_a"), (82, "tie"), (83, "model_b"))
        ],
    ),
    "arena-hard": Fixture(
        name="judgments.jsonl",
        tool="arena-hard",
        items=("u1", "u2"),
        judges=("o3",),
        dropped={"not scored": 2},
        content=[
            {"uid": uid, "model": "x", "baseline": "base", "judge": "o3", "games": games}
            for uid, games in (
                ("u1", [{"score": "A>B"}, {"score": "A>B"}]),
                ("u2", [{"score": "B>>A"}, None]),
                ("u3", [{"score": None}, {"score": None}]),
                ("u4", []),
            )
        ],
    ),
    "alpaca-eval": Fixture(
        name="annotations.json",
        tool="alpaca-eval",
        items=("say a", "say b"),
        judges=("gpt4",),
        dropped={"not scored": 1},
        content=[
            {
                "instruction": q,
                "output_1": "a",
                "output_2": "b",
                "generator_1": "base",
                "generator_2": "new",
                "annotator": "gpt4",
                "preference": preference,
            }
            for q, preference in (("say a", 1), ("say b", 2), ("say c", None))
        ],
    ),
    "judgebench": Fixture(
        name="judgments.jsonl",
        tool="judgebench",
        items=("p1", "p2"),
        judges=("o3",),
        labels=3,
        dropped={"not scored": 1},
        content=[
            {
                "pair_id": item,
                "source": "maths",
                "question": "2 + 2?",
                "response_model": "x",
                "response_A": "4",
                "response_B": "5",
                "label": "A>B",
                "judge_name": "arena_hard",
                "judgments": [
                    game and {"judgment": {"judge_model": "o3", "response": game}, "decision": game} for game in games
                ],
            }
            for item, games in (("p1", ("A>B", "A>B")), ("p2", ("B>A", None)), ("p3", (None, "?")))
        ],
    ),
    "judge-log": Fixture(
        name="replies.jsonl",
        tool="judge-log",
        items=("q1", "q2"),
        models=(),
        judges=("gpt",),
        labels=2,
        dropped={"no reply": 1, "no JSON object": 1},
        content=[
            {
                "item": item,
                "model_a": "x",
                "model_b": "y",
                "human": "a",
                "sha256": f"{k:064}",
                "judge": "gpt",
                "template": "rubric",
                "order": "ab",
                "trial": 1,
                "verdict": verdict,
                "score_a": score,
                "score_b": score and 7.5,
                "failure": failure,
                "reply": reply,
            }
            for k, (item, verdict, score, failure, reply) in enumerate(
                (
                    ("q1", 1.0, 8.0, "", "{...}"),
                    ("q2", None, 6.0, "", "{...}"),
                    ("q3", None, None, "no reply: HTTP 500 Internal Server Error: busy", None),
                    ("q4", None, None, "no JSON object", "I like A."),
                )
            )
        ],
    ),
    "wildbench-pair": Fixture(
        name="pairs.json",
        tool="wildbench-pair",
        items=("s1", "s2"),
        judges=("judge",),
        dropped={"not scored": 1},
        content=[
            {"session_id": s, "model_A": "x", "model_B": "y", "winner": winner, "extent": 1}
            for s, winner in (("s1", "x"), ("s2", "tie"), ("s3", None))
        ],
    ),
    "wildbench-score": Fixture(
        name="scores.json",
        tool="wildbench-score",
        items=("s1", "s2"),
        models=("x",),
        judges=("judge",),
        dropped={"not scored": 1},
        content=[
            {"session_id": s, "model_test": "x", "score": score}
            for s, score in (("s1", "9"), ("s2", "4"), ("s3", None))
        ],
    ),
    "rewardbench": Fixture(
        name="model.json",
        tool="rewardbench",
        items=("1", "2", "3"),
        models=("rm",),
        judges=("gold preference",),
        content={
            "id": ["1", "2", "3"],
            "results": [1, 0, 0.5],
            "subset": ["Math", "Math", "Ties"],
            "model": ["rm"] * 3,
        },
    ),
    "lmarena": Fixture(
        name="votes.jsonl",
        tool="lmarena",
        items=("1", "2", "3"),
        labels=3,
        content=[
            {"id": str(k), **_VOTE, "winner": winner, "language": "en", "conversation_a": [], "conversation_b": []}
            for k, winner in ((1, "model_a"), (2, "both_bad"), (3, "tie"))
        ],
    ),
    "lmarena-kaggle": Fixture(
        name="votes.csv",
        tool="lmarena-kaggle",
        items=("1", "2", "3"),
        labels=3,
        content=pd.DataFrame(
            {
                "id": [1, 2, 3],
                "model_a": "x",
                "model_b": "y",
                "winner_model_a": [1, 0, 0],
                "winner_model_b": [0, 1, 0],
                "winner_tie": [0, 0, 1],
            }
        ),
    ),
    "soft-elo": Fixture(
        name="annotations.csv",
        tool="soft-elo",
        items=("s0", "s1", "s2"),
        labels=3,
        content=pd.DataFrame(
            {
                "row_id": ["s0", "s1", "s2"],
                "model_a": "x",
                "model_b": "y",
                "human_pref": [0.5, 0.0, 1.0],
                "judge_pref": [1.0, 0.25, 0.5],
                "scores_a": "{'clarity': 9.5}",
                "scores_b": "{'clarity': 7}",
            }
        ),
    ),
    "openevals": Fixture(
        name="results.jsonl",
        tool="openevals",
        items=("r1", "r2"),
        judges=("correctness",),
        dropped={"no item: write the question's id next to each result, as item": 1, "not scored": 1},
        content=[
            {"key": "correctness", "score": score, "comment": "because", "source_run_id": run}
            for run, score in (("r1", True), ("r2", False), ("r3", None), (None, True))
        ],
    ),
    "autoevals": Fixture(
        name="results.jsonl",
        tool="autoevals",
        items=("1", "2"),
        judges=("Factuality",),
        dropped={"not scored": 1},
        content=[
            {"name": "Factuality", "score": score, "metadata": {"rationale": "x"}, "item": item}
            for item, score in (("1", 1), ("2", 0), ("3", None))
        ],
    ),
    "ragas": Fixture(
        name="ragas.csv",
        tool="ragas",
        items=("q1", "q2"),
        judges=("faithfulness",),
        dropped={"not scored": 1},
        content=pd.DataFrame(
            {"user_input": ["q1", "q2", "q3"], "response": "x", "reference": "yes", "faithfulness": [1.0, 0.0, None]}
        ),
    ),
    "ragas-annotations": Fixture(
        name="annotations.json",
        tool="ragas-annotations",
        items=('{"q": "q1"}', '{"q": "q2"}', '{"q": "q3"}'),
        judges=("faithful",),
        labels=3,
        content={
            "faithful": [
                {"metric_input": {"q": f"q{k}"}, "metric_output": value, "is_accepted": accepted, "target": target}
                for k, value, accepted, target in ((1, 1, True, None), (2, 1, False, 0), (3, 0, True, None))
            ]
        },
    ),
    "label-studio": Fixture(
        name="tasks.json",
        tool="label-studio",
        items=("q1", "q2"),
        models=("gpt",),
        judges=("o3",),
        labels=2,
        dropped={"cancelled": 1},
        content=[
            {
                "id": k,
                "data": {"item": f"q{k}", "model": "gpt", "text": "x"},
                "annotations": [
                    {
                        "completed_by": 7,
                        "was_cancelled": k == 3,
                        "ground_truth": False,
                        "result": [{"from_name": "correct", "value": {"choices": [choice]}}],
                    }
                ],
                "predictions": [
                    {"model_version": "o3", "result": [{"from_name": "correct", "value": {"choices": ["yes"]}}]}
                ]
                if k < 3
                else [],
            }
            for k, choice in ((1, "yes"), (2, "no"), (3, "yes"))
        ],
    ),
    "label-studio-min": Fixture(
        name="tasks.csv",
        tool="label-studio-min",
        items=("q1", "q2"),
        labels=2,
        dropped={"not annotated": 1},
        content=pd.DataFrame(
            {
                "item": ["q1", "q2", "q3"],
                "id": [1, 2, 3],
                "annotator": 7,
                "annotation_id": [1, 2, 3],
                "lead_time": 2.5,
                "label": ["yes", "no", None],
            }
        ),
    ),
    "argilla": Fixture(
        name="records.json",
        tool="argilla",
        items=("q1", "q2"),
        models=("gpt",),
        judges=("o3",),
        labels=1,
        dropped={"not submitted": 1},
        content=[
            {
                "id": str(k),
                "fields": {"text": "x"},
                "metadata": {"item": f"q{k}", "model": "gpt"},
                "suggestions": suggestions,
                "responses": {"correct": [{"value": "yes", "user_id": "u", "status": status}]},
            }
            for k, status, suggestions in (
                (1, "submitted", {"correct": {"value": "no", "agent": "o3"}}),
                (2, "discarded", {"correct": {"value": "yes", "agent": "o3"}}),
                (3, "draft", {}),
            )
        ],
    ),
    "prodigy": Fixture(
        name="annotations.jsonl",
        tool="prodigy",
        items=("q1", "q2"),
        models=("gpt",),
        labels=2,
        dropped={"ignored": 1},
        content=[
            {
                "text": "x",
                "answer": answer,
                "_input_hash": k,
                "_task_hash": k,
                "meta": {"item": f"q{k}", "model": "gpt"},
            }
            for k, answer in ((1, "accept"), (2, "reject"), (3, "ignore"))
        ],
    ),
    "trec-qrels": Fixture(
        name="umbrela.qrels",
        tool="trec-qrels",
        items=("19335/d1", "19335/d2", "47923/d1"),
        models=("documents",),
        judges=("umbrela",),
        dropped={"no grade that is a number": 1},
        content=pd.DataFrame(
            [("19335", "Q0", "d1", 3), ("19335", "Q0", "d2", 0), ("47923", "Q0", "d1", 1), ("47923", "Q0", "d2", "x")],
            columns=["topic", "iteration", "document", "grade"],
        ),
    ),
}
FIXTURES: Mapping[str, Fixture] = {
    **_FIXTURES,
    "inspect-json": replace(
        _FIXTURES["inspect-eval"],
        name="log.json",
        content={"version": 2, "status": "success", "eval": _RUN, "samples": _SAMPLES},
    ),
    "promptfoo-jsonl": replace(_FIXTURES["promptfoo"], name="results.jsonl", content=_PROMPTFOO),
}
