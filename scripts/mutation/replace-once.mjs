/** The text with a fault in it. @throws Error when the text to replace is not there exactly once */
export function replaceOnce(text, { file, from, to, what }) {
  const places = text.split(from).length - 1;
  if (places !== 1) throw new Error(`${file}: "${what}": ${places} places instead of one with:\n${from}`);
  return text.replace(from, () => to);
}
