/** A stream of a file's bytes, as Node and browsers have them. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** What can be uploaded: a File or Blob, bytes, a stream, or (not in browsers) the path of a file. */
export type AudioSource = Blob | ArrayBuffer | Uint8Array | ByteStream | string | URL;
