#!/bin/sh
# Runs docker-compose.yml for real, as root on Linux: Debian's Docker daemon and `docker compose` in a network namespace of
# their own, because the file fixes its ports, on stand-ins of the base images that are made from packages (standIns.sh).
# It prints each step with its time, and ends with 1 when a step fails or when Docker cannot run here.
#   deploy/test/run.sh [--quick]      --quick: one first start instead of five, no rotation
set -eu
cd "$(dirname "$0")/../.."
cannot() { echo "Docker cannot run here: $1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || cannot 'this needs root'
for program in dockerd docker mmdebstrap ip iptables nsenter nginx go; do
  command -v $program >/dev/null || cannot "$program is missing (apt-get install docker.io mmdebstrap iproute2 iptables nginx golang)"
done
docker compose version >/dev/null 2>&1 || cannot 'docker compose is missing (apt-get install docker-compose, or build github.com/docker/compose/v2/cmd)'

net=darkroom-$$
link=dr$$
clean() {
  ip netns delete $net 2>/dev/null || true
  ip link delete $link 2>/dev/null || true
  iptables -t nat -D POSTROUTING -s 10.213.1.0/24 -j MASQUERADE 2>/dev/null || true
}
trap clean EXIT
trap 'exit 1' INT TERM
ip netns add $net
ip link add $link type veth peer name inside netns $net
ip addr add 10.213.1.1/24 dev $link
ip link set $link up
ip -n $net addr add 10.213.1.2/24 dev inside
ip -n $net link set inside up
ip -n $net link set lo up
ip -n $net route add default via 10.213.1.1
sysctl -qw net.ipv4.ip_forward=1
iptables -t nat -A POSTROUTING -s 10.213.1.0/24 -j MASQUERADE
# Not `ip netns exec`, which mounts /sys again and hides the control groups.
nsenter --net=/run/netns/$net "$(node tools/node24.mjs)" deploy/test/walk.ts "$@"
