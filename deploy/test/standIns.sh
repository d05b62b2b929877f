#!/bin/sh
# Makes images under the names and tags that docker-compose.yml and the Dockerfile use, from Debian's packages and from the
# programs that `npm test` builds, for machines that reach no registry of images. Walk.ts runs it.
#   standIns.sh FOLDER      FOLDER: scratch. BIN: temporal-server, temporal-sql-tool, temporal-ui, versitygw.
set -eu
here=$(dirname "$(realpath "$0")")/standIns
root=$(realpath "$here/../../..")
named() { grep -ohE "^( *image:|FROM) $1:[^ ]+" "$root/docker-compose.yml" "$root/Dockerfile" | head -1 | sed "s/.* //"; }
module() { (cd "$root/tools/temporal" && go list -m -f '{{.Dir}}' "$1"); }
mkdir -p "$1"
cd "$1"

docker image inspect darkroom-stand-in >/dev/null 2>&1 || {
  mmdebstrap --quiet --variant=minbase --include=ca-certificates,busybox,postgresql-18,zstd \
    --aptopt='Acquire::Check-Valid-Until "false"' forky base.tar
  docker import base.tar darkroom-stand-in >/dev/null
  rm base.tar
}
# stand_in NAME: builds from standIns/NAME.Dockerfile and this folder.
stand_in() {
  docker build --quiet --file "$here/$1.Dockerfile" --tag "$(named "$2")" . >/dev/null
  named "$2"
}
cp "$here"/* .
cp /etc/ssl/certs/ca-certificates.crt .
cp "$("${NODE:?}" -p process.execPath)" node
cp -r "$(dirname "$(dirname "$(realpath "$(command -v npm)")")")" npm
stand_in node node
stand_in postgres postgres
cp "$(module go.temporal.io/server)/docker/scripts/sh/entrypoint.sh" .
ui=$(module github.com/temporalio/ui-server/v2)
cp "$ui/docker/start-ui-server.sh" "$ui/config/docker.yaml" .
chmod -R u+w . && chmod 755 ./*.sh
cp "${BIN:?}"/* .
stand_in temporal temporalio/server
stand_in temporal temporalio/admin-tools
stand_in temporalUi temporalio/ui
stand_in s3 versity/versitygw
