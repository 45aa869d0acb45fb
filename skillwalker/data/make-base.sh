#!/bin/sh
# Writes the root file system of the sandbox's base image, made from Debian's packages, as a tar file.
# usage: make-base.sh FILE ARCHITECTURE SUITE PACKAGE...
#
# For machines that reach Debian's packages but no image registry. Installs nothing here: where mmdebstrap is
# missing, its package is unpacked into a temporary directory. Exit 3: this machine has no means for it.
set -eu

file=$1 architecture=$2 suite=$3
shift 3
packages=$(echo "$*" | tr ' ' ',')
mirror=${SKILLWALKER_DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${SKILLWALKER_DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$work" # apt's own user reads here

keys=usr/share/keyrings/debian-archive-keyring.gpg

say() { echo "skillwalker: $*" >&2; }

# Unpacks the packages named, without root: apt's lists and cache may be private.
unpack() (
    cd "$work"
    # shellcheck disable=SC2086
    if ! apt-get $1 download -q $2 >&2; then return 1; fi
    for package in *.deb; do dpkg-deb --extract "$package" "$work/host"; done
)

find_mmdebstrap() {
    if command -v mmdebstrap; then return; fi
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null && command -v perl >/dev/null || return 1
    mkdir -p "$work/host" "$work/lists/partial" "$work/cache/archives/partial"
    private="-o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache"
    wanted=mmdebstrap
    [ -e "/$keys" ] || wanted="$wanted debian-archive-keyring"
    if ! unpack '' "$wanted" 2>/dev/null; then
        say 'reading lists of packages'
        # shellcheck disable=SC2086
        apt-get $private update -q >&2 || return 1
        unpack "$private" "$wanted" || return 1
    fi
    echo "$work/host/usr/bin/mmdebstrap"
}

# What an image needs no copy of. The name of this machine must not get in.
set -- \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    --aptopt='Acquire::Retries "3"' \
    --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"'

if mmdebstrap=$(find_mmdebstrap); then
    say "making a base image of Debian $suite ($architecture) from its packages with mmdebstrap"
    PATH="$PATH:$work/host/usr/bin" # it calls programs of its own
    # Named, since telling which keys sign Debian's packages would need gpg.
    for keyring in "$work/host/$keys" "/$keys"; do
        if [ -e "$keyring" ]; then set -- "$@" --keyring="$keyring"; fi
    done
    perl "$mmdebstrap" --variant=apt --format=tar --architectures="$architecture" --include="$packages" "$@" \
        "$suite" "$file" "deb $mirror $suite main" "deb $mirror $suite-updates main" \
        "deb $security $suite-security main" >&2
elif command -v debootstrap >/dev/null && [ "$(id -u)" = 0 ]; then
    say "making a base image of Debian $suite ($architecture) from its packages with debootstrap"
    debootstrap --variant=minbase --arch="$architecture" --include="$packages" "$suite" "$work/root" "$mirror" >&2
    rm -rf "$work/root"/var/cache/apt/archives/*.deb "$work/root"/usr/share/man/* "$work/root"/usr/share/locale/* \
        "$work/root/etc/hostname" "$work/root/etc/resolv.conf"
    tar --create --file="$file" --directory="$work/root" --numeric-owner .
else
    say 'neither mmdebstrap (or apt-get and perl to fetch it) nor debootstrap (as root) is here'
    exit 3
fi
