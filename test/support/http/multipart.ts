/** Forms as they stand on the wire, right or wrong. */

export const BOUNDARY = 'boundary-of-a-test';

export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

const CRLF = '\r\n';

/** A part with exactly these header lines. */
export function part(headerLines: string[], body: Buffer | string): Buffer {
  return Buffer.concat([
    Buffer.from(`--${BOUNDARY}${CRLF}${headerLines.join(CRLF)}${CRLF}${CRLF}`),
    bytes(body),
    bytes(CRLF),
  ]);
}

/** @param filename goes into the header as it stands here, in UTF-8 */
export function filePart(body: Buffer | string, filename = 'note.wav', name = 'file', type = 'audio/wav'): Buffer {
  return part(
    [`Content-Disposition: form-data; name="${name}"; filename="${filename}"`, `Content-Type: ${type}`],
    body,
  );
}

export function textPart(name: string, value: Buffer | string): Buffer {
  return part([`Content-Disposition: form-data; name="${name}"`], value);
}

/** The closing boundary is added. */
export function form(...parts: Buffer[]): Buffer {
  return Buffer.concat([...parts, bytes(`--${BOUNDARY}--${CRLF}`)]);
}

function bytes(text: Buffer | string): Buffer {
  return typeof text === 'string' ? Buffer.from(text) : text;
}
