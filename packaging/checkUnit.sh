#!/usr/bin/env bash
# Checks gabbro.service by systemd-analyze, of Debian's package systemd; nothing is started and no file of the machine is
# changed. Unknown settings are warnings to systemd-analyze, so any output is an error here.
set -euo pipefail
cd "$(dirname "$0")"
root=$(mktemp --directory)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/etc/systemd/system" "$root/usr/lib/systemd" "$root/opt/gabbro/node_modules/.bin"
cp -r /lib/systemd/system "$root/usr/lib/systemd/"
ln -s usr/lib "$root/lib"
cp gabbro.service "$root/etc/systemd/system/"
install --mode=755 /dev/null "$root/opt/gabbro/node_modules/.bin/node"
warnings=$(systemd-analyze verify --root="$root" --man=no gabbro.service 2>&1)
if [ -n "$warnings" ]; then
  printf '%s\n' "$warnings"
  exit 1
fi
systemd-analyze security --offline=yes --threshold=20 --no-pager gabbro.service | tail -1
