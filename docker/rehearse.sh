#!/usr/bin/env bash
# Runs the steps of docker/Dockerfile where there is no Docker engine, in temporary layers over this machine's own
# root folder, so that nothing of the machine changes. It must be Debian 12, with the Node of the image or another one,
# and needs root, overlayfs, 2 GB of free memory and the network:
#
#   docker/rehearse.sh                      build only
#   docker/rehearse.sh VAR=value … -- CMD   then runs CMD (or the image's own) as its user with these variables
#
# What it cannot show: the base images themselves, volumes, health checks by an engine, and compose.yaml.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
layers=$(mktemp --directory /run/rehearse-XXXXXX)
mount -t tmpfs -o mode=755 tmpfs "$layers"
declare -A merged
declare -a image_env=() command=()
stage='' user=root workdir=/

clean_up() {
  umount --recursive --lazy "$layers" && rmdir "$layers"
}
trap clean_up EXIT

# The files that .dockerignore lets through.
make_context() {
  mkdir "$layers/context"
  sed -n 's/^!//p' "$root/.dockerignore" | while read -r path; do cp --archive --parents "$path" "$layers/context/"; done
  find "$layers/context/src" -name '*.spec.ts' -delete
}

# A writable view of this machine with the user that Node's images have, and without what an image would not hold.
start_stage() {
  stage=$1 user=root workdir=/ image_env=() command=()
  local folder=$layers/stage-$stage
  mkdir --parents "$folder"/{upper,work,merged}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/merged"
  for shared in dev proc; do mount --rbind --make-rslave "/$shared" "$folder/merged/$shared"; done
  # An image sees neither the files of others nor the repository.
  mount -t tmpfs -o mode=1777 tmpfs "$folder/merged/tmp"
  # A checkout inside /tmp is hidden by the line above, and its folder is no longer there to mount on.
  [[ $root == /tmp/* ]] || mount -t tmpfs tmpfs "$folder/merged$(dirname "$root")"
  rm -rf "$folder/merged/app" "$folder/merged/data" "$folder/merged/models"
  chroot "$folder/merged" sh -c 'id node >/dev/null 2>&1 || useradd --create-home --shell /bin/bash node'
  merged[$stage]=$folder/merged
}

inside() {
  chroot "${merged[$stage]}" env --ignore-environment PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME="$([[ $user == root ]] && echo /root || echo "/home/$user")" "${image_env[@]}" "$@"
}

run_as_user() {
  inside setpriv --reuid="$user" --regid="$user" --init-groups --inh-caps=-all --no-new-privs \
    sh -c 'cd "$1" && shift && exec "$@"' sh "$workdir" "$@"
}

copy() {
  local from=$layers/context
  if [[ $1 == --from=* ]]; then
    from=${merged[${1#--from=}]}
    shift
  fi
  local target=${!#} sources=("${@:1:$#-1}")
  [[ $target == /* ]] || target=$workdir/$target
  # As Docker does: a target that ends with a slash is a folder, and made where there is none.
  [[ $target != */ ]] || mkdir --parents "${merged[$stage]}$target"
  local source
  for source in "${sources[@]}"; do
    if [[ -d $from/$source ]]; then
      mkdir --parents "${merged[$stage]}$target"
      cp --archive "$from/$source/." "${merged[$stage]}$target/"
    else
      cp --archive "$from/$source" "${merged[$stage]}$target"
    fi
  done
}

step() {
  local instruction=$1 rest=$2
  case $instruction in
    FROM) start_stage "$(sed -nE 's/.* AS (\w+)$/\1/p' <<<"$rest" | grep . || echo final)" ;;
    WORKDIR) workdir=$rest && mkdir --parents "${merged[$stage]}$workdir" ;;
    COPY) read -ra words <<<"$rest" && copy "${words[@]}" ;;
    RUN) inside sh -c "cd $workdir && $rest" ;;
    ENV) read -ra image_env <<<"$rest" ;;
    USER) user=$rest ;;
    CMD) mapfile -t command < <(node -p "JSON.parse(process.argv[1]).join('\n')" "$rest") ;;
    EXPOSE | VOLUME | STOPSIGNAL | HEALTHCHECK) ;;
    *) echo "docker/rehearse.sh does not know $instruction" >&2 && exit 1 ;;
  esac
}

cd "$root"
make_context
while read -r instruction rest; do
  echo "--- $instruction $rest"
  step "$instruction" "$rest" </dev/null
done < <(sed -E '/^\s*(#|$)/d' docker/Dockerfile | sed -E ':join /\\$/ { N; s/\\\n\s*/ /; b join }')

echo "--- built: $(du --summarize --human-readable "${merged[final]}/app" | cut --fields=1) in /app"
(($# == 0)) && exit 0
while (($# > 0)) && [[ $1 != -- ]]; do image_env+=("$1") && shift; done
[[ ${1:-} == -- ]] && shift
(($# > 0)) && command=("$@")
echo "--- as $user: ${command[*]}"
run_as_user "${command[@]}"
