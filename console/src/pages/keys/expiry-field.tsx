import type { Signal } from '@preact/signals';

import { Field } from '../../components/field';
import { t, type Text } from '../../language/texts';

export interface Expiry {
  /** Days from now, `never`, or `day` for the one that was picked. */
  choice: string;
  /** As a date input has it; empty until it was picked. */
  day: string;
}

const DAY_MS = 86_400_000;
const CHOICES = [
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In 1 year'],
  ['never', 'Never'],
  ['day', 'On a date…'],
] as const satisfies readonly (readonly [string, Text])[];

interface Props {
  expiry: Signal<Expiry>;
  hint: string | undefined;
  error: string | undefined;
}

export function ExpiryField({ expiry, hint, error }: Props) {
  const change = (part: Partial<Expiry>) => (expiry.value = { ...expiry.value, ...part });
  const { choice, day } = expiry.value;
  return (
    <div class="form-pair">
      <Field label={t('Expires')} hint={hint} error={choice === 'day' ? undefined : error}>
        <select value={choice} onChange={(event) => change({ choice: event.currentTarget.value })}>
          {CHOICES.map(([value, label]) => (
            <option key={value} value={value}>
              {t(label)}
            </option>
          ))}
        </select>
      </Field>
      {choice === 'day' && (
        <Field label={t('Date')} error={error}>
          <input
            type="date"
            required
            min={localDay(new Date(Date.now() + DAY_MS))}
            value={day}
            onInput={(event) => change({ day: event.currentTarget.value })}
          />
        </Field>
      )}
    </div>
  );
}

/** As the service takes it; null for a key that does not expire. A day ends where the person is. */
export function expiryDate({ choice, day }: Expiry, now = Date.now()): string | null {
  if (choice === 'never') return null;
  if (choice === 'day') return new Date(`${day}T23:59:59`).toISOString();
  return new Date(now + Number(choice) * DAY_MS).toISOString();
}

function localDay(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
