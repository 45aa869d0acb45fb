"""Runs whose model is a server: real Claude Code, real containers, and a key that stays in the runner."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_support import Model, uses
from roots import an_eval, plugin
from tls_support import Authority
from upstream_support import SECRET, Proxy, Server, says

from skillwalker.models import MODEL_IDS
from skillwalker.sandbox.docker import DockerSandbox

SCRIPTS = {
    "spreadsheet": [
        uses("Skill", skill="acme:tidy"),
        uses("Bash", command="echo a,b > out.csv; cat out.csv", description="write"),
        "It is tidy.",
    ],
    "weather": ["It rains."],
}
TESTS = [
    {
        "name": "tidies",
        "promptFile": "tidy.md",
        "expect": [
            {"skill-call": {"skill": "acme:tidy", "expected": True}},
            {"result-contains": "tidy"},
            {"llm-judge": {"rubricFile": "r.md"}},
        ],
    },
    {
        "name": "leaves alone",
        "promptFile": "weather.md",
        "expect": [{"skill-call": {"skill": "acme:tidy", "expected": False}}],
    },
]
PROMPTS = {"tidies": "Tidy this spreadsheet", "leaves alone": "What is the weather?"}


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(SCRIPTS) as server:
        yield server


@pytest.fixture
def root(tmp_path: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
    plugin(tmp_path)
    an_eval(tmp_path, TESTS, prompts=PROMPTS, rubrics={"r.md": "- It is tidy\n- It is short\n"})
    return tmp_path


@pytest.fixture
def run(root: Path, run_cli: Any, sandbox_image: str) -> Any:
    def call(*options: str, code: int = 0) -> tuple[dict[str, Any], str]:
        called = run_cli(
            *("--root", root, "run", "--isolated", "--image", sandbox_image, "--format", "json", *options)
        )
        assert called.code == code, called.out + called.err
        return json.loads(called.out), called.err

    return call


def test_a_model_is_asked_by_who_has_a_key_and_nobody_else_sees_it(root, run, model):
    found, err = run()

    assert (found["outcome"], found["model_source"]) == ("passed", "api")
    assert "REHEARSED" not in err
    assert {asked.path.partition("?")[0] for asked in model.asked} == {"/v1/messages"}
    assert {asked.headers["x-api-key"] for asked in model.asked} == {SECRET}
    assert not any("authorization" in asked.headers for asked in model.asked)
    directory = root / ".skillwalker" / "runs" / found["run_id"]
    for path in directory.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    manifest = json.loads((directory / "run.json").read_text())
    assert manifest["credential"] == "api-key"
    assert manifest["models"]["resolved"] == {"sonnet": {"claude-sonnet-5-5": 2}}


def test_any_server_can_be_asked_also_behind_a_proxy_and_with_an_own_authority(
    root, run, tmp_path, monkeypatch
):
    authority = Authority(tmp_path / "authority")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.sign("model.example"))
    with Model(SCRIPTS, tls=context) as server, Proxy(server.port) as proxy:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://model.example/anthropic")
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(authority.certificate))
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", SECRET)

        found, _ = run()

    assert found["outcome"] == "passed"
    assert {asked.path.partition("?")[0] for asked in server.asked} == {"/anthropic/v1/messages"}
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {SECRET}"}
    assert proxy.asked
    assert all(asked.startswith("CONNECT model.example:443 ") for asked in proxy.asked)
    directory = root / ".skillwalker" / "runs" / found["run_id"]
    assert json.loads((directory / "run.json").read_text())["credential"] == "auth-token"


def test_what_a_trial_costs_is_counted_with_its_judges_apart(run):
    found, _ = run()

    tidies, alone = (test["trials"][0] for test in found["tests"])
    assert tidies["cost_usd"] == pytest.approx(3 * alone["cost_usd"])
    assert tidies["cost_usd"] > 0
    assert tidies["judge_cost_usd"] > 0
    assert alone["judge_cost_usd"] == 0
    for which in ("cost_usd", "judge_cost_usd"):
        assert found["totals"][which] == pytest.approx(tidies[which] + alone[which])
    assert not any("Claude Code counts" in note for note in (*tidies["notes"], *alone["notes"]))


def test_a_recorded_run_is_replayed_without_key_and_server(root, run, model, monkeypatch):
    recorded, _ = run("--record", str(root / "cassettes"))
    asked = len(model.asked)
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    replayed, err = run("--replay", str(root / "cassettes"))

    assert len(model.asked) == asked
    assert (recorded["model_source"], replayed["model_source"]) == ("record", "replay")
    assert err.startswith("REPLAYED")
    assert replayed["totals"]["cost_usd"] is None
    assert [verdicts(test) for test in replayed["tests"]] == [verdicts(test) for test in recorded["tests"]]
    for path in (root / "cassettes").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()


def verdicts(test: dict[str, Any]) -> Any:
    (trial,) = test["trials"]
    return [(one["type"], one["outcome"], one["message"]) for one in trial["expectations"]]


def test_at_the_cap_no_new_turn_starts_and_the_trial_says_so(root, run, model):
    found, err = run("--max-cost", "0.005", "--jobs", "1", code=6)

    trials = {test["name"]: test["trials"][0] for test in found["tests"]}
    assert trials["tidies"]["reason"] == "budget"
    assert "beyond it" in err
    assert len(model.asked) < 5
    assert {one["outcome"] for one in trials["leaves alone"]["expectations"]} == {"unmeasured"}


def test_a_recorded_run_that_its_cap_cut_goes_on_with_a_higher_one(
    root, run, run_cli, sandbox_image, model, monkeypatch
):
    cut, _ = run("--record", str(root / "cassettes"), "--max-cost", "0.005", "--jobs", "1", code=6)
    asked = len(model.asked)
    again = ("--root", root, "run", "--resume", cut["run_id"], "--format", "json")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-the-tests-only-too")

    refused = run_cli(*again)
    assert (refused.code, len(model.asked)) == (4, asked)
    assert "--max-cost $0.005 is reached already" in refused.out
    called = run_cli(*again, "--max-cost", "1")

    assert called.code == 0, called.out + called.err
    found = json.loads(called.out)
    assert (found["run_id"], found["outcome"], found["model_source"]) == (cut["run_id"], "passed", "record")
    assert "began with another kind of credential (api-key); it goes on with auth-token" in called.err
    manifest = json.loads((root / ".skillwalker" / "runs" / cut["run_id"] / "run.json").read_text())
    assert manifest["credential"] == "api-key, auth-token"
    assert manifest["options"]["max_cost_usd"] == 1
    assert (
        manifest["models"]["asked"] == manifest["models"]["resolved"] == {"sonnet": {"claude-sonnet-5-5": 2}}
    )
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN")
    replayed, _ = run("--replay", str(root / "cassettes"))
    assert [verdicts(test) for test in replayed["tests"]] == [verdicts(test) for test in found["tests"]]


def test_a_dry_run_tells_what_such_trials_cost_before(root, run, run_cli, model):
    unknown = run_cli("--root", root, "run", "--isolated", "--dry-run")
    assert "cost unknown: no earlier trial" in unknown.out
    found, _ = run()
    asked = len(model.asked)

    told = run_cli("--root", root, "run", "--isolated", "--trials", "2", "--max-cost", "1", "--dry-run")
    options = ("--root", root, "run", "--isolated", "--trials", "2", "--dry-run", "--format", "json")
    as_json = run_cli(*options)
    capped = json.loads(run_cli(*options, "--max-cost", "1", "--jobs", "3").out)["max_cost"]

    assert "by the cheapest and the dearest of 2 earlier trials in 1 run" in told.out
    assert "beyond it" in told.out
    assert "models, judges' too: claude-opus-5-5, claude-sonnet-5-5\n" in told.out
    plan = json.loads(as_json.out)
    assert plan["max_cost"] is None
    assert (capped["usd"], capped["jobs"]) == (1, 3)
    assert f"at most ${capped['overrun_usd'] / 3:.2f} beyond it" in told.out
    assert capped["assumptions"].startswith("3 x one request to claude-opus-5-5 ")
    assert plan["models"] == ["claude-opus-5-5", "claude-sonnet-5-5"]
    cost = plan["cost_usd"]
    spent = found["totals"]["cost_usd"] + found["totals"]["judge_cost_usd"]
    assert cost["low"] == cost["high"] == pytest.approx(2 * spent)
    assert len(model.asked) == asked


def test_a_cap_needs_prices(root, run_cli, sandbox_image, model):
    called = run_cli(
        *("--root", root, "run", "--isolated", "--image", sandbox_image),
        *("--model", "claude-newest-9", "--max-cost", "1"),
    )

    assert called.code == 4
    assert "claude-newest-9" in called.err
    assert not model.asked


def test_a_refused_pace_holds_all_trials_and_is_told(run, model):
    model.pending = [(429, "rate_limit_error", {"retry_after": "10"})]

    found, err = run()

    assert found["outcome"] == "passed"
    assert "the API asks to slow down: all trials wait 10 s" in err
    trials = [test["trials"][0] for test in found["tests"]]
    held = [one for one in trials if any("held back for 1" in note for note in one["notes"])]
    assert held
    assert all(one["duration_ms"] + 9_000 < found["totals"]["duration_ms"] for one in held)


def test_a_subscription_is_used_by_claude_code_alone_also_for_judging_and_in_a_replay(
    root, run, model, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-of-the-tests-only")
    monkeypatch.setenv("SHOP_TOKEN", "of-the-trials-alone")
    (root / "skillwalker.toml").write_text("[model]\nsubscription = true\n[sandbox]\nenv = ['SHOP_TOKEN']\n")
    began: list[tuple[str, bool]] = []
    start = DockerSandbox.start

    def started(self: DockerSandbox, request: Any, *more: Any) -> Any:
        process = start(self, request, *more)
        details = self._client.api.inspect_container(process._container)
        began.append((request.trial_id, "SHOP_TOKEN=of-the-trials-alone" in details["Config"]["Env"]))
        return process

    monkeypatch.setattr(DockerSandbox, "start", started)

    found, _ = run("--record", str(root / "cassettes"))

    assert {passed for trial, passed in began if not trial.endswith(".judge")} == {True}
    assert [passed for trial, passed in began if trial.endswith(".judge")] == [False]

    assert found["outcome"] == "passed"
    assert {asked.headers["authorization"] for asked in model.asked} == {
        "Bearer sk-ant-oat01-of-the-tests-only"
    }
    assert all("oauth-2025-04-20" in asked.headers["anthropic-beta"] for asked in model.asked)
    assert all("claude-cli" in asked.headers["user-agent"] for asked in model.asked)

    asked = len(model.asked)
    monkeypatch.delenv("CLAUDE_CODE_OAUTH_TOKEN")
    replayed, _ = run("--replay", str(root / "cassettes"))
    assert [verdicts(test) for test in replayed["tests"]] == [verdicts(test) for test in found["tests"]]
    assert len(model.asked) == asked


def test_without_a_credential_nothing_starts_and_all_ways_are_named(root, run_cli, monkeypatch, model):
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    called = run_cli("--root", root, "run", "--isolated")

    assert called.code == 4
    for way in ("ANTHROPIC_API_KEY", "--rehearse", "--replay", "subscription"):
        assert way in called.err
    assert not model.asked


def test_stored_trials_are_judged_again_by_a_model(root, run, run_cli, model):
    run()
    asked = len(model.asked)

    called = run_cli("--root", root, "rejudge", "--format", "json")

    assert called.code == 0, called.err
    assert len(model.asked) == asked + 1


def test_a_page_in_place_of_a_model_is_asked_for_once_and_told(root, run, monkeypatch):
    page = says(200, b"<html><title>Guest network</title>Please log in</html>", "text/html")
    with Server(page) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)

        found, _ = run("csv::leaves alone", code=6)

    (trial,) = found["tests"][0]["trials"]
    assert trial["reason"] == "api-error"
    told = trial["expectations"][0]["message"]
    assert "text/html: Guest network Please log in" in told
    assert f"is ANTHROPIC_BASE_URL ({server.url}) right" in told
    assert len([asked for asked in server.asked if asked.method == "POST"]) == 1


@pytest.mark.parametrize("alias", MODEL_IDS)
def test_claude_code_takes_an_alias_for_the_id_that_we_know(run, model, alias):
    found, err = run("csv::leaves alone", "--model", alias, "--trials", "3", "--jobs", "3")

    assert {asked.json["model"] for asked in model.asked} == {MODEL_IDS[alias]}
    assert len(found["tests"][0]["trials"]) == 3
    assert "was taken for" not in err
