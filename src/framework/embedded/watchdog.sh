# Runs a PostgreSQL server that ends with the process that started this shell.
# Usage: watchdog.sh SOCKET_FOLDER COMMAND...
#
# The shell's stdin is a pipe from that process. It closes when the process
# ends, even by SIGKILL. The shell outlives the process only until the server
# has shut down.
socket_folder=$1
shift

# In sh, the stdin of a background job is /dev/null: pass the pipe on as fd 3.
exec 3<&0

"$@" &
server=$!

# Interrupts the server when the pipe closes. Repeats this, because a server
# that is still starting ignores the signal.
(
  read -r _ <&3
  while kill -INT $server; do sleep 0.1; done
) 2>/dev/null &
reader=$!

wait $server
kill $reader
rm -rf "$socket_folder"
