import type { Colour } from './colours.js';

const COLOURS: Record<string, Colour> = {
  transcribed: 'green',
  active: 'green',
  delivered: 'green',
  processing: 'yellow',
  pending: 'yellow',
  failed: 'red',
  disabled: 'red',
  expired: 'red',
  revoked: 'red',
};

export function statusColour(status: string): Colour | null {
  return COLOURS[status] ?? null;
}
