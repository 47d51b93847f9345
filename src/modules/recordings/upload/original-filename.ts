const MAX_LENGTH = 255;

/** A longer "extension" is not one, and is not kept when a name is cut. */
const MAX_EXTENSION_LENGTH = 16;

const NAMELESS = 'recording';

/**
 * The base name of an uploaded file (D22): safe to print, log and show, never part of a path. Removed are control
 * characters, format characters (bidi overrides that make `gpj.exe` look like `exe.jpg`, zero-width ones), line and
 * paragraph separators, and lone surrogates, which have no UTF-8. At most 255 code points, the extension kept.
 * @param raw as it is in the form
 */
export function cleanFilename(raw: string | undefined): string {
  const visible = unescaped(raw ?? '').replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '');
  // Old browsers on Windows sent whole paths, so both separators count on every system.
  const base = visible.slice(Math.max(visible.lastIndexOf('/'), visible.lastIndexOf('\\')) + 1);
  // A cut may leave a space at the end.
  const name = shorten(base.normalize('NFC').trim()).trimEnd();
  return name === '' || name === '.' || name === '..' ? NAMELESS : name;
}

/** Browsers, `fetch` and curl write these three so (WHATWG HTML, "multipart/form-data"), and do not escape the `%`. */
function unescaped(name: string): string {
  return name.replace(/%(?:22|0D|0A)/g, (code) => (code === '%22' ? '"' : ''));
}

function shorten(name: string): string {
  const characters = Array.from(name);
  if (characters.length <= MAX_LENGTH) return name;
  const dot = characters.lastIndexOf('.');
  const extension = dot > 0 && characters.length - dot <= MAX_EXTENSION_LENGTH ? characters.slice(dot) : [];
  return [...characters.slice(0, MAX_LENGTH - extension.length), ...extension].join('');
}
