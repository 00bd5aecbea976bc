# What the scripts of this folder share. They run in the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Other work may share the processors.
export TEST_PATIENCE_SECONDS=${TEST_PATIENCE_SECONDS:-180}

has() {
  command -v "$1" >/dev/null
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Installs Debian packages, after another step that installs some.
install() {
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends "$@" >/dev/null
}

# Keeps packages from starting their servers, until the script ends.
forbid_starts() {
  local policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then return; fi
  trap "as_root rm -f $policy" EXIT
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod +x "$policy"
}

# Reports what this machine cannot test: now, and at the end of the run.
not_tested() {
  echo "NOT tested here: $*"
  if [ -n "${NOT_TESTED_FILE:-}" ]; then echo "$*" >>"$NOT_TESTED_FILE"; fi
}

# Checkers, fuzzers and generators are Python programs. Go and Java come with
# the requirements.txt of each tool.
need_python() {
  local is_new_enough='sys.version_info >= (3, 11)'
  python3 -c "import sys, ensurepip; sys.exit(not $is_new_enough)" 2>/dev/null ||
    install python3-venv
}

# Runs a command of a tool: run_tool contract diff
run_tool() {
  local tool=$1
  shift
  npm run -s "$@" --prefix "tools/$tool"
}

# For .ci/run and .ci/nightly:

# Starts a run, on the Node.js of the image.
start_run() {
  [ -n "${IS_SHIPPED:-}" ] ||
    IS_SHIPPED=1 exec .ci/with-node shipped ".ci/$(basename "$0")"
  run=$(mktemp -d)
  trap 'rm -rf "$run"' EXIT
  export NOT_TESTED_FILE=$run/not-tested
}

title() {
  printf '\n== %s (%d min)\n' "$1" $((SECONDS / 60))
}

# Runs a command, and notes how long it took.
step() {
  title "$1"
  local start=$SECONDS
  "${@:2}"
  local seconds=$((SECONDS - start))
  printf '%4d:%02d  %s\n' $((seconds / 60)) $((seconds % 60)) "$1" >>"$run/times"
}

# Prints the machine, the minutes and seconds of each step, and what was not tested.
summary() {
  title summary
  node -p '`${os.cpus().length} CPUs (${os.cpus()[0].model.trim()}), ` +
    `${Math.round(os.totalmem() / 2 ** 30)} GiB, Node.js ${process.version}`'
  cat "$run/times"
  if [ -s "$NOT_TESTED_FILE" ]; then
    echo 'Not tested here:'
    sed 's/^/- /' "$NOT_TESTED_FILE"
  else
    echo 'Every step was tested here.'
  fi
}
