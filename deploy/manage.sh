#!/bin/sh
# manage.py with the settings of the installed servers, as their user:
#   playground-manage login_link admin
# @APP@, @ETC@ and @USER@ are filled in by deploy/install.sh.
set -eu
if [ "$(id -u)" = 0 ] && [ "@USER@" != root ]; then
    exec runuser -u "@USER@" -- "$0" "$@"
fi
# Read as systemd reads it: a password may have any sign in it, and nothing of it is carried out.
if [ -f "@ETC@/playground.env" ]; then
    while IFS= read -r line || [ -n "$line" ]; do
        case "$line" in
        [A-Z]*=*) ;;
        *) continue ;;
        esac
        value=${line#*=}
        case "$value" in
        \"*\") value=${value#\"} && value=${value%\"} ;;
        \'*\') value=${value#\'} && value=${value%\'} ;;
        esac
        export "${line%%=*}=$value"
    done <"@ETC@/playground.env"
fi
cd "@APP@/current"
exec .venv/bin/python manage.py "$@"
