"""Settings from the environment: a wrong value is one sentence, a right one has its effect."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

ROOT = Path(__file__).resolve().parent.parent
NAMES = """
    DATA_DIR HOST PORT PUBLIC_URL DEBUG SECURE STATIC_URL ALLOWED_HOSTS CSRF_TRUSTED_ORIGINS
    SESSION_COOKIE_SECURE CSRF_COOKIE_SECURE SECURE_HSTS_SECONDS SESSION_COOKIE_PATH
    CSRF_COOKIE_PATH FORCE_SCRIPT_NAME CSRF_COOKIE_NAME SECURE_HSTS_INCLUDE_SUBDOMAINS
    SESSION_COOKIE_NAME DATABASES REDIS_URL SECRET_KEY
    ENCRYPTION_KEYS SECURE_PROXY_SSL_HEADER RUNS_AT_ONCE SESSION_COOKIE_HTTPONLY
""".split()  # noqa: SIM905 (a list would take a line each)
SHOW = (
    "import json; from playground import settings; "
    f"print(json.dumps({{name: getattr(settings, name) for name in {NAMES!r}}}, default=str))"
)


def run(tmp_path: Path, *command: str, **env: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**kept, "DATA_DIR": str(tmp_path / "data"), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def loaded(tmp_path: Path, **env: str) -> dict[str, Any]:
    done = run(tmp_path, "-c", SHOW, **env)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "٣"),
        ("DEBUG", "yes"),
        ("EMBEDDED", "2"),
        ("DRAIN_SECONDS", "1.5"),
        ("RUNS_AT_ONCE", "0"),
        ("CONNECT_TIMEOUT", ""),
        ("READ_TIMEOUT", "never"),
        ("REAP_SECONDS", "0"),
        ("PUBLIC_URL", "playground.example.org"),
        ("PUBLIC_URL", "ftp://playground.example.org"),
        ("PUBLIC_URL", "http://"),
        ("PUBLIC_URL", "http://["),
        ("PUBLIC_URL", "http://h:port"),
        ("PUBLIC_URL", "http://h/?a=b"),
        ("PUBLIC_URL", "http://h/#a"),
        ("PUBLIC_URL", "http://user:secret@h/"),
        ("DATABASE_URL", "mysql://h/name"),
        ("DATABASE_URL", "postgres://h"),
        ("DATABASE_URL", "postgres://h:port/name"),
        ("DATABASE_URL", "postgres://[/name"),
        ("REDIS_URL", "localhost:6379"),
        ("OUTBOUND_PROXY", "proxy:3128"),
        ("TIME_ZONE", "Mars/Olympus"),
        ("LOG_LEVEL", "LOUD"),
        ("ENCRYPTION_KEYS", "secret"),
        ("ENCRYPTION_KEYS", ","),
        ("SECRET_KEY_FILE", "/no/such/file"),
        ("COMMON_PASSWORDS_FILE", "/no/such/file"),
        ("SESSION_IDLE_HOURS", "0"),
        ("SESSION_DAYS", "0.5"),
        ("HSTS_SUBDOMAINS", "maybe"),
        ("DATA_DIR", "/dev/null/data"),
    ],
)
def test_a_wrong_value_is_one_sentence_that_names_the_variable(
    tmp_path: Path, name: str, value: str
) -> None:
    done = run(tmp_path, "manage.py", "check", **{name: value})
    assert done.returncode != 0
    assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    for secret in ("secret@", "user:secret"):
        assert secret not in done.stderr


def test_the_defaults_run_on_a_laptop(tmp_path: Path) -> None:
    found = loaded(tmp_path)
    assert found["PUBLIC_URL"] == "http://127.0.0.1:8000"
    assert set(found["ALLOWED_HOSTS"]) == {"127.0.0.1", "localhost", "[::1]"}
    assert "http://localhost:8000" in found["CSRF_TRUSTED_ORIGINS"]
    assert (found["DEBUG"], found["SECURE"], found["SECURE_HSTS_SECONDS"]) == (False, False, 0)
    assert found["SECURE_PROXY_SSL_HEADER"] is None
    assert found["SESSION_COOKIE_HTTPONLY"] is True
    assert (found["STATIC_URL"], found["SESSION_COOKIE_PATH"]) == ("/static/", "/")
    assert found["DATABASES"]["default"]["ENGINE"].endswith("sqlite3")


def test_https_makes_cookies_secure(tmp_path: Path) -> None:
    found = loaded(tmp_path, PUBLIC_URL="https://playground.example.org/", HOST="0.0.0.0")
    assert found["PUBLIC_URL"] == "https://playground.example.org"
    assert found["SESSION_COOKIE_SECURE"] is found["CSRF_COOKIE_SECURE"] is True
    assert found["SECURE_HSTS_SECONDS"] > 0
    assert found["ALLOWED_HOSTS"] == ["playground.example.org"]
    assert found["CSRF_TRUSTED_ORIGINS"] == ["https://playground.example.org"]


def test_a_sub_path_is_kept_everywhere(tmp_path: Path) -> None:
    found = loaded(tmp_path, PUBLIC_URL="http://h:81/a/playground/")
    assert found["FORCE_SCRIPT_NAME"] == "/a/playground"
    assert found["STATIC_URL"] == "/a/playground/static/"
    assert found["SESSION_COOKIE_PATH"] == found["CSRF_COOKIE_PATH"] == "/a/playground/"
    assert found["CSRF_TRUSTED_ORIGINS"] == ["http://h:81"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_listening_everywhere_allows_the_machines_own_addresses(tmp_path: Path, host: str) -> None:
    own = "import json, socket; print(json.dumps(socket.gethostname()))"
    found = loaded(tmp_path, HOST=host)
    name = json.loads(run(tmp_path, "-c", own).stdout)
    assert found["PUBLIC_URL"] == "http://127.0.0.1:8000"
    assert name in found["ALLOWED_HOSTS"]
    assert f"http://{name}:8000" in found["CSRF_TRUSTED_ORIGINS"]
    assert "*" not in found["ALLOWED_HOSTS"]


@pytest.mark.parametrize(
    ("host", "url"), [("::1", "http://[::1]:9000"), ("10.0.0.5", "http://10.0.0.5:9000")]
)
def test_the_address_follows_host_and_port(tmp_path: Path, host: str, url: str) -> None:
    found = loaded(tmp_path, HOST=host, PORT="9000")
    assert found["PUBLIC_URL"] == url
    assert url in found["CSRF_TRUSTED_ORIGINS"]
    assert found["SESSION_COOKIE_NAME"] == "playground_9000"


@pytest.mark.parametrize(
    ("url", "prefix"),
    [
        ("https://play.example.org", "__Host-playground_https"),
        ("https://play.example.org:8443", "__Host-playground_8443"),
        ("https://example.org/play", "__Secure-playground_https"),
        ("http://example.org/play", "playground_http"),
    ],
)
def test_cookies_are_named_so_that_browsers_guard_them(
    tmp_path: Path, url: str, prefix: str
) -> None:
    """`__Host-` needs the path /, so below a sub-path it is `__Secure-`."""
    found = loaded(tmp_path, PUBLIC_URL=url)
    assert found["SESSION_COOKIE_NAME"] == prefix
    assert found["CSRF_COOKIE_NAME"] == f"{prefix}_csrf"
    if prefix.startswith("__Host-"):
        assert found["SESSION_COOKIE_PATH"] == found["CSRF_COOKIE_PATH"] == "/"
        assert found["SESSION_COOKIE_SECURE"] is found["CSRF_COOKIE_SECURE"] is True


def test_strict_transport_for_names_below_ours_is_a_choice(tmp_path: Path) -> None:
    url = "https://play.example.org"
    assert not loaded(tmp_path, PUBLIC_URL=url)["SECURE_HSTS_INCLUDE_SUBDOMAINS"]
    found = loaded(tmp_path, PUBLIC_URL=url, HSTS_SUBDOMAINS="1")
    assert found["SECURE_HSTS_INCLUDE_SUBDOMAINS"]


def test_a_list_of_passwords_of_ones_own_is_refused_too(tmp_path: Path) -> None:
    (tmp_path / "list").write_text("aare-kingfisher-2026\n")
    code = (
        "import django; django.setup();"
        "from django.contrib.auth.password_validation import validate_password as check\n"
        "for word in ('password123', 'Aare-Kingfisher-2026', 'sturgeon-paddle-17'):\n"
        "    try: check(word); print('good')\n"
        "    except Exception as error: print(error.messages)"
    )
    done = run(tmp_path, "-c", code, COMMON_PASSWORDS_FILE=str(tmp_path / "list"),
               DJANGO_SETTINGS_MODULE="playground.settings")  # fmt: skip
    said = done.stdout.splitlines()
    assert said == ["['This password is too common.']"] * 2 + ["good"], done.stderr


def test_secrets_are_made_once_for_their_owner_only(tmp_path: Path) -> None:
    first, second = loaded(tmp_path), loaded(tmp_path)
    for name in ("SECRET_KEY", "ENCRYPTION_KEYS"):
        assert first[name] == second[name]
    folder = tmp_path / "data" / "secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {"signing-key", "master-key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_secrets_can_be_given_in_files(tmp_path: Path) -> None:
    newest, older = Fernet.generate_key().decode(), Fernet.generate_key().decode()
    (tmp_path / "keys").write_text(f"{newest}, {older}\n")
    (tmp_path / "signing").write_text("given\n")
    found = loaded(
        tmp_path,
        ENCRYPTION_KEYS_FILE=str(tmp_path / "keys"),
        SECRET_KEY_FILE=str(tmp_path / "signing"),
    )
    assert found["ENCRYPTION_KEYS"] == [newest, older]
    assert found["SECRET_KEY"] == "given"
    assert list((tmp_path / "data" / "secrets").iterdir()) == []


def test_postgres_and_redis_are_two_variables(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        DATABASE_URL="postgres://me:p%40ss@db:5433/play?sslmode=require",
        REDIS_URL="redis://cache:6379/1",
    )
    default = found["DATABASES"]["default"]
    assert [default[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "play", "me", "p@ss", "db", "5433",
    ]  # fmt: skip
    assert default["OPTIONS"]["sslmode"] == "require"
    assert found["REDIS_URL"] == "redis://cache:6379/1"


def test_with_a_public_https_address_the_deployment_check_is_silent(tmp_path: Path) -> None:
    done = run(tmp_path, "manage.py", "check", "--deploy", PUBLIC_URL="https://play.example.org")
    assert done.returncode == 0
    assert "0 silenced" not in done.stdout + done.stderr
    assert "no issues" in done.stdout + done.stderr
    assert "WARNINGS" not in done.stdout + done.stderr


def test_plain_http_has_neither_hsts_nor_secure_cookies(tmp_path: Path) -> None:
    plain, secure = loaded(tmp_path), loaded(tmp_path, PUBLIC_URL="https://play.example.org")
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_HSTS_SECONDS")
    assert not any(plain[name] for name in names)
    assert all(secure[name] for name in names)
