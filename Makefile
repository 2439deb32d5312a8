# Each target is the line that CI and people both run. HOST, PORT and DATA_DIR can be given in the
# environment or as `make run PORT=9000`: make passes both on.

PYTHON_BIN = .venv/bin/python
COMPILE = $(PYTHON_BIN) -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe \
	--no-header --no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.PHONY: run test lint fmt lock bench screenshots

run:
	@sh deploy/venv.sh
	@exec $(PYTHON_BIN) manage.py start

test:
	@sh deploy/venv.sh dev
	@sh deploy/system.sh
	@$(MAKE) --no-print-directory lint
	@$(PYTHON_BIN) -m tests.audit
	@$(PYTHON_BIN) -m tests $(ARGS)

lint:
	@sh deploy/venv.sh dev
	@$(PYTHON_BIN) -m ruff check .
	@$(PYTHON_BIN) -m ruff format --check .
	@$(PYTHON_BIN) -m mypy
	@$(PYTHON_BIN) -m djlint --quiet --lint templates
	@$(PYTHON_BIN) manage.py makemigrations --check --dry-run

fmt:
	@sh deploy/venv.sh dev
	@$(PYTHON_BIN) -m ruff check --fix .
	@$(PYTHON_BIN) -m ruff format .

lock:
	@sh deploy/venv.sh dev
	@$(COMPILE) --output-file=requirements.lock pyproject.toml
	@$(COMPILE) --extra=oidc --constraint=requirements.lock --output-file=requirements-oidc.lock pyproject.toml
	@$(COMPILE) --extra=dev --constraint=requirements-oidc.lock --output-file=requirements-dev.lock pyproject.toml

bench:
	@sh deploy/venv.sh dev
	@$(PYTHON_BIN) -m tests.bench $(ARGS)

screenshots:
	@sh deploy/venv.sh dev
	@sh deploy/system.sh
	@$(PYTHON_BIN) -m tests.browser.screenshots $(ARGS)
