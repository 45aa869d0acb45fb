# Every target prepares what it needs; what is there already costs next to nothing.
#   make demo   the packaged example in containers, with a rehearsed model: needs no key
#   make test   all tests (SKILLWALKER_NO_DOCKER=1: those that need containers are skipped)
#   make lint   format, lint and types        make bench   the measurements in benchmarks/
#   make fuzz   bad input in quantity, for the night: 20,000 examples a test, or FUZZ_EXAMPLES
.PHONY: demo test lint bench fuzz cassettes image venv docker browser clean

VENV := .venv
export PIP_DISABLE_PIP_VERSION_CHECK = 1

demo: image
	@$(VENV)/bin/skillwalker demo

test: docker browser
	@[ "$$SKILLWALKER_NO_DOCKER" = 1 ] || $(VENV)/bin/skillwalker image build
	@$(VENV)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: venv
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy --strict

bench: image
	@for file in benchmarks/bench_*.py; do echo "$$file"; $(VENV)/bin/python "$$file" || exit 1; done

fuzz: venv
	@HYPOTHESIS_PROFILE=nightly $(VENV)/bin/python -m pytest -q tests/test_fuzz_*.py

# After a change of what the example, Claude Code or the judge asks.
cassettes: image
	@$(VENV)/bin/python .ci/cassettes

image: docker
	@$(VENV)/bin/skillwalker image build

venv:
	@sh .ci/venv $(VENV)

# For the tests of the HTML report.
browser: venv
	@sh .ci/browser

docker: venv
	@sh .ci/docker $(VENV)

clean:
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find skillwalker expectations_contrib -name __pycache__ -prune -exec rm -rf {} +
