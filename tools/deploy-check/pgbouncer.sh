#!/bin/sh
# Prints the command line of PgBouncer 1.21 or later: the system's, or that of
# Debian 13, which mmdebstrap unpacks into the folder of the first argument.
set -eu
case $(pgbouncer --version 2>/dev/null | sed -n 's/^PgBouncer 1\.//p') in
2[1-9]* | [3-9][0-9]*) echo pgbouncer && exit ;;
esac
if [ ! -e "$1" ]; then
  rm -rf "$1.new"
  mkdir -p "$1.new"
  mmdebstrap --variant=extract --include=pgbouncer trixie "$1.new" >&2
  mv "$1.new" "$1"
fi
# The C library of this system may be older.
libraries=$(echo "$1"/usr/lib/*-linux-gnu)
echo "$libraries"/ld-linux-*.so.* --library-path "$libraries" "$1/usr/sbin/pgbouncer"
