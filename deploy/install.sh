#!/bin/sh
# Installs farfield from the files of a release (see `usage`). All of it is functions that the last line
# calls: of a script that arrives in part, nothing runs.
set -eu

usage() {
    cat << 'END'
Installs farfield from the files of a release: a folder, or an address below which they are.

  sh install.sh --from FOLDER|URL [--prefix FOLDER]
  curl … | sh -s -- --from URL [--prefix FOLDER]

FARFIELD_RELEASE stands for --from. Where neither is given, the folder of install.sh is taken. The prefix is
/usr/local for root, and ~/.local for others. Nothing is installed whose digest is not the one in SHA256SUMS.
END
}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# read_words WORD…: sets from and prefix.
read_words() {
    from=${FARFIELD_RELEASE:-}
    prefix=
    while [ $# -gt 0 ]; do
        case $1 in
            --from) from=${2:?--from needs a folder or a URL}; shift 2 ;;
            --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
            -h | --help) usage; exit 0 ;;
            *) fail "unknown word '$1'; see --help" ;;
        esac
    done
    if [ -z "$from" ]; then
        # A script from a pipe has no folder: what lies in the current one may be anybody's.
        case ${0##*/} in
            install.sh) from=$(dirname -- "$0") ;;
        esac
        [ -n "$from" ] && [ -f "$0" ] && [ -f "$from/SHA256SUMS" ] ||
            fail "name where the release is: --from FOLDER or URL"
    fi
    if [ -z "$prefix" ]; then
        if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
    fi
    for word in "$from" "$prefix"; do
        case $word in
            -*) fail "'$word' looks like an option: write ./$word if it is a folder" ;;
        esac
    done
}

# download URL FILE
download() {
    if command -v curl > /dev/null; then
        # From https no server redirects to anything else.
        curl --proto "=https,${1%%:*}" --fail --location --silent --show-error --output "$2" "$1"
    elif command -v wget > /dev/null; then
        wget -q -O "$2" "$1"
    else
        fail "neither curl nor wget is installed"
    fi
}

# fetch NAME: brings the file of the release into the work folder.
fetch() {
    case $from in
        file://*) cp "${from#file://}/$1" "$work/$1" ;;
        http://* | https://*) download "$from/$1" "$work/$1" ;;
        *) cp "$from/$1" "$work/$1" ;;
    esac || fail "$from has no $1"
}

# fetch_archive: sets archive, whose digest is the one in SHA256SUMS.
fetch_archive() {
    fetch SHA256SUMS
    machine=$(uname -m)
    name="farfield-[0-9][^/]*-$machine-linux\.tar\.gz"
    archive=$(sed -n "s/^[0-9a-f]\{64\}  \($name\)\$/\1/p" "$work/SHA256SUMS")
    [ -n "$archive" ] || fail "the release at $from has no archive for $machine"
    [ "$(echo "$archive" | wc -l)" -eq 1 ] || fail "the release at $from has several archives for $machine"
    fetch "$archive"
    expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/SHA256SUMS")
    if command -v sha256sum > /dev/null; then
        found=$(sha256sum < "$work/$archive")
    elif command -v shasum > /dev/null; then
        found=$(shasum -a 256 < "$work/$archive")
    else
        fail "neither sha256sum nor shasum is installed, so the archive cannot be checked"
    fi
    [ "${found%% *}" = "$expected" ] || fail "$archive is damaged: its digest is not the one in SHA256SUMS"
}

# try_program FILE: fails with the reason if it does not run.
try_program() {
    if "$1" --version > /dev/null; then return; fi
    printf '#!/bin/sh\nexit 0\n' > "$work/probe"
    chmod 700 "$work/probe"
    "$work/probe" 2> /dev/null ||
        fail "programs in $work may not be executed (mounted noexec?): set TMPDIR to another folder"
    fail "the program does not run here; it needs the glibc that docs/install.md names"
}

main() {
    # Other users run what root installs, whatever root's own umask is.
    umask 022
    read_words "$@"
    [ "$(uname -s)" = Linux ] || fail "farfield runs on Linux; this is $(uname -s)"

    work=$(mktemp -d)
    beside=
    trap 'rm -rf "$work"; [ -z "$beside" ] || rm -f "$beside"' EXIT
    trap 'exit 1' HUP INT TERM
    fetch_archive
    tar -xzf "$work/$archive" -C "$work"
    unpacked=$work/${archive%.tar.gz}
    try_program "$unpacked/bin/farfield"

    # A program that runs is replaced, not written over; and the old one stays until the new one is complete.
    mkdir -p "$prefix/bin"
    beside=$prefix/bin/.farfield.$$
    cp "$unpacked/bin/farfield" "$beside" || fail "the program cannot be copied into $prefix/bin"
    rm "$unpacked/bin/farfield"
    cp -R "$unpacked/." "$prefix/"
    mv -f "$beside" "$prefix/bin/farfield"
    echo "$("$prefix/bin/farfield" --version) is installed: $prefix/bin/farfield"
    case :$PATH: in
        *":$prefix/bin:"*) ;;
        *) echo "Your PATH has no $prefix/bin: add it, or type the whole path." ;;
    esac
}

# In braces, so that not even a part of this line is a command.
{ main "$@"; }
