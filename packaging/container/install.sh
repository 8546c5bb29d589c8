#!/bin/sh
# install.sh BUILD ROOT: makes the folder ROOT, all that a server needs: the programs and models of the build folder BUILD,
# Debian's libraries that they are linked to, and a user. What scanners and licences ask for is with them: dpkg's record of
# each package, and its copyright file.
set -eu
build=$1 root=$2
user=65532 # as other images without a shell have it
here=$(dirname "$0")/../..

meson install -C "$build" --destdir "$root" --no-rebuild --strip --tags runtime --quiet

# The folders of libraries are links, as in Debian.
for folder in /lib /lib64; do
    [ ! -L "$folder" ] || cp -d "$folder" "$root$folder"
done
# Lines of ldd: "NAME => PATH (ADDRESS)", and of the loader "PATH (ADDRESS)".
libraries=$(find "$root/usr" -type f -perm -100 -exec ldd {} + | sed -n 's,^\t\(.* => \)\?\(/[^ ]*\) (.*,\2,p' | sort -u)
mkdir -p "$root/var/lib/dpkg/status.d" "$root/etc"
for library in $libraries; do
    real=$(readlink -f "$library")
    folder=$(readlink -f "$(dirname "$library")")
    mkdir -p "$root$folder"
    cp "$real" "$root$folder/${library##*/}"
    package=$(dpkg-query --search "*/${real##*/}" | sed -n '1s/:.*//p')
    dpkg-query --status "$package" >"$root/var/lib/dpkg/status.d/$package"
    mkdir -p "$root/usr/share/doc/$package"
    cp -L "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/"
done
cp -RL /usr/share/common-licenses "$root/usr/share/"
mkdir -p "$root/usr/share/doc/translate"
cp "$here/LICENSE" "$here"/models/*.md "$root/usr/share/doc/translate/"

echo "translate:x:$user:$user:Translation server:/:/usr/sbin/nologin" >"$root/etc/passwd"
echo "translate:x:$user:" >"$root/etc/group"
chmod -R u=rwX,go=rX "$root"
