"""All settings, read from the environment.

Every variable has a default that runs on a laptop; a wrong value raises `ImproperlyConfigured`
naming the variable. Secrets that are not given are made once and kept in `DATA_DIR/secrets`.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cryptography.fernet import Fernet, MultiFernet
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

from playground import __version__
from playground.settings.address import EVERYWHERE, own_addresses, public_url
from playground.settings.databases import database
from playground.settings.environment import flag, number, parts_of, text
from playground.settings.folder import data_dir, secret
from playground.settings.logging import logging

BASE_DIR = Path(__file__).resolve().parent.parent.parent
VERSION = __version__

DATA_DIR = data_dir(BASE_DIR / "data")
_secrets = DATA_DIR / "secrets"
SECRET_KEY = secret("SECRET_KEY", _secrets / "signing-key", get_random_secret_key())
# Newest first, separated by commas: the first encrypts, all of them decrypt.
_master_keys = secret("ENCRYPTION_KEYS", _secrets / "master-key", Fernet.generate_key().decode())
ENCRYPTION_KEYS = [key.strip() for key in _master_keys.split(",") if key.strip()]
try:
    MultiFernet([Fernet(key) for key in ENCRYPTION_KEYS])
except ValueError as error:
    raise ImproperlyConfigured(
        "ENCRYPTION_KEYS must be Fernet keys (32 bytes in URL-safe base64), separated by commas."
    ) from error

DEBUG = flag("DEBUG", False)
LOOPBACK = ("127.0.0.1", "::1")  # this machine, as it calls itself
HOST = text("HOST", LOOPBACK[0])
PORT = number("PORT", 8000, 1, 65535)


PUBLIC_URL = public_url(HOST, PORT)
_public = urlsplit(PUBLIC_URL)
_hostname = _public.hostname or ""
ALLOWED_HOSTS = [f"[{_hostname}]" if ":" in _hostname else _hostname]
if not text("PUBLIC_URL"):
    ALLOWED_HOSTS += ["localhost", *(f"[{each}]" if ":" in each else each for each in LOOPBACK)]
    if HOST in EVERYWHERE:
        ALLOWED_HOSTS += own_addresses()
_port = "" if _public.port is None else f":{_public.port}"
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{host}{_port}" for host in ALLOWED_HOSTS if host]
FORCE_SCRIPT_NAME = _public.path or None
SECURE = _public.scheme == "https"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SECURE_HSTS_SECONDS = 31_536_000 if SECURE else 0
# For other names below ours too: only who owns them knows whether they all speak TLS.
SECURE_HSTS_INCLUDE_SUBDOMAINS = flag("HSTS_SUBDOMAINS", False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{_public.path}/"
# A browser takes such names over TLS only, and `__Host-` from this very host with the path / only.
COOKIE_PREFIX = ("__Secure-" if _public.path else "__Host-") if SECURE else ""
# Two playgrounds on one host name (ports do not separate cookies) keep their logins apart.
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}playground_{_public.port or _public.scheme}"
CSRF_COOKIE_NAME = f"{SESSION_COOKIE_NAME}_csrf"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # no cookie of its own
SESSION_ENGINE = "playground.sessions"
# A login ends when nothing was asked for so long, and after so many days in any case.
SESSION_IDLE_HOURS = number("SESSION_IDLE_HOURS", 72, 1, 24 * 365)
SESSION_DAYS = number("SESSION_DAYS", 14, 1, 365)
SESSION_COOKIE_AGE = SESSION_DAYS * 86_400
# `check --deploy` asks for these too. Other names below ours (HSTS_SUBDOMAINS), and a list built
# into browsers, are not ours to decide about; plain HTTP is redirected by the proxy, who alone
# knows of it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021", "security.W008"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"


REQUIRE_TWO_FACTOR = flag("REQUIRE_TWO_FACTOR", False)  # of staff, before the admin site
# Behind a proxy: the header in which it says whom it speaks for, such as X-Forwarded-For. It has to
# set or extend that header itself; the last address in it is taken, since others can be made up.
CLIENT_ADDRESS_HEADER = text("CLIENT_ADDRESS_HEADER")
if CLIENT_ADDRESS_HEADER and not CLIENT_ADDRESS_HEADER.replace("-", "").isalnum():
    raise ImproperlyConfigured("CLIENT_ADDRESS_HEADER must be a name such as X-Forwarded-For.")

# Sign-in through OpenID Connect; without an issuer there is none.
OIDC_ISSUER = text("OIDC_ISSUER").rstrip("/")
OIDC_CLIENT_ID = text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = text("OIDC_CLIENT_SECRET")
OIDC_NAME = text("OIDC_NAME", "single sign-on")  # on the button: "Log in with …"
OIDC_DEFAULT_TEAM = text("OIDC_DEFAULT_TEAM")  # new people become members of it
OIDC_PROVIDER = "sso"  # in the address that the provider sends people back to
OIDC = bool(OIDC_ISSUER)
if OIDC:
    parts_of("OIDC_ISSUER", OIDC_ISSUER, ("http", "https"), "https://id.example.org/realms/main")
    if not OIDC_CLIENT_ID:
        raise ImproperlyConfigured("OIDC_CLIENT_ID must be set where OIDC_ISSUER is.")
    if find_spec("allauth") is None:
        raise ImproperlyConfigured(
            "OIDC_ISSUER needs django-allauth: make run installs it, as does "
            "pip install --require-hashes -r requirements-oidc.lock. Or unset OIDC_ISSUER."
        )


EMBEDDED = flag("EMBEDDED", True)  # the llama.cpp server that comes with the playground
DRAIN_SECONDS = number("DRAIN_SECONDS", 0, 0, 3600)  # how long a stop waits for running requests
OUTBOUND_PROXY = text("OUTBOUND_PROXY")
if OUTBOUND_PROXY:
    parts_of("OUTBOUND_PROXY", OUTBOUND_PROXY, ("http", "https"), "http://proxy.example.org:3128")
RUNS_AT_ONCE = number("RUNS_AT_ONCE", 200, 1, 10_000)  # per process; further runs are queued
CONNECT_TIMEOUT = number("CONNECT_TIMEOUT", 10, 1, 600)  # seconds
READ_TIMEOUT = number("READ_TIMEOUT", 300, 1, 86_400)  # seconds between two chunks of a stream
REAP_SECONDS = number(
    "REAP_SECONDS", 30, 1, 3600
)  # a heartbeat unchanged so long is a dead process
# Who may read /metrics: with it, whoever sends it as a bearer token; without, this machine alone.
METRICS_TOKEN = text("METRICS_TOKEN")
MAX_BODY = 16 * 1024 * 1024  # bytes of one posted form, said in the page
MAX_IMPORT = number("MAX_IMPORT_MB", 1024, 1, 1024 * 1024) * 1024 * 1024  # bytes of an upload

INSTALLED_APPS = [
    "daphne",
    "playground.apps.AdminSite",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "playground",
]

MIDDLEWARE = [
    "playground.probes.Probes",
    "django.middleware.security.SecurityMiddleware",
    "playground.security.SecurityHeaders",
    "playground.security.BodyLimit",
    "servestatic.middleware.ServeStaticMiddleware",
    "playground.security.Compression",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "playground.security.Acting",
    "playground.security.LoggedIn",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "playground.security.HtmxLogin",
    "playground.timezones.TimeZone",
]

if OIDC:
    INSTALLED_APPS += [
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ]
    MIDDLEWARE.append("allauth.account.middleware.AccountMiddleware")
    ACCOUNT_RATE_LIMITS = False
    SOCIALACCOUNT_ADAPTER = "playground.oidc.People"
    SOCIALACCOUNT_LOGIN_ON_GET = True
    SOCIALACCOUNT_STORE_TOKENS = False
    SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": OIDC_PROVIDER,
                    "name": OIDC_NAME,
                    "client_id": OIDC_CLIENT_ID,
                    "secret": OIDC_CLIENT_SECRET,
                    "settings": {"server_url": OIDC_ISSUER, "fetch_userinfo": True},
                }
            ],
        }
    }

ROOT_URLCONF = "playground.urls"
ASGI_APPLICATION = "playground.asgi.application"
AUTH_USER_MODEL = "playground.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "compose"
LOGOUT_REDIRECT_URL = "login"
DEFAULT_EXCEPTION_REPORTER_FILTER = "playground.security.NothingTyped"
CSRF_FAILURE_VIEW = "playground.views.account.csrf_failure"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# Further passwords that nobody may choose, a line each, beside Django's 20,000 most used ones: more
# of those that leaked, the names of the house.
COMMON_PASSWORDS_FILE = text("COMMON_PASSWORDS_FILE")
if COMMON_PASSWORDS_FILE:
    if not Path(COMMON_PASSWORDS_FILE).is_file():
        raise ImproperlyConfigured("COMMON_PASSWORDS_FILE must be a file, a password a line.")
    AUTH_PASSWORD_VALIDATORS += [
        {
            "NAME": "django.contrib.auth.password_validation.CommonPasswordValidator",
            "OPTIONS": {"password_list_path": COMMON_PASSWORDS_FILE},
        }
    ]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


DATABASES = {"default": database(text("DATABASE_URL"), DATA_DIR)}
REDIS_URL = text("REDIS_URL")
if REDIS_URL:
    parts_of("REDIS_URL", REDIS_URL, ("redis", "rediss", "unix"), "redis://127.0.0.1:6379/0")


DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY + 64 * 1024  # beside the document: token and boundaries
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

STATIC_URL = f"{_public.path}/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "playground.assets.Storage"},
}

LANGUAGE_CODE = "en"
USE_I18N = False  # all is English; each address and number would ask for the language
FORMAT_MODULE_PATH = "playground.formats"
USE_TZ = True
TIME_ZONE = text("TIME_ZONE", "UTC")
try:
    ZoneInfo(TIME_ZONE)
except (ZoneInfoNotFoundError, ValueError, OSError) as error:
    raise ImproperlyConfigured("TIME_ZONE must be a name such as Europe/Berlin.") from error

LOG_LEVEL = text("LOG_LEVEL", "INFO").upper()
if LOG_LEVEL not in ("DEBUG", "INFO", "WARNING", "ERROR"):
    raise ImproperlyConfigured("LOG_LEVEL must be DEBUG, INFO, WARNING or ERROR.")
LOG_FORMAT = text("LOG_FORMAT", "line")
if LOG_FORMAT not in ("line", "json"):
    raise ImproperlyConfigured("LOG_FORMAT must be line or json.")
LOGGING = logging(LOG_LEVEL, LOG_FORMAT)
