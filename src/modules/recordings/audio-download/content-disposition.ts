/** What a quoted `filename` cannot hold, or browsers read differently (RFC 6266, appendix D). */
const NOT_PLAIN = /[^\x20-\x7e]|["%\\/:*?<>|;]/gu;
/** `attr-char` of RFC 8187; all other bytes are percent-encoded. */
const ATTRIBUTE_CHARACTER = /^[A-Za-z0-9!#$&+.^_`|~-]$/;

/**
 * The header with a name that a client chose: in ASCII for old clients, and whole as RFC 8187 writes it. Nothing in the
 * name can end the parameter, the header or the path.
 */
export function contentDisposition(type: 'attachment' | 'inline', filename: string): string {
  const plain = filename.replace(NOT_PLAIN, '_');
  const encoded = Array.from(Buffer.from(filename.toWellFormed()), encodeByte).join('');
  return `${type}; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return ATTRIBUTE_CHARACTER.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
