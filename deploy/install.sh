#!/bin/sh
# Installs the playground for a team on Debian 12, or brings an install up to this version:
#
#   sudo sh deploy/install.sh --public-url https://play.example.org \
#       --certificate /etc/ssl/play.pem --key /etc/ssl/play.key
#
# PostgreSQL, Redis, N server processes as systemd units, nginx in front. Run it again whenever
# you like: it makes what is missing and leaves alone what is there. docs/deployment.md has the rest.
#
#   --public-url URL      the address that browsers use; needed the first time
#   --processes N         server processes (2)
#   --first-port P        the first one's port (8001)
#   --others LIST         processes of other machines for this nginx: 10.0.0.2:8001,10.0.0.2:8002
#   --certificate, --key  files for TLS; without them nginx speaks plain HTTP
#   --database-url URL    a PostgreSQL database that is there; without it, a local one is made
#   --redis-url URL       (redis://127.0.0.1:6379/0)
#   --user NAME           whom the servers run as (playground)
#   --prefix DIR          everything goes below DIR, for a trial
#   --no-packages         install no Debian packages
#   --no-systemd          write the units and start nothing
#   --no-nginx            write no nginx site
#
# These are remembered for the next time: processes, first port, others, user, databases, nginx or not.
#
#   --container           program and environment only, for an image: no services, no secrets
set -eu
umask 022

public_url="" processes="" first_port="" others="" certificate="" key="" database_url=""
redis_url="" user="" prefix=""
packages=1 systemd=1 nginx="" container=""
here=redis://127.0.0.1:6379/0 # the Redis that is installed with it

say() { echo "· $*"; }
fail() {
    echo "$*" >&2
    exit 1
}
number() {
    case "$2" in "" | *[!0-9]*) fail "$1 must be a whole number." ;; esac
}

while [ $# -gt 0 ]; do
    case "$1" in
    --no-packages) packages="" ;;
    --no-systemd) systemd="" ;;
    --no-nginx) nginx=no ;;
    --container) container=1 systemd="" nginx=no ;;
    --public-url | --processes | --first-port | --others | --certificate | --key | --database-url | --redis-url | --user | --prefix)
        [ $# -ge 2 ] || fail "$1 needs a value."
        case "$1" in
        --public-url) public_url=${2%/} ;;
        --processes) processes=$2 ;;
        --first-port) first_port=$2 ;;
        --others) others=$2 ;;
        --certificate) certificate=$2 ;;
        --key) key=$2 ;;
        --database-url) database_url=$2 ;;
        --redis-url) redis_url=$2 ;;
        --user) user=$2 ;;
        --prefix) prefix=${2%/} ;;
        esac
        shift
        ;;
    -h | --help)
        sed -n '2,/^set -eu/p' "$0" | sed '$d; s/^# \{0,1\}//'
        exit 0
        ;;
    *) fail "Unknown option $1; sh deploy/install.sh --help lists them." ;;
    esac
    shift
done

source=$(cd "$(dirname "$0")/.." && pwd)
app=$prefix/opt/playground etc=$prefix/etc/playground data=$prefix/var/lib/playground
secrets=$etc/secrets units=$prefix/etc/systemd/system

# What was said the last time holds until something else is said.
setting() { [ ! -r "$etc/playground.env" ] || sed -n "s/^$1=//p" "$etc/playground.env"; }
remembered() { [ ! -r "$etc/install" ] || sed -n "s/^$1=//p" "$etc/install"; }
running() { # the ports of an install that did not remember them yet
    for each in "$units"/playground.target.wants/playground-web@*.service; do
        [ ! -L "$each" ] || { each=${each##*@} && echo "${each%.service}"; }
    done | sort -n
}
processes=${processes:-$(remembered PROCESSES)} first_port=${first_port:-$(remembered FIRST_PORT)}
[ -n "$processes" ] || processes=$(running | grep -c . || true)
[ "$processes" != 0 ] || processes=2
first_port=${first_port:-$(running | head -n 1)}
first_port=${first_port:-8001}
others=${others:-$(remembered OTHERS)}
user=${user:-$(remembered SERVERS_USER)}
user=${user:-playground}
nginx=${nginx:-$(remembered NGINX)}
if [ "$nginx" = no ]; then nginx=""; else nginx=yes; fi
was_redis_url=$(setting REDIS_URL)
redis_url=${redis_url:-${was_redis_url:-$here}}
# Whether the database is the one that this made, or will make.
database=$(remembered DATABASE)
if [ -z "$database" ] && [ -s "$secrets/database-url" ] && [ ! -s "$secrets/database-password" ]; then
    database=elsewhere
fi
[ -z "$database_url" ] || database=elsewhere
number --processes "$processes"
number --first-port "$first_port"
root=""
[ "$(id -u)" != 0 ] || root=1
[ -n "$root" ] || [ -n "$prefix" ] || fail "Run this as root (sudo), or give --prefix for a trial."
[ -n "$root" ] || user=$(id -un)

# --- What is checked before anything is changed ---

if [ -n "$systemd" ] && [ ! -d /run/systemd/system ]; then
    fail "This machine does not run systemd; with --no-systemd the servers are yours to start."
fi
if [ -z "$container" ] && [ -z "$public_url" ] && [ ! -f "$etc/playground.env" ]; then
    fail "Say where browsers find it: --public-url https://play.example.org"
fi
if [ -n "$certificate$key" ]; then
    [ -r "$certificate" ] || fail "--certificate $certificate cannot be read."
    [ -r "$key" ] || fail "--key $key cannot be read."
fi

# --- Debian packages ---

has() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

install_packages() {
    wanted="python3-venv ca-certificates libgomp1" # the last one is for the embedded model
    if [ -z "$container" ]; then
        has runuser || wanted="$wanted util-linux"
        [ "$database" = elsewhere ] || wanted="$wanted postgresql"
        [ "$redis_url" != "$here" ] || wanted="$wanted redis-server"
        [ -z "$nginx" ] || has nginx || wanted="$wanted nginx-light"
    fi
    missing=""
    for each in $wanted; do
        dpkg-query -W -f '${Status}' "$each" 2>/dev/null | grep -q "ok installed" || missing="$missing $each"
    done
    [ -n "$missing" ] || return 0
    say "Installing Debian packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >/dev/null
    # $missing is several words.
    # shellcheck disable=SC2086
    apt-get install -q -y --no-install-recommends $missing >/dev/null
}

if [ -n "$packages" ] && [ -n "$root" ]; then
    has apt-get || fail "This installs Debian packages, and there is no apt-get; see --no-packages."
    install_packages
fi

# --- The user that the servers run as ---

if [ -n "$root" ] && [ "$user" != root ] && ! getent passwd "$user" >/dev/null; then
    say "Making the user $user"
    useradd --system --user-group --home-dir "$data" --shell /usr/sbin/nologin "$user"
fi
group=$(id -gn "$user")

own() { # own MODE PATH…: readable by the servers, changed by root only
    mode=$1
    shift
    chmod "$mode" "$@"
    [ -z "$root" ] || chown "root:$group" "$@"
}

# --- The program: each version in a folder of its own, so that what runs is not changed under it ---

version=$(sed -n 's/^## //p' "$source/CHANGELOG.md" | head -n 1 | cut -d ' ' -f 1)
release=$app/releases/$version-$(date -u +%Y%m%d-%H%M%S)
say "Putting the program into $release"
mkdir -p "$release" "$app/venvs"
for each in CHANGELOG.md LICENSE README.md manage.py pyproject.toml requirements.lock requirements-oidc.lock playground templates static deploy docs; do
    cp -R "$source/$each" "$release/"
done
find "$release" -name __pycache__ -type d -prune -exec rm -rf {} +
rm -f "$release/deploy/.env" # the database's password, where containers are run from the same checkout
# A checkout made with a strict umask would be closed to the servers' user.
chmod -R u=rwX,go=rX "$release"

lock=requirements.lock
if [ -f "$etc/playground.env" ] && grep -q '^OIDC_ISSUER=..*' "$etc/playground.env"; then
    lock=requirements-oidc.lock
    OIDC_ISSUER=yes
    export OIDC_ISSUER
fi
# One environment for all versions with the same dependencies.
venv=$app/venvs/$(cksum <"$release/$lock" | tr ' ' -)
if [ ! -d "$venv" ]; then
    (cd "$release" && sh deploy/venv.sh)
    mv "$release/.venv" "$venv"
fi
ln -s "$venv" "$release/.venv"
"$release/.venv/bin/python" -m compileall -q "$release/playground" || true

# --- Settings and secrets; kept apart from the data, so that a copy of one does not open the other ---

mkdir -p "$data" "$(dirname "$etc")"
if [ -n "$root" ]; then
    chown "$user:$group" "$data"
fi
chmod 700 "$data"

random() { head -c "$1" /dev/urandom | base64 | tr -d '\n' | tr '+/' '-_'; }

make_secret() { # make_secret NAME BYTES
    [ ! -s "$secrets/$1" ] || return 0
    say "Making the secret $secrets/$1"
    (umask 077 && random "$2" >"$secrets/$1.new" && mv "$secrets/$1.new" "$secrets/$1")
}

as_postgres() {
    if [ -n "$root" ]; then runuser -u postgres -- psql -v ON_ERROR_STOP=1 -qtA "$@"; else psql -v ON_ERROR_STOP=1 -qtA "$@"; fi
}

change_setting() { # change_setting NAME VALUE: in the settings that are there
    [ "$(setting "$1")" != "$2" ] || return 0
    say "Setting $1 in $etc/playground.env"
    NAME=$1 VALUE=$2 awk '
        index($0, ENVIRON["NAME"] "=") == 1 { $0 = ENVIRON["NAME"] "=" ENVIRON["VALUE"]; found = 1 }
        { print }
        END { if (!found) print ENVIRON["NAME"] "=" ENVIRON["VALUE"] }
    ' "$etc/playground.env" >"$etc/playground.env.new"
    own 640 "$etc/playground.env.new"
    mv "$etc/playground.env.new" "$etc/playground.env"
}

make_database() {
    host=${PGHOST:-127.0.0.1} port=${PGPORT:-5432}
    (cd / && as_postgres -d postgres -c "SELECT" >/dev/null) ||
        fail "PostgreSQL does not answer on this machine; pg_lsclusters and journalctl -u 'postgresql@*' say more."
    make_secret database-password 24
    password=$(cat "$secrets/database-password")
    if [ "$(cd / && as_postgres -d postgres -c "SELECT 1 FROM pg_roles WHERE rolname = 'playground'")" != 1 ]; then
        say "Making the PostgreSQL role playground"
        (cd / && echo "CREATE ROLE playground LOGIN PASSWORD '$password'" | as_postgres -d postgres)
    fi
    if [ "$(cd / && as_postgres -d postgres -c "SELECT 1 FROM pg_database WHERE datname = 'playground'")" != 1 ]; then
        say "Making the PostgreSQL database playground"
        (cd / && as_postgres -d postgres -c "CREATE DATABASE playground OWNER playground ENCODING 'UTF8' TEMPLATE template0")
    fi
    database_url=postgres://playground:$password@$host:$port/playground
}

if [ -z "$container" ]; then
    mkdir -p "$secrets"
    own 750 "$etc" "$secrets"
    make_secret signing-key 48
    make_secret master-key 32
    if [ -n "$database_url" ] || [ ! -s "$secrets/database-url" ]; then
        if [ -z "$database_url" ]; then
            if [ -n "$systemd" ]; then systemctl enable --quiet --now postgresql; fi
            make_database
        fi
        (umask 077 && echo "$database_url" >"$secrets/database-url.new" && mv "$secrets/database-url.new" "$secrets/database-url")
    fi
    own 640 "$secrets"/*
    if [ ! -f "$etc/playground.env" ]; then
        say "Writing the settings: $etc/playground.env"
        cat >"$etc/playground.env" <<END
# Settings of the playground, read by every server process when it starts.
PUBLIC_URL=$public_url
DATA_DIR=$data
DATABASE_URL_FILE=$secrets/database-url
REDIS_URL=$redis_url
SECRET_KEY_FILE=$secrets/signing-key
ENCRYPTION_KEYS_FILE=$secrets/master-key
CLIENT_ADDRESS_HEADER=X-Forwarded-For
DRAIN_SECONDS=30
LOG_FORMAT=json
# 1 brings a small model to try with; it is downloaded once and takes 100 MB.
EMBEDDED=0
END
    else
        [ -z "$public_url" ] || change_setting PUBLIC_URL "$public_url"
        change_setting REDIS_URL "$redis_url"
    fi
    cat >"$etc/install" <<END
# What deploy/install.sh was told; the next time it does the same unless it is told otherwise.
PROCESSES=$processes
FIRST_PORT=$first_port
OTHERS=$others
SERVERS_USER=$user
DATABASE=${database:-here}
NGINX=${nginx:-no}
END
    own 640 "$etc/playground.env" "$etc/install"
    public_url=$(setting PUBLIC_URL)
fi

# --- From here on the new version is the one that is used ---

filled() { sed -e "s|@APP@|$app|g" -e "s|@ETC@|$etc|g" -e "s|@DATA@|$data|g" -e "s|@USER@|$user|g" "$1"; }

manage=$prefix/usr/local/bin/playground-manage
mkdir -p "$(dirname "$manage")"
filled "$release/deploy/manage.sh" >"$manage.new"
chmod 755 "$manage.new"
mv "$manage.new" "$manage"
ln -sfn "$release" "$app/current.new"
mv -T "$app/current.new" "$app/current"

# Three versions are kept, with the environments that they use.
find "$app/releases" -mindepth 1 -maxdepth 1 | sort -r | tail -n +4 | while read -r old; do rm -rf "$old"; done
for each in "$app"/venvs/*; do
    used=""
    for link in "$app"/releases/*/.venv; do [ "$(readlink "$link")" != "$each" ] || used=1; done
    [ -n "$used" ] || rm -rf "$each"
done

[ -z "$container" ] || { say "The program is in $app; start it with: playground-manage start --no-link" && exit 0; }

if [ -n "$systemd" ] && [ "$redis_url" = "$here" ]; then
    systemctl enable --quiet --now redis-server
fi
say "Preparing the database and the pages"
"$manage" prepare

mkdir -p "$units"
for each in playground-web@.service playground.target; do
    filled "$release/deploy/systemd/$each" >"$units/$each"
done

ports=""
for each in $(seq "$first_port" $((first_port + processes - 1))); do ports="$ports $each"; done

if [ -n "$systemd" ]; then
    systemctl daemon-reload
    systemctl enable --quiet playground.target
    # One after the other, so that the rest serves meanwhile; each lets its requests finish.
    for each in $ports; do
        say "Starting the process on port $each"
        systemctl enable --quiet "playground-web@$each"
        # It returns once that process takes requests.
        systemctl restart "playground-web@$each" ||
            fail "The process on port $each did not start; journalctl -u playground-web@$each says why."
    done
    systemctl start playground.target
    for unit in $(systemctl list-units --plain --no-legend 'playground-web@*' | cut -d ' ' -f 1); do
        running=${unit#playground-web@}
        running=${running%.service}
        case " $ports " in *" $running "*) ;; *) say "Stopping the process on port $running" && systemctl disable --quiet --now "$unit" ;; esac
    done
fi

if [ -n "$nginx" ]; then
    site=$prefix/etc/nginx/sites-available/playground
    mkdir -p "$(dirname "$site")" "$prefix/etc/nginx/sites-enabled"
    say "Writing the nginx site: $site"
    # Without a new certificate the one of last time stays.
    if [ -z "$certificate" ] && [ -f "$site" ]; then
        certificate=$(sed -n 's/^ *ssl_certificate \(.*\);/\1/p' "$site")
        key=$(sed -n 's/^ *ssl_certificate_key \(.*\);/\1/p' "$site")
    fi
    # $ports is several words.
    # shellcheck disable=SC2086
    "$release/.venv/bin/python" "$release/deploy/site.py" --public-url "$public_url" --ports $ports \
        --others "$others" --certificate "$certificate" --key "$key" >"$site.new"
    mv "$site.new" "$site"
    ln -sfn "$site" "$prefix/etc/nginx/sites-enabled/playground"
    if [ -n "$systemd" ]; then
        nginx -t -q
        systemctl enable --quiet --now nginx
        systemctl reload nginx
    fi
fi

if [ -z "$systemd" ]; then
    say "Nothing was started (--no-systemd). Each process, with its port:"
    for each in $ports; do echo "    PORT=$each $manage start --no-link"; done
    [ -z "$nginx" ] || echo "    and nginx with $site in its http block"
fi
say "Done. The first login, once the servers run: $manage login_link admin"
