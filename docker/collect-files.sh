#!/bin/sh
# Copies programs and libraries of Debian into an empty root folder, with the libraries that they need, the licences of
# their packages and a list of these packages. Nothing else gets into the image: no shell, no package manager.
#   collect-files.sh TARGET FILE…
set -eu
target=$1
shift

copy() {
  for file in "$@"; do
    mkdir -p "$target$(dirname "$file")"
    [ -e "$target$file" ] || cp --archive --parents "$file" "$target/"
    # The file that a link names, link by link: Debian chooses some libraries in /etc/alternatives.
    if [ -L "$file" ]; then
      next=$(readlink "$file")
      case $next in /*) ;; *) next=$(dirname "$file")/$next ;; esac
      copy "$(realpath --no-symlinks "$next")"
    fi
  done
}

libraries() {
  ldd "$1" 2>/dev/null | grep --only-matching '/[^ )]*' || true
}

# As in Debian: /bin, /lib and /lib64 are links into /usr.
mkdir -p "$target/usr"
for folder in bin lib lib64 sbin; do
  mkdir -p "$target/usr/$folder"
  ln --symbolic "usr/$folder" "$target/$folder"
done

# Of each of them, and of what each folder holds.
for path in "$@"; do find "$path" -type f -o -type l; done | while read -r file; do
  copy "$file"
  for library in $(libraries "$file"); do copy "$library"; done
done

# What the loader looks libraries up in.
copy /etc/ld.so.conf
cp --archive --parents /etc/ld.so.conf.d "$target/"
ldconfig -r "$target"

# Packages of the files, in the form that scanners read for images without a package manager.
mkdir -p "$target/var/lib/dpkg/status.d"
find "$target" \( -type f -o -type l \) -printf '/%P\n' | while read -r file; do
  dpkg --search "$file" 2>/dev/null || dpkg --search "${file#/usr}" 2>/dev/null || true
done | sed -n 's/^\([^ ,]*\): .*/\1/p' | sort --unique | while read -r package; do
  name=${package%%:*}
  dpkg --status "$package" >"$target/var/lib/dpkg/status.d/$name"
  copy "/usr/share/doc/$name/copyright"
done

copy /etc/ssl/certs/ca-certificates.crt /etc/debian_version /etc/os-release
