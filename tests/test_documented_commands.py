"""The commands of the documents: each is run by a test, and each option of it exists."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import load_command_class

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
PROGRAM = re.compile(r"(sudo )?(make|sh|git|docker|echo|python|\.venv/bin/python|manage\.py"
                     r"|playground-manage|runuser|tar|systemctl|psql) ")  # fmt: skip
OF_THE_README = "test_the_commands_of_the_readme_work_as_they_stand_there"
OF_THE_DEPLOYMENT = "test_install_back_up_lose_everything_restore_and_upgrade"
OF_EXPORT = "test_export_import_export_is_the_same_to_the_byte"
NO_DOCKER = "test_compose_names_what_is_there"  # no image is built where there is no Docker
OF_THE_BENCHMARKS = "test_the_benchmarks_take_what_the_document_says"
# The beginning of a command, and the test that runs it, as it stands or with its own folders.
RUN_BY = {
    "make run": "test_make_run_passes_on_where_to_listen",
    "make test": "test_every_target_of_make_is_one_that_make_can_carry_out",
    ".venv/bin/python manage.py connection": OF_THE_README,
    ".venv/bin/python manage.py complete": OF_THE_README,
    "sudo sh deploy/install.sh": OF_THE_DEPLOYMENT,
    "sudo playground-manage login_link": OF_THE_DEPLOYMENT,
    "runuser ": OF_THE_DEPLOYMENT,
    "tar ": OF_THE_DEPLOYMENT,
    "playground-manage prepare": OF_THE_DEPLOYMENT,
    "git pull": OF_THE_DEPLOYMENT,  # the upgrade after it
    "systemctl ": "test_systemd_understands_the_units_and_finds_them_closed",
    'echo "DATABASE_PASSWORD=': NO_DOCKER,
    "docker compose": NO_DOCKER,
    "manage.py export": OF_EXPORT,
    "manage.py import": OF_EXPORT,
    "make bench": OF_THE_BENCHMARKS,
    "python -m tests.bench": OF_THE_BENCHMARKS,
}


def commands() -> list[str]:
    """The lines of all blocks that begin with a program, continued lines in one."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8").replace("\\\n", " ")
        lines = re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
        for block in re.findall(r"^```sh.*?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            lines += block.splitlines()
        found += [re.sub(r"\s+", " ", line).strip() for line in lines if PROGRAM.match(line)]
    return found


COMMANDS = commands()


def test_every_command_of_the_documents_is_run_by_a_test() -> None:
    assert len(COMMANDS) > 20
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    for command in COMMANDS:
        [name, *_] = [test for begun, test in RUN_BY.items() if command.startswith(begun)] or [""]
        assert name, f"say in RUN_BY which test runs: {command}"
        assert f"def {name}(" in code, name
    for begun in RUN_BY:
        assert any(command.startswith(begun) for command in COMMANDS), f"no document has: {begun}"


def options(command: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", command))


def said(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def test_every_option_of_a_command_of_ours_is_known_to_it() -> None:
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    inline = [each for text in texts for each in re.findall(r"`(manage\.py [^`]+)`", text)]
    ours = [line for line in [*COMMANDS, *inline] if re.search(r"\bmanage(\.py)? \w", line)]
    for command in ours:
        [name] = re.findall(r"manage(?:\.py)? (\w+)", command)
        app = "django.core" if name == "check" else "playground"
        parser = load_command_class(app, name).create_parser("manage.py", name)
        assert options(command) <= options(parser.format_help()), command


def test_the_synopses_of_export_and_import_name_every_option() -> None:
    text = (ROOT / "docs/exchange.md").read_text(encoding="utf-8")
    for name in ("export", "import"):
        [synopsis] = re.findall(rf"^ {{4}}manage\.py {name} (.+)$", text, re.MULTILINE)
        own = load_command_class("playground", name).create_parser("manage.py", name).format_help()
        djangos = {"--help", "--version", "--verbosity", "--settings", "--pythonpath",
                   "--traceback", "--no-color", "--force-color", "--skip-checks"}  # fmt: skip
        assert options(synopsis) == options(own) - djangos


def test_the_installer_knows_every_option_of_the_documents() -> None:
    known = options(said("sh", "deploy/install.sh", "--help"))
    text = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    install = [line for line in COMMANDS if "install.sh" in line]
    assert install
    for command in install:
        assert options(command) <= known, command
    for word in re.findall(r"`(--[a-z-]+)", text):
        assert word in known, word


def test_docker_is_asked_for_services_and_files_that_there_are() -> None:
    for command in COMMANDS:
        words = shlex.split(command)
        if words[:2] == ["docker", "compose"]:
            assert (ROOT / words[words.index("-f") + 1]).exists()
            if "exec" in words:
                file = (ROOT / "deploy/compose.yaml").read_text(encoding="utf-8")
                [service, *_] = [each for each in words[words.index("exec") + 1 :] if each != "-T"]
                assert f"\n  {service}:\n" in file


def test_every_target_of_make_is_one_that_make_can_carry_out() -> None:
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]
    named = {name for text in texts for name in re.findall(r"`make (\w+)", text)}
    named |= {line.split()[1] for line in COMMANDS if line.startswith("make ")}
    assert {"run", "test", "bench", "screenshots"} <= named
    for name in named:
        assert "deploy/venv.sh" in said("make", "--dry-run", name)


@pytest.mark.parametrize("module", ["tests.bench", "tests.bench.streams", "tests.bench.million"])
def test_the_benchmarks_take_what_the_document_says(module: str) -> None:
    lines = [line for line in COMMANDS if f"-m {module} " in line]
    if module == "tests.bench":
        lines += [line for line in COMMANDS if line.startswith("make bench")]
    assert lines
    known = options(said(sys.executable, "-m", module, "--help"))
    for command in lines:
        assert options(command) <= known, command
