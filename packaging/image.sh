#!/usr/bin/env bash
# Builds the image of Gabbro, as an OCI archive, without a builder of images and without a base image:
#
#   packaging/image.sh gabbro.tar && podman load --input gabbro.tar
#
# It consists of Node.js and the packages of npm as package-lock.json pins them, of the C and C++ libraries of this Debian, and
# of the npm package that this clone makes, or of that which is the second argument. The same inputs give the same digest, which
# is printed. Needs npm in the clone, and of Debian apt, dpkg, GNU tar, gzip and coreutils. Only /data and /tmp of the image are
# for writing.
set -euo pipefail
output=$(realpath "${1:?Name the file to write: packaging/image.sh gabbro.tar}")
package=${2:+$(realpath "$2")}
cd "$(dirname "$0")/.."
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-0} LC_ALL=C TZ=UTC
umask 022
build=$(mktemp --directory)
trap 'rm -rf "$build"' EXIT
system=$build/system app=$build/app/app data=$build/data
blobs=$build/oci/blobs/sha256
mkdir -p "$system"/{etc,nodejs/bin} "$app" "$data"/{data,tmp} "$blobs" "$build/packages"
architecture=$(dpkg --print-architecture)

[ -n "$package" ] || package=$build/$(npm pack --silent --pack-destination "$build")
tar -xzf "$package" --strip-components=1 -C "$app"
cp package-lock.json "$app"
npm ci --prefix "$app" --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error >&2
mv "$app"/node_modules/node-linux-*/bin/node "$system/nodejs/bin/node"
rm -rf "$app"/package-lock.json "$app"/node_modules/{.bin,node-linux-*}

# Node.js has its own certificates of authorities. The conversions of character sets of libc6 weigh more than all else of it.
(cd "$build/packages" && apt-get download -qq -o APT::Sandbox::User=root libc6 libgcc-s1 libstdc++6)
for package in "$build"/packages/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$system" --exclude='*/gconv'
done
printf 'gabbro:x:65532:65532::/data:/none\n' >"$system/etc/passwd"
printf 'gabbro:x:65532:\n' >"$system/etc/group"
printf 'hosts: files dns\n' >"$system/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$system/etc/hosts"

# Moves a file to the blobs, and prints its descriptor.
blob() { # file, media type
  local digest size
  digest=$(sha256sum "$1" | cut -d' ' -f1) size=$(stat --format=%s "$1")
  mv "$1" "$blobs/$digest"
  printf '{"mediaType":"%s","digest":"sha256:%s","size":%s}' "$2" "$digest" "$size"
}

layers=() diffs=()
# Adds what is in a folder as a layer, but not the folder, whose owner and mode would become those of the root.
layer() { # folder, owner, mode
  local file=$build/layer.tar
  cd "$1"
  tar -c --sort=name --format=posix --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime \
    --mtime="@$SOURCE_DATE_EPOCH" --owner="$2" --group="$2" --numeric-owner --mode="$3" -f "$file" -- *
  cd "$OLDPWD"
  diffs+=("\"sha256:$(sha256sum "$file" | cut -d' ' -f1)\"")
  gzip -6 --no-name "$file"
  layers+=("$(blob "$file.gz" application/vnd.oci.image.layer.v1.tar+gzip)")
}
layer "$system" 0 u=rwX,go=rX
layer "$build/app" 0 u=rwX,go=rX
layer "$data" 65532 u=rwX,go=

join() {
  local IFS=,
  printf '%s' "$*"
}
created=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
cat >"$build/config.json" <<JSON
{"architecture":"$architecture","os":"linux","created":"$created","config":{"User":"65532:65532","WorkingDir":"/app",
"Env":["PATH=/nodejs/bin","HOST=0.0.0.0","PORT=3001","DATABASE_URL=sqlite:/data/gabbro.sqlite"],
"Entrypoint":["/nodejs/bin/node","--no-allocation-site-pretenuring","/app/bin/gabbro.js"],"Cmd":["serve"],
"ExposedPorts":{"3001/tcp":{}},"Volumes":{"/data":{}},"StopSignal":"SIGTERM",
"Healthcheck":{"Test":["CMD","/nodejs/bin/node","/app/bin/gabbro.js","health"],"Interval":30000000000,"Timeout":6000000000,"StartPeriod":20000000000,"Retries":3}},
"rootfs":{"type":"layers","diff_ids":[$(join "${diffs[@]}")]}}
JSON
config=$(blob "$build/config.json" application/vnd.oci.image.config.v1+json)
manifest=application/vnd.oci.image.manifest.v1+json
printf '{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}' "$manifest" "$config" "$(join "${layers[@]}")" >"$build/manifest.json"
described=$(blob "$build/manifest.json" "$manifest")
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json)
printf '{"schemaVersion":2,"manifests":[%s,"annotations":{"org.opencontainers.image.ref.name":"gabbro:%s"}}]}' "${described%\}}" "$version" >"$build/oci/index.json"
printf '{"imageLayoutVersion":"1.0.0"}' >"$build/oci/oci-layout"
tar -c -C "$build/oci" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -f "$output" .
sed 's/.*"digest":"\([^"]*\)".*/\1/' <<<"$described"
