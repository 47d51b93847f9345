#!/bin/sh
# Builds Debian's ffmpeg with what voice notes need and nothing else: it has no network, no video encoder and no filter of
# pictures, and takes 10 instead of 240 MB. The formats are those of src/platform/audio-formats.ts.
#   build-ffmpeg.sh TARGET
set -eu
target=$1

sed --in-place 's/^Types: deb$/Types: deb deb-src/' /etc/apt/sources.list.d/debian.sources
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends dpkg-dev gcc libc6-dev make nasm
cd /tmp
apt-get source --only-source ffmpeg
cd ffmpeg-*/

pcm=$(for kind in u8 s8 s16le s24le s32le s64le f32le f64le alaw mulaw s16be s24be s32be f32be f64be; do printf 'pcm_%s,' $kind; done)
adpcm=adpcm_ms,adpcm_ima_wav,adpcm_yamaha,adpcm_g722,adpcm_g726,gsm,gsm_ms
audio=mp3float,mp3,mp2float,mp2,mp1float,mp1,aac,aac_fixed,alac,amrnb,amrwb,opus,vorbis,flac,speex
# No format has these: with them the refusal of a file names its codec.
refused=ac3,eac3,h264,hevc,h263,mpeg4,movtext
./configure --prefix="$target" --disable-everything --disable-autodetect --disable-network --disable-doc --disable-debug \
  --disable-ffplay --disable-ffprobe --disable-avdevice --disable-swscale --disable-postproc --enable-small \
  --enable-ffmpeg --enable-protocol=file,pipe \
  --enable-demuxer=matroska,mp3,ogg,wav,mov,aac,flac,amr,pcm_s16le \
  --enable-decoder="$pcm$adpcm,$audio,$refused" \
  --enable-parser=aac,aac_latm,ac3,amr,flac,gsm,mpegaudio,opus,vorbis,h264,hevc,h263,mpeg4video \
  --enable-encoder=pcm_s16le,pcm_f32le --enable-muxer=pcm_s16le,pcm_f32le \
  --enable-filter=abuffer,abuffersink,aformat,anull,aresample,atrim,pan,channelmap,asetpts,volume \
  --enable-swresample
make --jobs="$(nproc)"
make install-progs
mkdir -p "$target/share/doc/ffmpeg"
cp debian/copyright "$target/share/doc/ffmpeg/copyright"
dpkg-parsechangelog --show-field Version >"$target/share/doc/ffmpeg/version"
