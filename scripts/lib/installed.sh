# shellcheck shell=bash disable=SC2034 # the scripts that source this use its variables
# What scripts/install and scripts/uninstall agree on: where things go, and the list of what was
# put there, by which only that is ever removed. Sourced, never run.

prefix=/usr/local
sysconfdir=/etc
destdir=${DESTDIR-}
# Set by --prefix; a prefix other than the usual ones is not where systemd looks.
units=(
    dormouse-agent.service dormouse-sink.service dormouse-transfer.service dormouse-transfer.path
    dormouse.target
)

say() {
    printf '%s\n' "$*"
}

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# Takes the options that both scripts have; the rest is left in "$rest".
take_options() {
    rest=()
    while (($#)); do
        case $1 in
            --prefix | --destdir | --sysconfdir)
                (($# >= 2)) || misused "$1 needs a value"
                declare -g "${1#--}=$2"
                shift
                ;;
            --prefix=* | --destdir=* | --sysconfdir=*)
                local assignment=${1#--}
                declare -g "$assignment"
                ;;
            --help | -h) usage; exit ;;
            *) rest+=("$1") ;;
        esac
        shift
    done
    [[ $prefix == /* && $sysconfdir == /* ]] || misused '--prefix and --sysconfdir are absolute paths'
    [[ -z $destdir || $destdir == /* ]] || misused '--destdir is an absolute path'
    prefix=${prefix%/}
    destdir=${destdir%/}
    manifest=$prefix/lib/dormouse/installed
}

misused() {
    printf 'error: %s\n\n' "$*" >&2
    usage >&2
    exit 2
}

# True when what is done concerns the machine that runs this.
is_live() {
    [[ -z $destdir ]]
}

# True when there is a service manager to talk to.
has_systemd() {
    is_live && [[ -d /run/systemd/system ]]
}

checksum() {
    sha256sum <"$1" | cut -d ' ' -f 1
}

# The checksum with which a file was installed, or nothing.
recorded() {
    [[ -f $destdir$manifest ]] || return 0
    awk -v path="$1" '$2 == path { print $1 }' "$destdir$manifest"
}
