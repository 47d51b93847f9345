/**
 * Terms as sherpa-onnx reads them: `/` stands between two, and a word that begins with `:`, `#` or `@` has a meaning of its
 * own. Terms with characters that no token of the model has are left out: a part of a term would be made likelier.
 * @param symbols the model's tokens
 */
export function hotWordsText(terms: readonly string[], symbols: readonly string[], capitalsOnly: boolean): string {
  const alphabet = new Set(symbols.flatMap((symbol) => [...symbol.toLowerCase()]));
  const hasCapitals = capitalsOnly || symbols.some((symbol) => /\p{Lu}/u.test(symbol));
  return terms
    .map((term) => cleaned(term))
    .filter(
      (term) =>
        term !== '' && [...term.toLowerCase()].every((character) => character === ' ' || alphabet.has(character)),
    )
    .map((term) => (capitalsOnly ? term.toUpperCase() : hasCapitals ? term : term.toLowerCase()))
    .join('/');
}

function cleaned(term: string): string {
  return term
    .replaceAll('/', ' ')
    .split(/\s+/)
    .map((word) => word.replace(/^[:#@]+/, ''))
    .filter((word) => word !== '')
    .join(' ');
}
