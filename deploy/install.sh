#!/bin/sh
# Installs farfield from the files of a release: a folder, or an address below which they are.
#
#   sh install.sh --from FOLDER|URL [--prefix FOLDER]
#
# FARFIELD_RELEASE stands for --from. Where neither is given, the folder of this script is taken. The prefix is
# /usr/local for root, and ~/.local for others. Nothing is installed whose digest is not the one in SHA256SUMS.
set -eu

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

from=${FARFIELD_RELEASE:-}
prefix=
while [ $# -gt 0 ]; do
    case $1 in
        --from) from=${2:?--from needs a folder or a URL}; shift 2 ;;
        --prefix) prefix=${2:?--prefix needs a folder}; shift 2 ;;
        -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) fail "unknown word '$1'; see --help" ;;
    esac
done
if [ -z "$from" ]; then
    from=$(dirname "$0")
    [ -f "$from/SHA256SUMS" ] || fail "name where the release is: --from FOLDER or URL"
fi
if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?}/.local; fi
fi
[ "$(uname -s)" = Linux ] || fail "farfield runs on Linux; this is $(uname -s)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# fetch NAME: brings the file of the release into the work folder.
fetch() {
    case $from in
        file://*) cp "${from#file://}/$1" "$work/$1" ;;
        http://* | https://*)
            if command -v curl > /dev/null; then
                curl --fail --location --silent --show-error --output "$work/$1" "$from/$1"
            elif command -v wget > /dev/null; then
                wget -q -O "$work/$1" "$from/$1"
            else
                fail "neither curl nor wget is installed"
            fi ;;
        *) cp "$from/$1" "$work/$1" ;;
    esac || fail "$from has no $1"
}

fetch SHA256SUMS
machine=$(uname -m)
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(farfield-[0-9][^/]*-$machine-linux\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
[ -n "$archive" ] || fail "the release at $from has no archive for $machine"
[ "$(echo "$archive" | wc -l)" = 1 ] || fail "the release at $from has several archives for $machine"
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

tar -xzf "$work/$archive" -C "$work"
unpacked=$work/${archive%.tar.gz}
"$unpacked/bin/farfield" --version > /dev/null ||
    fail "the program does not run here; it needs the glibc that docs/install.md names"
mkdir -p "$prefix"
# A program that runs is replaced, not written over.
rm -f "$prefix/bin/farfield"
cp -R "$unpacked/." "$prefix/"
echo "$("$prefix/bin/farfield" --version) is installed: $prefix/bin/farfield"
case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "Your PATH has no $prefix/bin: add it, or type the whole path." ;;
esac
