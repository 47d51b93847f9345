const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Colour = keyof typeof CODES;
export type Paint = (colour: Colour, text: string) => string;

/** Colours only where a person sees them (https://no-color.org). */
export function paintFor(stream: { isTTY?: boolean }, wanted: boolean): Paint {
  const { NO_COLOR, TERM } = process.env;
  const coloured = wanted && stream.isTTY === true && !NO_COLOR && TERM !== 'dumb';
  return (colour, text) => {
    const [on, off] = CODES[colour];
    return coloured ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  };
}
