#!/bin/sh
# Says what this machine lacks for "make setup", with the Debian package that brings it.
set -u
python=${PYTHON:-python3}
root=$(dirname "$0")/..
packages=
notes=

python_wanted=$(sed -n 's/^requires-python = ">=\(.*\)"/\1/p' "$root/pyproject.toml")
rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/engine/Cargo.toml")

need() {
    packages="$packages $1"
    notes="$notes
  - $2"
}

if ! command -v "$python" >/dev/null 2>&1; then
    need "python3 python3-venv" "Python $python_wanted or later ($python not found)"
elif ! "$python" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$python_wanted'.split('.'))))"; then
    need "python3 python3-venv" "Python $python_wanted or later ($python is $("$python" -V 2>&1 | cut -d' ' -f2)); PYTHON=... chooses another"
elif ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    need "python3-venv" "the venv module of $python"
fi

if ! command -v cc >/dev/null 2>&1; then
    need "gcc libc6-dev" "a C compiler (cc not found)"
fi

rust_help="Debian 13: packages cargo and rustc; older: the rustup installer of rust-lang.org"
if ! command -v cargo >/dev/null 2>&1; then
    need "cargo rustc" "Rust $rust_wanted or later (cargo not found). $rust_help"
else
    rust_found=$(cargo --version | cut -d' ' -f2)
    oldest=$(printf '%s\n%s\n' "$rust_wanted" "$rust_found" | sort -V | head -n 1)
    if [ "$oldest" != "$rust_wanted" ]; then
        need "cargo rustc" "Rust $rust_wanted or later (cargo is $rust_found). $rust_help"
    fi
fi

if [ -n "$packages" ]; then
    printf 'error: this machine lacks what the build needs:%s\n hint: apt-get install%s\n' "$notes" "$packages" >&2
    exit 3
fi
