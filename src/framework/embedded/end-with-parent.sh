# Runs a PostgreSQL server that ends with the process that started this shell.
# Usage: end-with-parent.sh SOCKET_FOLDER COMMAND...
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

# When the pipe closes, the server rejects new connections. Commands that use it
# have ten seconds to finish.
(
  read -r _ <&3
  kill -TERM $server
  sleep 10
  kill -INT $server
) 2>/dev/null &
reader=$!

wait $server
kill $reader
rm -rf "$socket_folder"
