#!/bin/sh
# Replaces the processes of docker-compose.yml one by one, so that no call fails: workers first, then the APIs, then admin,
# each when the one before is healthy. For a new version, after its `migrate`, and after a change of .env or of
# darkroom.config.json. It ends with 1 at the first process that does not become healthy: the others run as before, and
# a second run begins again.
#   deploy/roll.sh [SERVICE…]
# NGINX_CONF names the file made from deploy/nginx.conf: an API is marked `down` there before it is stopped. Other proxies
# take an API out themselves if they probe /readyz at least every two seconds: it is 503 for five before the door closes.
set -eu
cd "$(dirname "$0")/.."
conf=${NGINX_CONF:-/etc/nginx/conf.d/darkroom.conf}

# mark ADDRESS [' down']
mark() {
  [ -f "$conf" ] || return 0
  sed -i -E "s/server $1( down)?;/server $1${2:-};/" "$conf"
  nginx -s reload
  # Until nginx's old processes take no calls any more.
  sleep 2
}

# Where nginx finds a service: nothing but for an API.
address_of() {
  case $1 in api-*) [ ! -f "$conf" ] || docker compose port "$1" 8080 ;; esac
}

if [ $# -eq 0 ]; then
  all=$(docker compose config --services | sort)
  # shellcheck disable=SC2046
  set -- $(echo "$all" | grep '^worker-') $(echo "$all" | grep '^api-') admin
fi
[ -f "$conf" ] || echo "There is no $conf, so no API is taken out of nginx. NGINX_CONF names another file."
for service; do
  echo "$(date +%T) $service"
  # An API that has ended has no port.
  address=$(address_of "$service" 2>/dev/null || true)
  [ -z "$address" ] || mark "$address" ' down'
  docker compose --progress quiet up --detach --no-deps --force-recreate --wait "$service"
  # Asked again, because a run that broke off may have left an API that has ended marked.
  address=$(address_of "$service")
  [ -z "$address" ] || mark "$address"
done
echo "$(date +%T) done"
