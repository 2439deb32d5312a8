#!/bin/sh
# Makes .venv and installs the locked dependencies; does nothing when they are already there.
# `venv.sh dev` brings the test tools too; OIDC_ISSUER, what a sign-in through OpenID Connect needs.
# PYTHON names another interpreter than python3.
set -eu
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
if [ "${1:-}" = dev ]; then
    lock=requirements-dev.lock
elif [ -n "${OIDC_ISSUER:-}" ]; then
    lock=requirements-oidc.lock
else
    lock=requirements.lock
fi

fail() {
    echo "$*" >&2
    exit 1
}

# What the environment was made from: the interpreter's version and the lock's content.
stamp() {
    .venv/bin/python -I -S -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null && cksum <"$1"
}

if [ -f ".venv/$lock.installed" ] && [ "$(stamp "$lock")" = "$(cat ".venv/$lock.installed")" ]; then
    exit 0
fi

version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) ||
    fail "The playground needs Python 3.11 or newer, and \"$python\" is not there: install it, or name yours as in PYTHON=python3.12 make run."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "The playground needs Python 3.11 or newer, and \"$python\" is Python $version: install a newer one, or name yours as in PYTHON=python3.12 make run."

# A missing pip is an environment whose making was interrupted; another version, one that has moved on.
if ! .venv/bin/python -c "import pip, sys; sys.exit('%d.%d.%d' % sys.version_info[:3] != '$version')" 2>/dev/null; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "Python's venv module is missing; on Debian and Ubuntu, install it with: sudo apt install python3-venv"
    echo "Making the Python environment in .venv…"
    "$python" -m venv --clear .venv >&2 ||
        fail "Python could not make .venv here (see above); on Debian and Ubuntu, this may help: sudo apt install python3-venv"
fi

echo "Installing the dependencies (about a minute the first time)…"
.venv/bin/python -m pip install --disable-pip-version-check --no-input --require-hashes \
    -r "$lock" >.venv/install.log 2>&1 ||
    fail "The dependencies could not be installed (is there a network?): $(grep '^ERROR' .venv/install.log | tail -n 1) The whole story is in .venv/install.log."

stamp "$lock" >".venv/$lock.installed"
# Each lock contains the ones before it.
for smaller in requirements.lock requirements-oidc.lock; do
    if [ "$lock" = "$smaller" ]; then break; fi
    stamp "$smaller" >".venv/$smaller.installed"
done
