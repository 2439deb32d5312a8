#!/bin/sh
# What the tests need besides Python: Chromium, PostgreSQL, Redis, nginx, faketime, systemd-analyze. As root on Debian it is installed;
# elsewhere a sentence says what is missing, and those tests are skipped (a failure with REQUIRE_ALL=1).
set -eu

has() {
    command -v "$1" >/dev/null 2>&1
}

packages=""
has chromium || has google-chrome || packages="$packages chromium"
# Debian keeps PostgreSQL's server programs out of PATH.
has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || packages="$packages postgresql"
has redis-server || packages="$packages redis-server"
has nginx || [ -x /usr/sbin/nginx ] || packages="$packages nginx-light"
has faketime || packages="$packages faketime"
has systemd-analyze || packages="$packages systemd"
[ -n "$packages" ] || exit 0

if [ "$(id -u)" = 0 ] && has apt-get; then
    echo "Installing for the tests:$packages…"
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    # $packages is several words.
    # shellcheck disable=SC2086
    if apt-get update >"$log" 2>&1 && apt-get install -y --no-install-recommends $packages >>"$log" 2>&1; then
        rm "$log"
        exit 0
    fi
    tail -n 5 "$log" >&2
    rm "$log"
fi

echo "Tests that need a missing program are skipped; on Debian, install it with: sudo apt install$packages" >&2
[ "${REQUIRE_ALL:-}" != 1 ]
