"""Which reports are wanted, and how they come into their files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from roots import write
from stored_runs import FAILED, PASSED, a_test, a_trial, keep, verdict

from skillwalker.errors import ConfigurationError
from skillwalker.reports.formats import ReportFormat, ReportSpec, Surroundings, parse_reports, write_reports
from skillwalker.store import RunDirectory


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return keep(
        tmp_path,
        a_test("good", a_trial("good", 1, verdict(PASSED))),
        a_test("bad", a_trial("bad", 1, verdict(FAILED))),
    )


def problems(*texts: str, stdout: str | None = None) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        parse_reports(texts, stdout=stdout)
    return [problem.message for problem in caught.value.problems]


def test_a_report_is_a_format_and_a_file() -> None:
    assert parse_reports(["html=a=b.html", "junit=-"]) == (
        ReportSpec(ReportFormat.HTML, Path("a=b.html")),
        ReportSpec(ReportFormat.JUNIT, None),
    )
    assert parse_reports([]) == ()


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "file", "")
    found = problems(
        "htm=x",
        "all",
        "json=",
        f"html={tmp_path}",
        f"html={file}/x",
        f"json={tmp_path}/a",
        f"html={tmp_path}/b/../a",
    )

    assert len(found) == 6
    assert "did you mean html?" in found[0]
    assert "write FORMAT=FILE, FORMAT one of junit, github, markdown, html, json" in found[1]
    assert "json=- for stdout" in found[2]
    assert "names a directory" in found[3]
    assert "is no directory" in found[4]
    assert "another report goes to this file already" in found[5]


def test_only_one_thing_goes_to_stdout() -> None:
    assert "another report goes to stdout already" in problems("html=-", "json=-")[0]
    assert "--format json would both go to stdout" in problems("html=-", stdout="--format json")[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_told_before(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "no permission" in problems(f"html={tmp_path}/x/y.html")[0]


def test_every_format_can_be_written(run: RunDirectory, tmp_path: Path) -> None:
    specs = parse_reports([f"{kind}={tmp_path}/out/{kind}" for kind in ReportFormat])

    assert write_reports(run, specs) == ()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(ReportFormat)
    assert json.loads((tmp_path / "out/json").read_text())["totals"]["failed"] == 1


def test_stdout_gets_it_all(run: RunDirectory, capsys: pytest.CaptureFixture[str]) -> None:
    write_reports(run, parse_reports(["json=-"]))
    assert json.loads(capsys.readouterr().out)["run_id"] == run.id


def test_a_report_that_fails_does_not_take_the_others_with_it(run: RunDirectory, tmp_path: Path) -> None:
    specs = parse_reports([f"html={tmp_path}/gone/a.html", f"json={tmp_path}/b.json"])
    write(tmp_path / "gone", "now a file")

    (failure,) = write_reports(run, specs)
    assert f"--report html={tmp_path}/gone/a.html could not be written" in failure
    assert (tmp_path / "b.json").exists()


def test_a_former_report_stays_until_the_new_one_is_whole(
    run: RunDirectory, tmp_path: Path, monkeypatch
) -> None:
    import skillwalker.reports.junit as junit

    def broken(_: object):
        yield "half"
        raise OSError(28, "No space left on device")

    file = write(tmp_path / "r.xml", "former")
    monkeypatch.setattr(junit, "junit", broken)
    (failure,) = write_reports(run, parse_reports([f"junit={file}"]))

    assert "No space left on device" in failure
    assert file.read_text() == "former"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".r")] == []


def test_the_step_summary_is_added_to(run: RunDirectory, tmp_path: Path) -> None:
    summary = write(tmp_path / "summary.md", "before\n")
    write_reports(run, parse_reports([f"github={tmp_path}/g"]), surroundings=Surroundings(tmp_path, summary))

    assert summary.read_text().startswith("before\n# Skillwalker: failed\n")
