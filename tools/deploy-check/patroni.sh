#!/bin/sh
# Three hosts, each with PostgreSQL and Patroni, and HAProxy in front of them on 127.0.0.1:5000. The hosts are network namespaces
# on two bridges: `database` joins them with each other (10.0.0.1 to 10.0.0.3) and with etcd (10.0.0.11), `service` with the tests
# (10.0.1.1 to 10.0.1.3). Everything is in namespaces of its own, and ends with the command.
#
#   patroni.sh run COMMAND                   runs a command beside the hosts, which it controls by:
#   patroni.sh start|kill|freeze|resume HOST  all processes of the host
#   patroni.sh isolate|join HOST             disconnects it from the other hosts; reconnects it
#
# Needs root on Linux, Debian's packages etcd-server, haproxy, iproute2 and postgresql, and Patroni of requirements.txt.
# Debian 12 has Patroni 3.0.2, with which a frozen primary that resumes can take the lock back from its successor.
set -eu
PATH=tools/deploy-check/.venv/bin:$PATH:/usr/sbin:/sbin
binaries=$(dirname "$(ls /usr/lib/postgresql/*/bin/pg_rewind 2>/dev/null | sort -V | tail -n 1)")

make_hosts() {
  # The namespaces of ip, and all data.
  mount -t tmpfs tmpfs /run
  ip link set lo up
  # With an address of its own: otherwise it has that of one of its hosts, and loses it with that host.
  for bridge in database service; do ip link add $bridge up address 02:00:00:00:00:01 type bridge; done
  ip addr add 10.0.1.254/24 dev service
  ip addr add 10.0.0.11/24 dev database
  for host in 1 2 3; do
    ip netns add pg$host
    ip -n pg$host link set lo up
    ip link add database$host up master database type veth peer name database netns pg$host
    ip link add service$host up master service type veth peer name service netns pg$host
    ip -n pg$host addr add 10.0.0.$host/24 dev database
    ip -n pg$host addr add 10.0.1.$host/24 dev service
    for link in database service; do ip -n pg$host link set $link up; done
    mkdir /run/pg$host
    configure $host >/run/pg$host/patroni.yml
    chown postgres: /run/pg$host
  done
}

# With the settings of docs/failover.md.
configure() {
  cat <<EOF
scope: test
name: pg$1
restapi: { listen: 0.0.0.0:8008, connect_address: 10.0.0.$1:8008 }
etcd3: { host: 10.0.0.11:2379 }
bootstrap:
  dcs:
$(sed -n '/^```yaml$/,/^```$/ { /^```/d; s/^/    /p }' docs/failover.md)
  initdb: [encoding: UTF8, locale: C]
postgresql:
  listen: 0.0.0.0:5432
  connect_address: 10.0.0.$1:5432
  data_dir: /run/pg$1/data
  bin_dir: $binaries
  authentication: { superuser: { username: postgres }, replication: { username: postgres } }
  pg_hba: [local all all trust, host all all samenet trust, host replication all samenet trust]
  parameters: { unix_socket_directories: /run/pg$1, shared_buffers: 32MB, max_wal_size: 256MB, wal_keep_size: 256MB }
EOF
}

as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }

# Not on the hosts of the primary: an etcd leader that was frozen may revoke the lease of the new primary when it resumes.
start_etcd() {
  mkdir /run/etcd
  chown nobody: /run/etcd
  as_nobody etcd --data-dir /run/etcd/data --listen-client-urls http://10.0.0.11:2379 \
    --advertise-client-urls http://10.0.0.11:2379 >/run/etcd.log 2>&1 &
}

start_proxy() {
  cat >/run/haproxy.cfg <<\EOF
defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h
  timeout check 1s
listen primary
  bind 127.0.0.1:5000
  option httpchk OPTIONS /primary
  default-server check port 8008 inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
  server pg1 10.0.1.1:5432
  server pg2 10.0.1.2:5432
  server pg3 10.0.1.3:5432
EOF
  as_nobody haproxy -f /run/haproxy.cfg >/run/haproxy.log 2>&1 &
}

# Starts Patroni as the user postgres, who may read a clone in a folder of root.
start() {
  ip netns exec "pg$1" setpriv --reuid=postgres --regid=postgres --init-groups --securebits=+no_setuid_fixup \
    --inh-caps=-all,+dac_override --ambient-caps=-all,+dac_override patroni "/run/pg$1/patroni.yml" >>"/run/pg$1/patroni.log" 2>&1 &
}

# Sends a signal to all processes of a host, until a second time finds no new ones.
signal() {
  for _ in 1 2; do ip netns pids "pg$2" | xargs -r kill "-$1" || true; done
}

case "${1-} ${2-}" in
'run '?*)
  exec unshare --mount --net --pid --fork --kill-child --mount-proc "$0" beside "$@"
  ;;
'beside run')
  shift 2
  make_hosts
  start_etcd
  start_proxy
  # Not by exec: the shell is the init of its namespace, and reaps what Patroni leaves.
  status=0
  "$@" || status=$?
  exit $status
  ;;
'start '[123]) start "$2" ;;
'kill '[123]) signal KILL "$2" ;;
'freeze '[123]) signal STOP "$2" ;;
'resume '[123]) signal CONT "$2" ;;
'isolate '[123]) ip link set "database$2" nomaster ;;
'join '[123]) ip link set "database$2" master database ;;
esac
