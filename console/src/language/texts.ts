import { IntlMessageFormat } from 'intl-messageformat';
import type { ComponentChildren } from 'preact';

import type { German } from './german/catalogue';
import { catalogue, locale } from './language';

/** An English text of the console, which the catalogues have in the other languages: an ICU message. */
export type Text = keyof German;

type Part = ComponentChildren | ((children: ComponentChildren) => ComponentChildren);
type Values<T extends Text, V> = T extends `${string}{${string}` ? [values: Record<string, V>] : [];

/** In the language of the person: `t('{count, plural, one {# note} other {# notes}}', { count })`. */
export function t<T extends Text>(text: T, ...[values]: Values<T, string | number>): string {
  const message = catalogue.value?.[text] ?? text;
  return values ? String(formatOf(message).format(values)) : message;
}

/** With elements in it: `rich('Read <link>the documentation</link>.', { link: (words) => <a href={url}>{words}</a> })`. */
export function rich(text: Text, parts: Record<string, Part>): ComponentChildren {
  return formatOf(catalogue.value?.[text] ?? text).format<ComponentChildren>(parts);
}

const formats = new Map<string, IntlMessageFormat>();

/** Each message is parsed once. */
function formatOf(message: string): IntlMessageFormat {
  const key = `${locale.value} ${message}`;
  const format = formats.get(key) ?? new IntlMessageFormat(message, locale.value);
  formats.set(key, format);
  return format;
}
