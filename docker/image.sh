#!/usr/bin/env bash
# Builds the image of docker/Dockerfile by buildah, which needs no Docker engine, and checks what is in it.
#
#   docker/image.sh pin [IMAGE]               names the base image in the Dockerfile by its digest; by skopeo
#   docker/image.sh build [--base IMAGE|debian] [--ca FILE] [TAG]
#   docker/image.sh check [TAG]               then starts it, transcribes a voice note and stops it
#   docker/image.sh sbom [TAG] >FILE          CycloneDX: packages of npm and of Debian, ffmpeg, Node
#   docker/image.sh run [TAG] [-- COMMAND …]  with the variables of the caller
#
# --base names the base image, such as node@sha256:…; `debian` makes it from Debian's packages and npm's binary of Node, where
# no registry of images can be reached; debootstrap must be installed. --ca names the certificate of a proxy that the build goes
# through; it does not get into the image. Needs root. `check` uses the build of the checkout for migrations.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
readonly MAX_MB=400
dockerfile=$root/docker/Dockerfile
node_version=$(sed -nE 's/^ARG NODE_IMAGE=.*node:([0-9.]+)-.*/\1/p' "$dockerfile")
work=$(mktemp --directory)
containers=()

clean_up() {
  for container in "${containers[@]}"; do buildah umount "$container" >/dev/null && buildah rm "$container" >/dev/null; done
  rm -rf "$work"
}
trap clean_up EXIT

start_container() {
  container=$(buildah from --pull-never "$1")
  containers+=("$container")
  folder=$(buildah mount "$container")
}

# Debian with what the stages of the Dockerfile use of Node's image: node, npm and the user.
make_base() {
  debootstrap --variant=minbase --include=ca-certificates bookworm "$work/base" >"$work/debootstrap.log" || {
    tail "$work/debootstrap.log" >&2
    exit 1
  }
  rm -f "$work/base/etc/apt/sources.list"
  printf 'Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\nTypes: deb\nURIs: http://deb.debian.org/debian-security\nSuites: bookworm-security\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' >"$work/base/etc/apt/sources.list.d/debian.sources"
  local architecture=x64
  [[ $(uname -m) == aarch64 ]] && architecture=arm64
  (cd "$work" && npm pack --silent "node-linux-$architecture@$node_version" npm@11 >/dev/null)
  tar --extract --file "$work"/node-linux-*.tgz --directory "$work" package/bin/node
  install -D "$work/package/bin/node" "$work/base/usr/local/bin/node"
  rm -rf "$work/package" && tar --extract --file "$work"/npm-*.tgz --directory "$work"
  mkdir --parents "$work/base/usr/local/lib/node_modules"
  mv "$work/package" "$work/base/usr/local/lib/node_modules/npm"
  chmod +x "$work/base/usr/local/lib/node_modules/npm/bin/npm-cli.js"
  ln --symbolic ../lib/node_modules/npm/bin/npm-cli.js "$work/base/usr/local/bin/npm"
  chroot "$work/base" useradd --uid 1000 --create-home node
  container=$(buildah from scratch)
  buildah copy --quiet "$container" "$work/base" / >/dev/null
  buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
  buildah commit --quiet --rm "$container" "localhost/node:$node_version-bookworm-slim" >/dev/null
}

base_in_dockerfile() {
  sed -nE 's/^ARG NODE_IMAGE=//p' "$dockerfile"
}

# IMAGE is another tag, or the same of a mirror.
pin() {
  local name=${1:-$(base_in_dockerfile)} digest
  name=${name%@*}
  digest=$(skopeo inspect --no-tags --format '{{.Digest}}' "docker://$name")
  [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "the registry names no digest of $name: $digest" >&2 && exit 1; }
  sed --in-place "s|^ARG NODE_IMAGE=.*|ARG NODE_IMAGE=$name@$digest|" "$dockerfile"
  echo "$name@$digest"
}

# What the labels of the image say of its base and its sources.
labels() {
  local base=$1 digest
  [[ $base == localhost/* ]] || buildah pull --quiet "$base" >/dev/null
  if [[ $base == *@sha256:* ]]; then
    digest=${base#*@}
  else
    [[ $base == localhost/* ]] || echo "$base can change: docker/image.sh pin names it by its digest" >&2
    digest=$(buildah inspect --type image --format '{{.FromImageDigest}}' "$base")
  fi
  local of=org.opencontainers.image
  options+=(--label "$of.base.name=${base%@*}" --label "$of.base.digest=$digest")
  options+=(--label "$of.revision=$(git -C "$root" rev-parse HEAD)")
  options+=(--label "$of.version=$(sed -nE 's/^  "version": "(.*)",/\1/p' "$root/package.json")")
}

build() {
  local base='' options=()
  while [[ ${1:-} == --* ]]; do
    case $1 in
      --base) base=$2 ;;
      --ca)
        printf 'cafile=/run/build-ca.pem\n' >"$work/npmrc"
        options+=(--volume "$(realpath "$2"):/run/build-ca.pem:ro" --volume "$work/npmrc:/usr/local/etc/npmrc:ro")
        ;;
      *) echo "unknown option: $1" >&2 && exit 2 ;;
    esac
    shift 2
  done
  local tag=${1:-voice-note-transcription}
  if [[ $base == debian ]]; then
    make_base
    base=localhost/node:$node_version-bookworm-slim
  fi
  [[ -z $base ]] || options+=(--build-arg "NODE_IMAGE=$base")
  labels "${base:-$(base_in_dockerfile)}"
  # The time of the commit, so that the same sources make the same image.
  buildah build --isolation chroot --layers --ignorefile "$root/.dockerignore" --file "$dockerfile" \
    --timestamp "$(git -C "$root" log -1 --format=%ct)" "${options[@]}" --tag "$tag" "$root"
  echo "$tag@$(buildah inspect --type image --format '{{.FromImageDigest}}' "$tag")"
}

problems=0
problem() {
  echo "  $1" >&2
  problems=$((problems + 1))
}

check() {
  local tag=${1:-voice-note-transcription}
  start_container "$tag"
  local mb
  mb=$(($(du --summarize --bytes "$folder" | cut --fields=1) / 1000000))
  echo "$mb MB in $(find "$folder" -type f | wc --lines) files"
  ((mb <= MAX_MB)) || problem "larger than $MAX_MB MB"
  local name found
  for name in sh bash dash busybox apt apt-get dpkg npm npx corepack yarn gcc cc g++ clang ld as make perl python3 curl wget; do
    found=$(find "$folder" -xdev \( -type f -o -type l \) -path '*bin/*' -name "$name" -not -path '*/node_modules/*')
    [[ -z $found ]] || problem "${found#"$folder"} should not be in it"
  done
  found=$(find "$folder" -xdev -type f -perm /6000)
  [[ -z $found ]] || problem "set-user-id: $found"
  [[ $(buildah inspect --type image --format '{{.OCIv1.Config.User}}' "$tag") == node ]] || problem 'its user is not node'
  ((problems == 0))
  cd "$root"
  SMOKE_COMMAND="docker/image.sh run $tag" STORAGE_DIR=/data node scripts/services.mjs --temporary -- node scripts/smoke.mjs
}

sbom() {
  start_container "${1:-voice-note-transcription}"
  local label='{{index .OCIv1.Config.Labels "org.opencontainers.image.base.name"}}@{{index .OCIv1.Config.Labels "org.opencontainers.image.base.digest"}}'
  BASE=$(buildah inspect --type image --format "$label" "${1:-voice-note-transcription}") \
    FOLDER=$folder NODE_VERSION=$node_version node --input-type=module <<'JS'
import { existsSync, readdirSync, readFileSync } from 'node:fs';
const { BASE, FOLDER, NODE_VERSION } = process.env;
const read = (path) => readFileSync(`${FOLDER}/${path}`, 'utf8');
const bom = JSON.parse(read('usr/share/sbom/packages.cdx.json'));
const status = 'var/lib/dpkg/status.d';
const field = (text, name) => new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1];
// The first licence that a copyright file names for all files, where it has the format of Debian.
const licences = (path) => [...new Set([...read(path).matchAll(/^License: (.+)$/gm)].map(([, name]) => name.trim()))];
const licensed = (path) => (existsSync(`${FOLDER}/${path}`) ? licences(path).map((name) => ({ license: { name } })) : []);
const component = (name, version, purl, copyright) => ({ type: 'library', 'bom-ref': purl, name, version, purl, licenses: licensed(copyright) });
const debian = readdirSync(`${FOLDER}/${status}`).map((name) => {
  const text = read(`${status}/${name}`);
  const [version, architecture] = [field(text, 'Version'), field(text, 'Architecture')];
  return component(name, version, `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=bookworm`, `usr/share/doc/${name}/copyright`);
});
const ffmpeg = read('usr/local/share/doc/ffmpeg/version').trim();
const built = component('ffmpeg', ffmpeg, `pkg:deb/debian/ffmpeg@${encodeURIComponent(ffmpeg)}?distro=bookworm`, 'usr/local/share/doc/ffmpeg/copyright');
const node = component('node', NODE_VERSION, `pkg:generic/node@${NODE_VERSION}`, 'no such file');
bom.components.push(...debian, built, node);
const archive = read('usr/share/sbom/debian-archive').trim().split('\n').map((line) => line.split(': '));
bom.metadata.properties = [
  { name: 'base-image', value: BASE },
  ...archive.map(([suite, date]) => ({ name: `debian-archive:${suite}`, value: new Date(date).toISOString() })),
];
console.log(JSON.stringify(bom, null, 2));
JS
}

# As an engine runs it: a read-only root, its user, no capabilities, and memory for /tmp and /data; in the network of this
# machine. The environment is that of the caller and of the image.
run_image() {
  local tag=voice-note-transcription
  if [[ ${1:-} && $1 != -- ]]; then tag=$1 && shift; fi
  [[ ${1:-} == -- ]] && shift
  local command=("$@")
  ((${#command[@]} > 0)) || command=(node dist/main.js)
  start_container "$tag"
  mkdir --parents "$folder"/{dev,proc}
  touch "$folder"/etc/{hosts,resolv.conf}
  local environment=() assignment
  while read -r assignment; do
    [[ -z $assignment || ($assignment != PATH=* && -v ${assignment%%=*}) ]] || environment+=("$assignment")
  done < <(buildah inspect --type image --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$tag")
  # shellcheck disable=SC2016
  env "${environment[@]}" unshare --mount sh -c '
    set -eu
    folder=$1 && shift
    mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder"
    mount -t tmpfs -o mode=1777 tmpfs "$folder/tmp"
    mount -t tmpfs -o mode=700,uid=1000,gid=1000 tmpfs "$folder/data"
    for shared in dev proc; do mount --rbind "/$shared" "$folder/$shared"; done
    for shared in hosts resolv.conf; do mount --bind "/etc/$shared" "$folder/etc/$shared"; done
    exec setpriv --no-new-privs unshare --root="$folder" --wd=/app --setgid=1000 --setuid=1000 "$@"
  ' sh "$folder" "${command[@]}" &
  local child=$!
  trap 'kill -TERM $child 2>/dev/null' TERM INT
  wait $child && code=0 || code=$?
  # A signal ends the wait, and not yet the child.
  wait $child 2>/dev/null && code=0 || code=$?
  return $code
}

case ${1:-} in
  pin | build | check | sbom) "$@" ;;
  run) shift && run_image "$@" ;;
  *) sed -n '2,/^set/{s/^# \{0,1\}//;/^set/!p}' "$0" && exit 2 ;;
esac
