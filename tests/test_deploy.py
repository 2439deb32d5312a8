"""The files of deploy/ that CI cannot run as a whole: it has no Docker engine and no systemd.

What they name has to exist; what the image runs is run by `services/test_install.py`.
"""

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
SITE: dict[str, Any] = runpy.run_path(str(DEPLOY / "site.py"))


def instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def settings() -> set[str]:
    files = ROOT.glob("playground/settings/*.py")
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return set(re.findall(r'\b(?:text|number|flag|secret)\(\s*"([A-Z_]+)"', text))


# --- The image ------------------------------------------------------------------------------


def test_the_dockerfile_knows_only_instructions_that_there_are() -> None:
    known = {"FROM", "COPY", "ENV", "RUN", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD",
             "STOPSIGNAL"}  # fmt: skip
    assert {name for name, _ in instructions()} <= known


def test_the_image_runs_as_nobody_special_and_is_asked_how_it_is() -> None:
    found = dict(instructions()[[name for name, _ in instructions()].index("FROM", 1) :])
    assert found["USER"] == "playground"
    assert "/healthz" in found["HEALTHCHECK"]
    names = [name for name, _ in instructions()]
    assert names.index("USER") < names.index("CMD")


def test_what_the_image_copies_and_runs_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = {rest for name, rest in instructions() if name == "COPY"}
    assert copied == {
        ". /src",
        "--from=build /opt/playground /opt/playground",
        "--from=build /usr/local/bin/playground-manage /usr/local/bin/playground-manage",
    }
    [script] = [rest.split()[1] for name, rest in instructions()
                if name == "RUN" and "install.sh" in rest]  # fmt: skip
    assert (ROOT / script.removeprefix("/src/")).exists()
    installer = (DEPLOY / "install.sh").read_text(encoding="utf-8")
    [wanted] = re.findall(r"^for each in (CHANGELOG.*); do$", installer, re.MULTILINE)
    for name in wanted.split():
        assert (ROOT / name).exists(), name
        assert name not in ignored


def test_the_password_of_the_database_goes_into_no_image_and_no_commit() -> None:
    """The document has it put beside compose.yaml; the image copies that folder."""
    assert "deploy/.env" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert "/deploy/.env" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_variables_of_the_image_and_of_compose_are_settings() -> None:
    pairs = [pair for name, rest in instructions() if name == "ENV" for pair in rest.split()]
    ours = {pair.split("=")[0] for pair in pairs} - {"PYTHONDONTWRITEBYTECODE", "PIP_NO_CACHE_DIR"}
    ours |= set(compose()["services"]["web"]["environment"])
    assert ours <= settings(), ours - settings()


def test_every_variable_is_in_the_documents() -> None:
    names = ("README.md", "docs/deployment.md", "docs/security.md")
    text = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in names)
    assert len(settings()) > 25
    assert [name for name in settings() if not re.search(rf"`{name}[`=]", text)] == []


# --- compose.yaml ---------------------------------------------------------------------------


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_compose_names_what_is_there() -> None:
    found = compose()
    services = found["services"]
    assert set(services) == {"prepare", "web", "postgres", "redis", "nginx"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        if "build" in service:
            context = DEPLOY / service["build"]["context"]
            assert (context / service["build"]["dockerfile"]).exists()
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in found["volumes"] or (DEPLOY / source).exists(), volume
    assert services["web"]["deploy"]["replicas"] == "${WEB:-2}"


def test_compose_fills_in_every_word_of_the_nginx_site() -> None:
    template = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    wanted = set(re.findall(r"\$\{(PLAYGROUND_[A-Z]+)\}", template))
    assert set(compose()["services"]["nginx"]["environment"]) == wanted


# --- nginx ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "certificate", "lines"),
    [
        ("http://play.example.org", "", ["listen 80;", "location / {", "Proto http;"]),
        ("http://127.0.0.1:9000/play", "", ["listen 9000;", "location /play/ {"]),
        ("https://play.example.org", "", ["listen 80;", "Proto https;"]),
        (
            "https://play.example.org",
            "/etc/ssl/play.pem",
            ["listen 443 ssl http2;", "ssl_certificate /etc/ssl/play.pem;", "return 301 https://"],
        ),
    ],
)
def test_the_site_is_that_of_the_address(url: str, certificate: str, lines: list[str]) -> None:
    text = SITE["site"](urlsplit(url), [8001, 8002], certificate, certificate, ["10.0.0.2:8001"])
    assert text.count("server 10.0.0.2:8001 max_fails=1") == 1
    assert "${" not in text.replace("${PLAYGROUND_…}", "")
    assert text.count("server 127.0.0.1:") == 2
    by_ipv6 = len(re.findall(r"listen \[::\]:\d+", text))
    assert by_ipv6 == len(re.findall(r"listen \d+", text)) * Path("/proc/net/if_inet6").exists()
    for line in lines:
        assert line in text


def test_nginx_takes_the_site_with_and_without_tls(tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if nginx is None:
        pytest.skip("nginx is not installed; on Debian: sudo apt install nginx-light")
    pem = tmp_path / "pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
    done = subprocess.run(
        [*command, "-keyout", pem, "-out", tmp_path / "cert"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for url, given in (
        ("http://127.0.0.1:9000/play", ("", "")),
        ("https://localhost", (str(tmp_path / "cert"), str(pem))),
    ):
        (tmp_path / "site.conf").write_text(SITE["site"](urlsplit(url), [8001], *given))
        (tmp_path / "nginx.conf").write_text(
            f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{ include {tmp_path}/site.conf; }}\n"
        )
        done = subprocess.run(
            [nginx, "-t", "-p", tmp_path, "-c", tmp_path / "nginx.conf", "-g",
             f"error_log {tmp_path}/log;"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


# --- systemd and scripts --------------------------------------------------------------------


def test_every_word_of_the_units_is_filled_in() -> None:
    installer = (DEPLOY / "install.sh").read_text(encoding="utf-8")
    known = set(re.findall(r"s\|(@[A-Z]+@)\|", installer))
    for path in [*(DEPLOY / "systemd").iterdir(), DEPLOY / "manage.sh"]:
        words = set(re.findall(r"@[A-Z]+@", path.read_text(encoding="utf-8")))
        assert words <= known, path


def test_a_unit_has_time_to_drain() -> None:
    unit = (DEPLOY / "systemd/playground-web@.service").read_text(encoding="utf-8")
    [seconds] = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(seconds) >= 30 + 20 + 10  # DRAIN_SECONDS of install.sh, the flush, and some air
    assert "KillMode=mixed" in unit


def test_systemd_understands_the_units_and_finds_them_closed(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed; on Debian: sudo apt install systemd")
    words = {"@APP@": "/", "@ETC@": "/etc", "@DATA@": "/var", "@USER@": "daemon"}
    for path in (DEPLOY / "systemd").iterdir():
        text = path.read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(word, value)
        text = re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", text, flags=re.MULTILINE)
        (tmp_path / path.name.replace("@", "@8001")).write_text(text)
    for command in (["verify"], ["security", "--offline=yes", "--threshold=20", "--no-pager"]):
        units = tmp_path.glob("*.service" if "security" in command else "*")
        done = subprocess.run(
            [analyze, *command, *map(str, units)], capture_output=True, text=True, check=False
        )
        wrong = [line for line in done.stderr.splitlines() if "playground" in line]
        assert not wrong, wrong
        assert done.returncode == 0 or "security" not in command, done.stdout


def test_manage_reads_the_settings_as_systemd_does(tmp_path: Path) -> None:
    """A password may have any sign in it; quotes around a value are none of it."""
    python = tmp_path / "current/.venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexec env -0\n")
    python.chmod(0o755)
    text = (DEPLOY / "manage.sh").read_text(encoding="utf-8")
    for word, value in {"@APP@": tmp_path, "@ETC@": tmp_path, "@USER@": "root"}.items():
        text = text.replace(word, str(value))
    (tmp_path / "manage").write_text(text)
    (tmp_path / "playground.env").write_text(
        "# Settings\n\nREDIS_URL=rediss://:p$HOME&;'\"`id`(#@host/0\nOIDC_SCOPES='openid email'\n"
        'TIME_ZONE="Europe/Berlin"\nnot a setting\nLOG_LEVEL=\nPORT=1'
    )
    done = subprocess.run(["sh", tmp_path / "manage"], capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert found["REDIS_URL"] == "rediss://:p$HOME&;'\"`id`(#@host/0"
    assert found["OIDC_SCOPES"] == "openid email"
    assert found["TIME_ZONE"] == "Europe/Berlin"
    assert (found["LOG_LEVEL"], found["PORT"]) == ("", "1")


@pytest.mark.parametrize("script", sorted(DEPLOY.glob("*.sh")), ids=lambda path: path.name)
def test_a_script_is_plain_sh(script: Path) -> None:
    done = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert script.read_text(encoding="utf-8").startswith("#!/bin/sh\n")
