#!/usr/bin/env bash
# Builds the image twice, compares the digests, and runs it as a container would: as user 65532, on a read-only root, with /data
# and /tmp alone for writing. The builds are of the npm packages that are the arguments; without one a build makes its own. Needs
# what packaging/image.sh needs, root, and of Debian jq, curl and util-linux.
set -euo pipefail
cd "$(dirname "$0")/.."
MAX_BYTES=120000000
MAX_STOP_SECONDS=12
work=$(mktemp --directory)
trap 'kill "${service:-}" 2>/dev/null || true; rm -rf "$work"' EXIT
chmod 755 "$work"

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

package=${1:-$work/$(npm pack --silent --pack-destination "$work")}
packaging/image.sh "$work/1.tar" "$package" >"$work/1.digest" &
first=$!
packaging/image.sh "$work/2.tar" ${2:+"$2"} >"$work/2.digest"
wait "$first"
cmp "$work/1.digest" "$work/2.digest" || fail "Two builds have different digests."
cmp "$work/1.tar" "$work/2.tar" || fail "Two builds have different archives."
bytes=$(stat --format=%s "$work/1.tar")
[ "$bytes" -le "$MAX_BYTES" ] || fail "The image has $bytes bytes, more than $MAX_BYTES."
echo "$(cat "$work/1.digest"), $bytes bytes"

mkdir "$work/oci" "$work/root" "$work/state"
tar -xf "$work/1.tar" -C "$work/oci"
blob() { echo "$work/oci/blobs/sha256/${1#sha256:}"; }
manifest=$(blob "$(jq -r '.manifests[0].digest' "$work/oci/index.json")")
config=$(blob "$(jq -r .config.digest "$manifest")")
for digest in $(jq -r '.layers[].digest' "$manifest"); do
  sha256sum --quiet --check <<<"${digest#sha256:}  $(blob "$digest")"
  tar -xzf "$(blob "$digest")" --same-owner --same-permissions -C "$work/root"
done
found=$(find "$work/root" -perm /6000 -o -regex '.*/\(sh\|bash\|dash\|busybox\)')
[ -z "$found" ] || fail "The image has a shell or setuid files: $found"
found=$(find "$work/root" -mindepth 1 ! -uid 0 ! -path "$work/root/data" ! -path "$work/root/tmp")
[ -z "$found" ] || fail "Files of the program belong to its user: $found"
if ! unshare --mount true; then
  echo "This machine gives nobody a mount namespace, so the image was built and searched, but not run."
  exit
fi

mkdir -p "$work/root/proc" "$work/root/dev"
chown 65532:65532 "$work/state"

token=$(cat /proc/sys/kernel/random/uuid)
port=$(node -e 'const s = require("net").createServer().listen(0, () => { console.log(s.address().port); s.close(); })')
url=http://127.0.0.1:$port
mapfile -t environment < <(jq -r '.config.Env[]' "$config")
mapfile -t entrypoint < <(jq -r '.config.Entrypoint[]' "$config")
mapfile -t command < <(jq -r '.config.Cmd[]' "$config")
mapfile -t health < <(jq -r '.config.Healthcheck.Test[1:][]' "$config")
user=$(jq -r .config.User "$config")
# Becomes the program, in a container as far as files and its user are concerned.
run() {
  exec unshare --mount bash -euc '
    root=$1 state=$2; shift 2
    mount --bind "$root" "$root"
    mount --bind "$state" "$root/data"
    mount -t tmpfs tmpfs "$root/tmp"
    mount --rbind /proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -o remount,bind,ro "$root"
    exec "$@"' run "$work/root" "$work/state" \
    env -i "${environment[@]}" "PORT=$port" "GABBRO_TOKEN=$token" OTLP_GRPC_PORT=off \
    "$(command -v chroot)" --userspec="$user" "$work/root" "$@"
}

start() {
  run "${entrypoint[@]}" "${command[@]}" >"$work/log" 2>&1 &
  service=$!
  curl --silent --fail --output /dev/null --retry 60 --retry-delay 1 --retry-connrefused "$url/ready" ||
    fail "The service did not start: $(cat "$work/log")"
}

stop() {
  kill -TERM "$service"
  timeout "$MAX_STOP_SECONDS" tail --pid="$service" --sleep-interval=0.1 -f /dev/null ||
    fail "The service did not end within $MAX_STOP_SECONDS s of SIGTERM: $(cat "$work/log")"
  wait "$service" || fail "The service ended with $? after SIGTERM: $(cat "$work/log")"
}

start
[ "$(awk '/^Uid:/ { print $2 }' "/proc/$service/status")" = 65532 ] || fail "The service runs as another user."
(run "${health[@]}")
node_modules/.bin/node --input-type=module --eval \
  'import { doMainJob } from "./packaging/mainJob.ts"; await doMainJob(...process.argv.slice(1));' "$url" "$token"
stop
start
curl --silent --fail --header "Authorization: Bearer $token" "$url/datasets/country-quiz" >"$work/dataset"
grep --quiet 'Which country has Nairobi as its capital?' "$work/dataset" || fail "The row is gone after a restart."
stop
echo "did the main job as user 65532 on a read-only root, and again after a restart"
