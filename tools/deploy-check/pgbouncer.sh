#!/bin/sh
# Prints the command line of PgBouncer 1.21 or later: the system's, or that of Debian 13, whose packages are unpacked into the
# folder of the first argument. Installs nothing; needs apt-get.
set -eu
case $(pgbouncer --version 2>/dev/null | sed -n 's/^PgBouncer 1\.//p') in
2[1-9]* | [3-9][0-9]*) echo pgbouncer; exit ;;
esac
mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/debs"
folder=$(cd "$1" && pwd)
if [ ! -e "$folder/ready" ]; then
  mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list* | head -n 1)
  [ -n "$mirror" ] || { echo 'Install PgBouncer 1.21 or later: /etc/apt has no mirror of Debian' >&2; exit 1; }
  signed=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$signed] $mirror trixie main" >"$folder/sources"
  apt() {
    apt-get -qq -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache" -o Dir::Etc::SourceList="$folder/sources" \
      -o Dir::Etc::SourceParts=/dev/null -o Dir::State::status=/dev/null -o Acquire::Languages=none \
      -o APT::Sandbox::User=root "$@" >&2
  }
  apt update
  cd "$folder/debs"
  apt download pgbouncer libc6 libcares2 libevent-2.1-7t64 libpam0g libaudit1 libcap-ng0 libcap2 libssl3t64 libsystemd0 \
    libzstd1 zlib1g
  for deb in *.deb; do dpkg-deb -x "$deb" "$folder/root"; done
  touch "$folder/ready"
fi
libraries=$(echo "$folder"/root/usr/lib/*-linux-gnu)
echo "$libraries"/ld-linux-*.so.* --library-path "$libraries" "$folder/root/usr/sbin/pgbouncer"
