#!/usr/bin/env bash
# Has nginx and Caddy themselves read the examples for them. Their Debian packages are unpacked into a folder, not installed:
# nothing is started and no file of the machine is changed. Needs apt, dpkg and openssl of Debian.
set -euo pipefail
cd "$(dirname "$0")"
root=$(mktemp --directory)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/tls" "$root/packages" "$root/var/log/nginx"
(cd "$root/packages" && apt-get download -qq -o APT::Sandbox::User=root nginx caddy)
for package in "$root"/packages/*.deb; do dpkg-deb --extract "$package" "$root"; done

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=gabbro.example.com \
  -keyout "$root/tls/privkey.pem" -out "$root/tls/fullchain.pem" 2>"$root/log" || { cat "$root/log" && exit 1; }
sed "s#/etc/ssl/gabbro#$root/tls#" nginx.conf >"$root/gabbro.conf"
[ -e /proc/net/if_inet6 ] || sed -i '/\[::\]/d' "$root/gabbro.conf"
cat >"$root/nginx.conf" <<CONF
pid $root/pid;
events {}
http {
  access_log off;
  client_body_temp_path $root/body;
  proxy_temp_path $root/proxy;
  fastcgi_temp_path $root/fastcgi;
  uwsgi_temp_path $root/uwsgi;
  scgi_temp_path $root/scgi;
  include $root/gabbro.conf;
}
CONF
check() { # what checks, its command
  local output
  output=$("${@:2}" 2>&1) || { printf '%s\n' "$output" && exit 1; }
  # What they only warn of is an error here.
  if grep --ignore-case --extended-regexp '\[(warn|emerg|error)\]|"level":"(warn|error)"|WARN' <<<"$output"; then exit 1; fi
  echo "$1 takes its example"
}
check nginx "$root/usr/sbin/nginx" -t -p "$root" -e "$root/log" -c "$root/nginx.conf"
HOME=$root check Caddy "$root/usr/bin/caddy" validate --adapter caddyfile --config Caddyfile
