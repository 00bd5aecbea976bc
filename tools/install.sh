#!/bin/sh
# Installs what the tool in the current folder needs beyond the packages of the
# service: `npm` by its package-lock.json, `python` by its requirements.txt.
# Does nothing if it is installed already.
set -eu

announce() {
  echo "Installing $1 for ${PWD##*/}, once. It may take minutes ..." >&2
}

install_npm() {
  [ node_modules/.package-lock.json -nt package-lock.json ] && return
  announce 'npm packages'
  npm ci --no-audit --no-fund --loglevel=error
}

install_python() {
  [ .venv/requirements.txt -nt requirements.txt ] && return
  announce 'Python packages'
  python3 -m venv --clear .venv
  .venv/bin/pip install --quiet --require-hashes -r requirements.txt
  cp requirements.txt .venv/
}

for packages in "$@"; do "install_$packages"; done
