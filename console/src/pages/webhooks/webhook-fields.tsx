import type { Signal } from '@preact/signals';

import { Field } from '../../components/field';
import { fieldError } from '../../forms/field-errors';
import { t } from '../../language/texts';
import { EVENT_KINDS, type EventKind } from './event-kinds';
import '../../forms/choices.css';

interface Props {
  url: Signal<string>;
  events: Signal<EventKind[]>;
  error: unknown;
}

/** What a webhook has from its creation on, and can be changed. */
export function WebhookFields({ url, events, error }: Props) {
  return (
    <>
      <Field label={t('URL')} hint={t('Use https. Redirects are not followed.')} error={fieldError(error, 'url')}>
        <input
          type="url"
          required
          maxLength={2048}
          placeholder="https://example.com/voice-notes"
          autocomplete="off"
          spellcheck={false}
          value={url.value}
          onInput={(event) => (url.value = event.currentTarget.value)}
        />
      </Field>
      <Events events={events} error={fieldError(error, 'events')} />
    </>
  );
}

function Events({ events, error }: { events: Signal<EventKind[]>; error: string | undefined }) {
  const toggle = (kind: EventKind, on: boolean) => {
    events.value = EVENT_KINDS.map((one) => one.kind).filter((one) => (one === kind ? on : events.value.includes(one)));
  };
  const fault = error ?? (events.value.length === 0 ? t('Choose at least one event.') : null);
  return (
    <fieldset class="choices">
      <legend>{t('Events')}</legend>
      {EVENT_KINDS.map(({ kind, meaning }) => (
        <label key={kind} class="choice">
          <input
            type="checkbox"
            checked={events.value.includes(kind)}
            onChange={(event) => toggle(kind, event.currentTarget.checked)}
          />
          <span>
            <code>{kind}</code>
            <span class="choice-hint">{t(meaning)}</span>
          </span>
        </label>
      ))}
      {fault !== null && <p class="error">{fault}</p>}
    </fieldset>
  );
}
