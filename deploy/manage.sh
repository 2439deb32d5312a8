#!/bin/sh
# manage.py with the settings of the installed servers, as their user:
#   playground-manage login_link admin
# @APP@, @ETC@ and @USER@ are filled in by deploy/install.sh.
set -eu
if [ "$(id -u)" = 0 ] && [ "@USER@" != root ]; then
    exec runuser -u "@USER@" -- "$0" "$@"
fi
if [ -f "@ETC@/playground.env" ]; then
    set -a
    . "@ETC@/playground.env"
    set +a
fi
cd "@APP@/current"
exec .venv/bin/python manage.py "$@"
